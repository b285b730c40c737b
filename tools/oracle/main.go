// Command oracle answers what real Go does with a template: text/template of the toolchain,
// sprig, and the functions of Helm's own engine. It generates the golden vectors that the
// Rust tests replay; it is never part of a build or of the product.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
)

const usage = `usage: oracle COMMAND [flags]

  eval                       evaluate JSON lines from stdin
  vectors [--cases D] [--out D] [--area A]
                             regenerate the golden files
  random --seed N --count K  print random cases with their real results
  charts [--dir D] [--check] render the chart-sized template sets
  bench [--dir D] [--rounds N] [--write]
                             measure the benchmark cases
  unicode [--out F]          write Go's classes of characters as Rust tables
  funcs                      list the functions of each library
`

func main() {
	// The process's zone is part of what date functions print.
	if err := setUTC(); err != nil {
		fatal(err)
	}
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	args := os.Args[2:]
	var err error
	switch os.Args[1] {
	case "eval":
		err = runEval(os.Stdin, os.Stdout)
	case "worker":
		timeless = slices.Contains(args, "timeless")
		debug.SetMaxStack(64 << 20)
		err = runWorker(os.Stdin, os.Stdout)
	case "vectors":
		err = runVectors(args)
	case "random":
		err = runRandom(args, os.Stdout)
	case "charts":
		err = runCharts(args)
	case "bench":
		err = runBench(args, os.Stdout)
	case "unicode":
		err = runUnicode(args)
	case "funcs":
		err = runFuncs(os.Stdout)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "oracle:", err)
	os.Exit(1)
}
