// Command process-bench fills OpenShift's templates in, as a Go program would: on the decoded tree, with encoding/json.
// It is what `cargo xtask bench process` compares with, and prints what the work costs as a line of JSON.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type line struct {
	Templates int   `json:"templates"`
	Bytes     int   `json:"bytes"`
	ProcessNS int64 `json:"process_ns"`
	WholeNS   int64 `json:"whole_ns"`
}

// run measures over the templates of a directory; with a second one it writes the results there and measures nothing.
func run(args []string) error {
	// One thread, like what it is compared with; the collector then runs in the measured time.
	runtime.GOMAXPROCS(1)
	paths, err := files(args[0])
	if err != nil {
		return err
	}
	var texts [][]byte
	var trees []map[string]any
	res := line{Templates: len(paths)}
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tree, err := decode(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		texts, trees, res.Bytes = append(texts, text), append(trees, tree), res.Bytes+len(text)
		if len(args) > 1 {
			out, err := encode(process(tree))
			if err != nil {
				return err
			}
			name := filepath.Join(args[1], fmt.Sprintf("%03d.json", i))
			if err := os.WriteFile(name, out, 0o600); err != nil {
				return err
			}
		}
	}
	if len(args) > 1 {
		return nil
	}
	res.ProcessNS = measure(func() {
		for _, tree := range trees {
			process(tree)
		}
	})
	res.WholeNS = measure(func() {
		for _, text := range texts {
			tree, _ := decode(text)
			_, _ = encode(process(tree))
		}
	})
	return json.NewEncoder(os.Stdout).Encode(res)
}

func files(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found = append(found, path)
		}
		return err
	})
	slices.Sort(found)
	return found, err
}

func decode(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree map[string]any
	return tree, decoder.Decode(&tree)
}

func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return out.Bytes(), err
}

// process gives the filled-in copy of a template: parameters without a value get the word "filled".
func process(template map[string]any) map[string]any {
	values := map[string]string{}
	var parameters []any
	list, _ := template["parameters"].([]any)
	for _, item := range list {
		parameter, _ := item.(map[string]any)
		name, _ := parameter["name"].(string)
		value, _ := parameter["value"].(string)
		if value == "" {
			value = "filled"
		}
		values[name] = value
		shown := make(map[string]any, len(parameter)+1)
		for key, field := range parameter {
			shown[key] = field
		}
		shown["value"] = value
		parameters = append(parameters, shown)
	}
	result := make(map[string]any, len(template))
	for key, field := range template {
		result[key] = field
	}
	result["parameters"] = parameters
	if message, ok := template["message"].(string); ok {
		result["message"] = text(message, values)
	}
	var labels map[string]any
	if own, ok := template["labels"].(map[string]any); ok {
		labels = make(map[string]any, len(own))
		for key, value := range own {
			label, _ := value.(string)
			labels[text(key, values)] = text(label, values)
		}
		result["labels"] = labels
	}
	objects, _ := template["objects"].([]any)
	made := make([]any, 0, len(objects))
	for _, item := range objects {
		object, _ := fill(item, values).(map[string]any)
		before, _ := item.(map[string]any)
		finish(object, before, labels)
		made = append(made, object)
	}
	result["objects"] = made
	return result
}

// finish does what OpenShift does to an object beside filling it in.
func finish(object, before map[string]any, labels map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	if old, ok := before["metadata"].(map[string]any); ok {
		if namespace, ok := old["namespace"].(string); ok && !strings.Contains(namespace, "${") {
			delete(metadata, "namespace")
		}
	}
	kind, _ := object["kind"].(string)
	if version, _ := object["apiVersion"].(string); !strings.Contains(version, "/") {
		if group, ok := groups[kind]; ok {
			object["apiVersion"] = group + ".openshift.io/" + version
		}
	}
	if len(labels) == 0 {
		return
	}
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	own, _ := metadata["labels"].(map[string]any)
	if own == nil {
		own = make(map[string]any, len(labels))
		metadata["labels"] = own
	}
	for key, value := range labels {
		own[key] = value
	}
}

var groups = map[string]string{
	"DeploymentConfig": "apps", "Build": "build", "BuildConfig": "build", "ImageStream": "image", "Route": "route",
	"Template": "template", "Role": "authorization", "RoleBinding": "authorization", "ClusterRole": "authorization",
	"ClusterRoleBinding": "authorization",
}

func fill(value any, values map[string]string) any {
	switch value := value.(type) {
	case string:
		if name, ok := strings.CutPrefix(value, "${{"); ok {
			if name, ok := strings.CutSuffix(name, "}}"); ok {
				if found, ok := values[name]; ok {
					var typed any
					if json.Unmarshal([]byte(found), &typed) == nil {
						return typed
					}
					return found
				}
			}
		}
		return text(value, values)
	case []any:
		items := make([]any, len(value))
		for i, item := range value {
			items[i] = fill(item, values)
		}
		return items
	case map[string]any:
		fields := make(map[string]any, len(value))
		for key, field := range value {
			fields[text(key, values)] = fill(field, values)
		}
		return fields
	default:
		return value
	}
}

// text puts values in place of references, from left to right.
func text(value string, values map[string]string) string {
	at := strings.Index(value, "${")
	if at < 0 {
		return value
	}
	var out strings.Builder
	for at >= 0 {
		end := strings.IndexByte(value[at:], '}')
		if end < 0 {
			break
		}
		found, ok := values[value[at+2:at+end]]
		if ok {
			out.WriteString(value[:at])
			out.WriteString(found)
			value = value[at+end+1:]
		} else {
			out.WriteString(value[:at+2])
			value = value[at+2:]
		}
		at = strings.Index(value, "${")
	}
	out.WriteString(value)
	return out.String()
}

const (
	// round is how much processor time a measurement takes at least; the best of the rounds counts.
	round  = 300 * time.Millisecond
	rounds = 3
)

// measure gives the processor time of one call of work, which other programs do not add to.
func measure(work func()) (ns int64) {
	for i := range rounds {
		for count := int64(1); ; count *= 2 {
			start := processorTime()
			for range count {
				work()
			}
			took := processorTime() - start
			if took < round {
				continue
			}
			if each := int64(took) / count; i == 0 || each < ns {
				ns = each
			}
			break
		}
	}
	return ns
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
