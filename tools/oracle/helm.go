package main

import (
	"errors"
	"text/template"
	_ "unsafe" // for go:linkname

	_ "helm.sh/helm/v4/pkg/engine"
)

// Helm keeps its functions private; binding to them makes its own code the oracle,
// instead of a copy that could drift.

//go:linkname helmFuncMap helm.sh/helm/v4/pkg/engine.funcMap
func helmFuncMap() template.FuncMap

//go:linkname helmInclude helm.sh/helm/v4/pkg/engine.includeFun
func helmInclude(t *template.Template, included map[string]int) func(string, any) (string, error)

//go:linkname helmTpl helm.sh/helm/v4/pkg/engine.tplFun
func helmTpl(parent *template.Template, included map[string]int, strict bool) func(string, any) (string, error)

// removed are the functions that read the process's environment or the network.
var removed = []string{"env", "expandenv", "getHostByName"}

// helmFuncs returns Helm's functions bound to a template set. `required` and `fail` raise the
// bare message: Helm wraps it in markers that it takes out again when it reports the error.
func helmFuncs(t *template.Template, strict bool) template.FuncMap {
	f := helmFuncMap()
	for _, name := range removed {
		delete(f, name)
	}
	for name, fn := range gtfFuncs() {
		if _, taken := f[name]; !taken && !builtins[name] {
			f[name] = fn
		}
	}
	included := map[string]int{}
	f["include"] = helmInclude(t, included)
	f["tpl"] = helmTpl(t, included, strict)
	f["fail"] = func(msg string) (string, error) { return "", errors.New(msg) }
	f["required"] = func(msg string, v any) (any, error) {
		if v == nil || v == any("") {
			return v, errors.New(msg)
		}
		return v, nil
	}
	return f
}
