package main

import (
	"fmt"
	"math/rand/v2"
	"sort"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// maker makes objects that their types allow, small enough that two of them meet.
type maker struct {
	*rand.Rand
	types map[string]*spec.Schema
}

func newMaker(seed uint64) (*maker, error) {
	types, err := models()
	return &maker{rand.New(rand.NewPCG(seed, 7)), types}, err
}

func (m *maker) oneIn(count int) bool { return m.IntN(count) == 0 }

func (m *maker) word() string { return string(rune('a' + m.IntN(4))) }

func (m *maker) resolve(s *spec.Schema) *spec.Schema {
	for {
		ref := s.Ref.String()
		if ref == "" && len(s.AllOf) == 1 {
			ref = s.AllOf[0].Ref.String()
		}
		if ref == "" {
			return s
		}
		name := ref[len("#/components/schemas/"):]
		if name == "io.k8s.apimachinery.pkg.api.resource.Quantity" {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"string"}}}
		}
		if name == "io.k8s.apimachinery.pkg.runtime.RawExtension" {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
		}
		s = m.types[name]
	}
}

func (m *maker) anything(depth int) any {
	switch m.IntN(6) {
	case 0:
		return int64(m.IntN(3))
	case 1:
		return m.word()
	case 2:
		if depth > 0 {
			return []any{m.anything(depth - 1)}
		}
	case 3, 4:
		if depth > 0 {
			fields := map[string]any{}
			for range m.IntN(3) {
				fields[m.word()] = m.anything(depth - 1)
			}
			return fields
		}
	}
	return m.word()
}

func (m *maker) value(s *spec.Schema, depth int) any {
	if m.oneIn(60) {
		return nil
	}
	extensions := s.Extensions
	s = m.resolve(s)
	kind := ""
	if len(s.Type) > 0 {
		kind = s.Type[0]
	}
	switch kind {
	case "string":
		return m.word()
	case "integer":
		return int64(m.IntN(3))
	case "number":
		if m.oneIn(2) {
			return int64(m.IntN(2))
		}
		return float64(m.IntN(3)) / 2
	case "boolean":
		return m.oneIn(2)
	case "array":
		return m.list(s, extensions, depth)
	case "object":
		fields := map[string]any{}
		names := make([]string, 0, len(s.Properties))
		for name := range s.Properties {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			property := s.Properties[name]
			if name == "name" && m.oneIn(2) || depth > 0 && m.oneIn(3) {
				fields[name] = m.value(&property, depth-1)
			}
		}
		if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
			for range m.IntN(3) {
				fields[m.word()] = m.value(s.AdditionalProperties.Schema, depth-1)
			}
		} else if len(s.Properties) == 0 || s.Extensions["x-kubernetes-preserve-unknown-fields"] == true {
			for range m.IntN(3) {
				fields[m.word()] = m.anything(depth - 1)
			}
		}
		return fields
	default:
		return m.anything(depth)
	}
}

func (m *maker) list(s *spec.Schema, extensions spec.Extensions, depth int) any {
	items := []any{}
	seen := map[string]bool{}
	keys, _ := extensions["x-kubernetes-list-map-keys"].([]any)
	atomic := extensions["x-kubernetes-list-type"] == "atomic"
	for range m.IntN(4) {
		item := m.value(s.Items.Schema, depth-1)
		if item == nil && !atomic {
			continue
		}
		if fields, ok := item.(map[string]any); ok {
			for _, key := range keys {
				property := m.resolve(s.Items.Schema).Properties[key.(string)]
				if fields[key.(string)] == nil || !m.oneIn(8) {
					delete(fields, key.(string))
					// An item that only defaults tell from others may lose all it has, which no real object does.
					if property.Default == nil || len(keys) == 1 || !m.oneIn(4) {
						fields[key.(string)] = m.scalar(&property)
					}
				}
			}
			text := ""
			for _, key := range keys {
				value := fields[key.(string)]
				if value == nil {
					value = m.resolve(s.Items.Schema).Properties[key.(string)].Default
				}
				text += fmt.Sprint(value, ",")
			}
			if len(keys) > 0 && seen[text] && !m.oneIn(20) {
				continue
			}
			seen[text] = true
		} else if text := fmt.Sprint(item); !atomic && seen[text] && !m.oneIn(20) {
			continue
		} else {
			seen[text] = true
		}
		items = append(items, item)
	}
	return items
}

func (m *maker) scalar(s *spec.Schema) any {
	if s.Type[0] == "integer" {
		return int64(m.IntN(3))
	}
	return m.word()
}

// thing is a whole object; where it is empty says what it has no part of.
func (m *maker) thing() map[string]any {
	object := map[string]any{"apiVersion": "example.org/v1", "kind": "Thing"}
	metadata := map[string]any{"name": "a"}
	for _, name := range []string{"labels", "finalizers"} {
		if m.oneIn(3) {
			property := m.types["Meta"].Properties[name]
			metadata[name] = m.value(&property, 2)
		}
	}
	object["metadata"] = metadata
	if value := m.value(m.types["Spec"], 4); value != nil {
		object["spec"] = value
	}
	if m.oneIn(4) {
		object["status"] = m.value(m.types["Status"], 3)
	}
	return object
}

// mix takes some of one value and some of another.
func (m *maker) mix(one, other any) any {
	left, isMap := one.(map[string]any)
	right, both := other.(map[string]any)
	if !isMap || !both {
		if m.oneIn(2) {
			return one
		}
		return other
	}
	mixed := map[string]any{}
	names := map[string]bool{}
	for name := range left {
		names[name] = true
	}
	for name := range right {
		names[name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	for _, name := range sorted {
		a, inLeft := left[name]
		b, inRight := right[name]
		switch {
		case inLeft && inRight:
			mixed[name] = m.mix(a, b)
		case inLeft && !m.oneIn(5):
			mixed[name] = a
		case inRight && m.oneIn(2):
			mixed[name] = b
		}
	}
	return mixed
}

func randomApplies(seed uint64, count int) ([]any, error) {
	m, err := newMaker(seed)
	if err != nil {
		return nil, err
	}
	var cases []any
	for number := range count {
		one := applyCase{Name: fmt.Sprintf("random %d of %d", number, seed)}
		types, err := models()
		if err != nil {
			return nil, err
		}
		converter, err := newConverter(types)
		if err != nil {
			return nil, err
		}
		var live, config map[string]any
		for index := range 2 + m.IntN(4) {
			s := step{Do: "apply", Manager: string(rune('x' + m.IntN(3)))}
			if m.oneIn(3) {
				s.Do = "update"
				if live == nil {
					s.Do = "create"
				}
			}
			s.Force = s.Do == "apply" && m.oneIn(2)
			if m.oneIn(4) {
				s.Reset = []string{"status"}
			}
			object := m.thing()
			if s.Do == "apply" && config != nil && m.oneIn(2) {
				object = m.mix(config, object).(map[string]any)
			}
			if s.Do == "update" {
				object = m.mix(live, object).(map[string]any)
				metadata, ok := object["metadata"].(map[string]any)
				if !ok {
					metadata = map[string]any{}
					object["metadata"] = metadata
				}
				delete(metadata, "managedFields")
				metadata["name"], metadata["uid"] = "a", "u1"
				object["apiVersion"], object["kind"] = "example.org/v1", "Thing"
			}
			if s.Do == "apply" {
				object["apiVersion"], object["kind"] = "example.org/v1", "Thing"
				config = object
			}
			s.Object = runtime.DeepCopyJSON(object)
			if live, err = s.answer(converter, live, index); err != nil {
				return nil, err
			}
			one.Steps = append(one.Steps, s)
		}
		cases = append(cases, one)
	}
	return cases, nil
}
