package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"text/template"
	"time"
)

// benchLine is what one case costs in Go; times are the best of the rounds, as noise only adds.
type benchLine struct {
	Case        string `json:"case"`
	ParseNS     int64  `json:"parse_ns"`
	ParseAllocs int64  `json:"parse_allocs"`
	ExecNS      int64  `json:"exec_ns"`
	ExecAllocs  int64  `json:"exec_allocs"`
	SourceBytes int    `json:"source_bytes"`
	OutputBytes int    `json:"output_bytes"`
}

// benchEntry is the template that a benchmark executes; the others of its folder are helpers.
const benchEntry = "main.yaml"

func runBench(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	dir := flags.String("dir", "../../crates/gotpl/tests/bench", "folder of the cases")
	rounds := flags.Int("rounds", 3, "how often to measure; the best counts")
	write := flags.Bool("write", false, "only write the expected output of each case")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// One thread, like what it is compared with; the collector then runs in the measured time.
	runtime.GOMAXPROCS(1)
	entries, err := os.ReadDir(*dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if *write {
			*rounds = 0
		}
		result, text, err := benchCase(filepath.Join(*dir, e.Name()), *rounds)
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		if *write {
			if err := os.WriteFile(filepath.Join(*dir, e.Name(), "expected.yaml"), []byte(text), 0o644); err != nil {
				return err
			}
			continue
		}
		b, err := line(result)
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func benchCase(dir string, rounds int) (benchLine, string, error) {
	res := benchLine{Case: filepath.Base(dir)}
	paths, err := filepath.Glob(filepath.Join(dir, "templates", "*"))
	if err != nil {
		return res, "", err
	}
	sources := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return res, "", err
		}
		sources[filepath.Base(path)] = string(text)
		res.SourceBytes += len(text)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "data.json"))
	if err != nil {
		return res, "", err
	}
	data, err := decodeData(raw)
	if err != nil {
		return res, "", err
	}
	root, err := newSet(nil)
	if err != nil {
		return res, "", err
	}
	// The functions are in place already: only the parser is measured.
	parse := func() error {
		for name, text := range sources {
			if _, err := root.New(name).Parse(text); err != nil {
				return err
			}
		}
		return nil
	}
	if err := parse(); err != nil {
		return res, "", err
	}
	var buf bytes.Buffer
	execute := func(t *template.Template) error {
		buf.Reset()
		return t.ExecuteTemplate(&buf, benchEntry, data)
	}
	if err := execute(root); err != nil {
		return res, "", err
	}
	first := strings.Clone(buf.String())
	res.OutputBytes = len(first)
	if err := execute(root); err != nil || buf.String() != first {
		return res, "", fmt.Errorf("a second run differs (%v)", err)
	}
	if res.ParseNS, res.ParseAllocs, err = measure(rounds, parse); err != nil {
		return res, "", err
	}
	res.ExecNS, res.ExecAllocs, err = measure(rounds, func() error { return execute(root) })
	return res, first, err
}

// round is how much processor time a measurement takes at least.
const round = 300 * time.Millisecond

// measure gives what one call of work costs: processor time, which other programs do not add to, and allocations.
func measure(rounds int, work func() error) (ns, allocs int64, err error) {
	for i := range rounds {
		for count := int64(1); ; count *= 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime()
			for range count {
				if err := work(); err != nil {
					return 0, 0, err
				}
			}
			took := processorTime() - start
			if took < round {
				continue
			}
			runtime.ReadMemStats(&after)
			if each := int64(took) / count; i == 0 || each < ns {
				ns, allocs = each, int64(after.Mallocs-before.Mallocs)/count
			}
			break
		}
	}
	return ns, allocs, nil
}

// processorTime is what all threads of this process have used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
