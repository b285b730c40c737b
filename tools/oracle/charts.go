package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/engine"
)

// A set is a chart reduced to what a template engine sees.
type set struct {
	name    string
	files   []string
	sources map[string]string
	context json.RawMessage
}

func runCharts(args []string) error {
	flags := flag.NewFlagSet("charts", flag.ContinueOnError)
	dir := flags.String("dir", "../../crates/gotpl/tests/charts", "folder of the template sets")
	check := flags.Bool("check", false, "compare with the stored expectations instead of writing them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	entries, err := os.ReadDir(*dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		s, err := readSet(filepath.Join(*dir, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		rendered, err := s.render()
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		if err := s.confirm(rendered); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		if err := s.store(filepath.Join(*dir, e.Name(), "expected"), rendered, *check); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		in, out := 0, 0
		for _, text := range s.sources {
			in += strings.Count(text, "\n")
		}
		for _, text := range rendered {
			out += strings.Count(text, "\n")
		}
		fmt.Printf("%-22s %2d files, %4d lines of template, %4d lines rendered\n", s.name, len(s.files), in, out)
	}
	return nil
}

func readSet(dir string) (*set, error) {
	s := &set{name: filepath.Base(dir), sources: map[string]string{}}
	entries, err := os.ReadDir(filepath.Join(dir, "templates"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, "templates", e.Name()))
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, e.Name())
		s.sources[e.Name()] = string(text)
	}
	slices.Sort(s.files)
	s.context, err = os.ReadFile(filepath.Join(dir, "context.json"))
	return s, err
}

// parse builds the template set in the order in which Helm parses files of one folder.
func (s *set) parse() (*template.Template, error) {
	root, err := newSet(&Options{MissingKey: "zero"})
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Backward(s.files) {
		if _, err := root.New(s.name + "/templates/" + file).Parse(s.sources[file]); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// render executes every file on data of its own.
func (s *set) render() (map[string]string, error) {
	root, err := s.parse()
	if err != nil {
		return nil, err
	}
	rendered := map[string]string{}
	for _, file := range s.files {
		if strings.HasPrefix(file, "_") {
			continue
		}
		data, err := s.data(file)
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		if err := root.ExecuteTemplate(&out, s.name+"/templates/"+file, data); err != nil {
			return nil, err
		}
		rendered[file] = strings.ReplaceAll(out.String(), "<no value>", "")
	}
	return rendered, nil
}

func (s *set) data(file string) (map[string]any, error) {
	v, err := decodeData(s.context)
	if err != nil {
		return nil, err
	}
	data, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the context is no object")
	}
	base := s.name + "/templates"
	data["Template"] = map[string]any{"Name": base + "/" + file, "BasePath": base}
	return data, nil
}

// confirm renders the set with Helm's engine from end to end and refuses any difference.
func (s *set) confirm(rendered map[string]string) error {
	data, err := s.data("")
	if err != nil {
		return err
	}
	c := &chart.Chart{Metadata: &chart.Metadata{}}
	raw, err := json.Marshal(data["Chart"])
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, c.Metadata); err != nil {
		return err
	}
	if c.Metadata.Name != s.name {
		return fmt.Errorf("Chart.Name is %q", c.Metadata.Name)
	}
	for _, file := range s.files {
		c.Templates = append(c.Templates, &common.File{Name: "templates/" + file, Data: []byte(s.sources[file])})
	}
	values := common.Values{"Values": data["Values"], "Release": data["Release"], "Capabilities": data["Capabilities"]}
	whole, err := engine.Engine{}.Render(c, values)
	if err != nil {
		return fmt.Errorf("Helm's engine: %w", err)
	}
	for file, text := range rendered {
		if helm := whole[s.name+"/templates/"+file]; helm != text {
			return fmt.Errorf("%s: Helm's engine renders otherwise:\n%s\n--- not\n%s", file, helm, text)
		}
	}
	return nil
}

func (s *set) store(dir string, rendered map[string]string, check bool) error {
	if !check {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	for file, text := range rendered {
		path := filepath.Join(dir, file)
		if !check {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
			continue
		}
		stored, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(stored) != text {
			return fmt.Errorf("%s differs from what is stored", path)
		}
	}
	return nil
}
