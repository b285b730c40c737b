// Prints how the built-in kinds are written in protobuf and in JSON, by the tags of their Go types: for every kind its
// type, and for every type its fields. `cargo xtask capture` records it for the embedded API server.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Types that are not written field by field.
var special = map[reflect.Type]string{
	reflect.TypeFor[meta.Time]():                                  "time",
	reflect.TypeFor[meta.MicroTime]():                             "microtime",
	reflect.TypeFor[meta.Duration]():                              "duration",
	reflect.TypeFor[resource.Quantity]():                          "quantity",
	reflect.TypeFor[intstr.IntOrString]():                         "intorstring",
	reflect.TypeFor[meta.FieldsV1]():                              "json",
	reflect.TypeFor[runtime.RawExtension]():                       "json",
	reflect.TypeFor[apiextensions.JSON]():                         "json",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrArray]():       "orarray",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrBool]():        "orbool",
	reflect.TypeFor[apiextensions.JSONSchemaPropsOrStringArray](): "orarray",
}

type book struct {
	numbers map[reflect.Type]int
	types   []any
}

func main() {
	if err := apiextensions.AddToScheme(scheme.Scheme); err != nil {
		fail(err)
	}
	if err := apiregistration.AddToScheme(scheme.Scheme); err != nil {
		fail(err)
	}
	all := scheme.Scheme.AllKnownTypes()
	kinds := map[string]int{}
	var names []string
	byName := map[string]reflect.Type{}
	for gvk, goType := range all {
		if strings.Contains(gvk.Version, "alpha") || strings.Contains(gvk.Version, "beta") || strings.HasPrefix(gvk.Version, "__") {
			continue
		}
		name := gvk.GroupVersion().String() + "/" + gvk.Kind
		names = append(names, name)
		byName[name] = goType
	}
	sort.Strings(names)
	b := &book{numbers: map[reflect.Type]int{}}
	for _, name := range names {
		kinds[name] = b.number(byName[name])
	}
	out, err := json.Marshal(map[string]any{"kinds": kinds, "types": b.types})
	if err != nil {
		fail(err)
	}
	fmt.Println(string(out))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// number gives a struct its place in the list of types.
func (b *book) number(t reflect.Type) int {
	if number, known := b.numbers[t]; known {
		return number
	}
	number := len(b.types)
	b.numbers[t] = number
	b.types = append(b.types, nil)
	fields := []any{}
	for i := range t.NumField() {
		if field := b.field(t.Field(i)); field != nil {
			fields = append(fields, field)
		}
	}
	b.types[number] = fields
	return number
}

// field is [number, name in JSON, what it is, marks, type of the message]; marks are r (repeated), m (map), p (pointer),
// i (inline), o (omitempty), z (omitzero).
func (b *book) field(f reflect.StructField) any {
	tag := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(tag) < 2 {
		return nil
	}
	number, err := strconv.Atoi(tag[1])
	if err != nil {
		fail(err)
	}
	parts := strings.Split(f.Tag.Get("json"), ",")
	name, marks := parts[0], ""
	for _, option := range parts[1:] {
		switch option {
		case "inline":
			marks += "i"
		case "omitempty":
			marks += "o"
		case "omitzero":
			marks += "z"
		}
	}
	if f.Anonymous && name == "" && !strings.Contains(marks, "i") {
		marks += "i"
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t, marks = t.Elem(), marks+"p"
	}
	isBytes := t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
	switch {
	case t.Kind() == reflect.Map:
		t, marks = t.Elem(), marks+"m"
	case t.Kind() == reflect.Slice && !isBytes && !wrapped(t):
		t, marks = t.Elem(), marks+"r"
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	what, message := b.what(t)
	return []any{number, name, what, marks, message}
}

// wrapped says whether a list is a message of its own.
func wrapped(t reflect.Type) bool {
	_, marshals := reflect.PointerTo(t).MethodByName("Marshal")
	return t.Name() != "" && marshals
}

func (b *book) what(t reflect.Type) (string, int) {
	if what, known := special[t]; known {
		switch what {
		case "orarray", "orbool":
			return what, b.number(t)
		}
		return what, -1
	}
	switch t.Kind() {
	case reflect.String:
		return "string", -1
	case reflect.Bool:
		return "bool", -1
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "int", -1
	case reflect.Float64:
		return "double", -1
	case reflect.Struct:
		return "message", b.number(t)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes", -1
		}
		return "list", -1
	}
	fail(fmt.Errorf("%v is written in no way that is known here", t))
	return "", -1
}
