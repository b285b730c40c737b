// Command apply-oracle records what Kubernetes' own libraries make of applies, updates and strategic merge patches.
//
//	apply-oracle record DIR             writes the tables and a fixed set of random cases to DIR
//	apply-oracle random DIR SEED COUNT  writes COUNT random cases of each kind to DIR
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "record":
		applies, err := tableApplies()
		if err != nil {
			return err
		}
		patches, err := tablePatches()
		if err != nil {
			return err
		}
		moreApplies, err := randomApplies(1, 150)
		if err != nil {
			return err
		}
		morePatches, err := randomPatches(1, 300)
		if err != nil {
			return err
		}
		return write(args[1], append(applies, moreApplies...), append(patches, morePatches...))
	case len(args) == 4 && args[0] == "random":
		seed, err := strconv.ParseUint(args[2], 10, 64)
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		applies, err := randomApplies(seed, count)
		if err != nil {
			return err
		}
		patches, err := randomPatches(seed, count)
		if err != nil {
			return err
		}
		return write(args[1], applies, patches)
	default:
		return fmt.Errorf("usage: apply-oracle record DIR | random DIR SEED COUNT")
	}
}

func write(dir string, applies, patches []any) error {
	var types any
	if err := json.Unmarshal([]byte(definitions), &types); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(dir, "shapes.json"), []any{types}); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(dir, "apply.jsonl"), applies); err != nil {
		return err
	}
	return writeLines(filepath.Join(dir, "strategic.jsonl"), patches)
}

func writeLines(path string, lines []any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}
