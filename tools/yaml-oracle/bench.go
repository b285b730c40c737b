package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"
)

// benchLine is what reading and writing one file costs.
type benchLine struct {
	Case        string `json:"case"`
	Bytes       int    `json:"bytes"`
	ReadNS      int64  `json:"read_ns"`
	ReadAllocs  int64  `json:"read_allocs"`
	WriteNS     int64  `json:"write_ns"`
	WriteAllocs int64  `json:"write_allocs"`
}

// bench prints what it costs to read each file into an interface, and to write it back.
func bench(paths []string) error {
	// One thread, like what it is compared with; the collector then runs in the measured time.
	runtime.GOMAXPROCS(1)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return err
		}
		if _, err := yaml.Marshal(value); err != nil {
			return err
		}
		res := benchLine{Case: filepath.Base(path), Bytes: len(text)}
		res.ReadNS, res.ReadAllocs = measure(func() {
			var v any
			_ = yaml.Unmarshal(text, &v)
		})
		res.WriteNS, res.WriteAllocs = measure(func() { _, _ = yaml.Marshal(value) })
		if err := json.NewEncoder(os.Stdout).Encode(res); err != nil {
			return err
		}
	}
	return nil
}

const (
	// round is how much processor time a measurement takes at least; the best of the rounds counts.
	round  = 300 * time.Millisecond
	rounds = 3
)

// measure gives what one call of work costs: processor time, which other programs do not add to, and allocations.
func measure(work func()) (ns, allocs int64) {
	for i := range rounds {
		for count := int64(1); ; count *= 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime()
			for range count {
				work()
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
	return ns, allocs
}

// processorTime is what all threads of this process have used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
