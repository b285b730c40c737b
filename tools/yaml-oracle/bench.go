package main

import (
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/yaml"
)

// bench prints how fast each file is read to an interface and written back.
func bench(paths []string) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return err
		}
		written, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		report(path, "read (YAMLToJSON)", len(text), func() { _, _ = yaml.YAMLToJSON(text) })
		report(path, "read (Unmarshal)", len(text), func() {
			var v any
			_ = yaml.Unmarshal(text, &v)
		})
		report(path, "write (Marshal)", len(written), func() { _, _ = yaml.Marshal(value) })
	}
	return nil
}

func report(path, what string, size int, work func()) {
	const budget = 2 * time.Second
	start, rounds := time.Now(), 0
	for time.Since(start) < budget {
		work()
		rounds++
	}
	each := time.Since(start) / time.Duration(rounds)
	fmt.Printf("%s: %s: %.1f MB/s, %v each\n", path, what, float64(size)/each.Seconds()/1e6, each)
}
