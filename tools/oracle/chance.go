package main

import (
	"reflect"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// timeless makes a worker refuse cases whose answer is not in the template and its data. Running
// them again within the same second and process would not show it.
var timeless bool

type chanceError struct{}

func (chanceError) Error() string { return "depends on the clock or on the allocator" }

// refuseChance replaces the functions that can give such answers by ones that refuse to.
func refuseChance(t *template.Template) {
	functions := sprig.TxtFuncMap()
	guard := func(chancy func([]reflect.Value) bool, names ...string) {
		for _, name := range names {
			original := reflect.ValueOf(functions[name])
			call := original.Call
			if original.Type().IsVariadic() {
				call = original.CallSlice
			}
			guarded := reflect.MakeFunc(original.Type(), func(args []reflect.Value) []reflect.Value {
				if chancy(args) {
					panic(chanceError{})
				}
				return call(args)
			})
			t.Funcs(template.FuncMap{name: guarded.Interface()})
		}
	}
	guard(readsClock, "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone")
	guard(readsSpare, "slice", "mustSlice")
}

// readsClock is true of date functions that get anything but a time.
func readsClock(args []reflect.Value) bool {
	for _, arg := range args {
		if arg.Kind() != reflect.Interface {
			continue
		}
		switch arg.Interface().(type) {
		case time.Time, *time.Time, int64, int, int32:
		default:
			return true
		}
	}
	return false
}

// readsSpare is true of a slice beyond the length of a list but within its capacity, which only the
// allocator knows.
func readsSpare(args []reflect.Value) bool {
	list := reflect.ValueOf(args[0].Interface())
	if list.Kind() != reflect.Slice {
		return false
	}
	toInt := sprig.TxtFuncMap()["int"].(func(any) int)
	for _, index := range args[1].Interface().([]any) {
		if i := toInt(index); i > list.Len() && i <= list.Cap() {
			return true
		}
	}
	return false
}
