// Command yaml-oracle answers how Kubernetes' own YAML library reads and writes.
//
//	yaml-oracle serve              answers JSON lines on stdin, one answer per question
//	yaml-oracle generate DIR       writes the golden vectors of crates/yaml
//	yaml-oracle unicode FILE       writes Go's letters and digits as a Rust table
//	yaml-oracle bench [FILE...]    measures reading and writing, a JSON line per file
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serve()
	case len(args) == 2 && args[0] == "generate":
		return generate(args[1])
	case len(args) == 2 && args[0] == "unicode":
		return unicodeTables(args[1])
	case len(args) >= 1 && args[0] == "bench":
		return bench(args[1:])
	}
	return fmt.Errorf("usage: yaml-oracle serve | generate DIR | unicode FILE | bench [FILE...]")
}

// serve answers every line; it flushes whenever no further question is waiting.
func serve() error {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && (err != io.EOF || len(line) == 0) {
			break
		}
		var q Question
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if err := encoder.Encode(answer(q)); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}
