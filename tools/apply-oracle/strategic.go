package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func newConverter(types map[string]*spec.Schema) (managedfields.TypeConverter, error) {
	return managedfields.NewTypeConverter(types, false)
}

// patchCase is an object, a strategic merge patch, and what becomes of them.
type patchCase struct {
	Name     string         `json:"name,omitempty"`
	Original map[string]any `json:"original"`
	Patch    map[string]any `json:"patch"`
	Want     any            `json:"want,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func (p *patchCase) answer(types map[string]*spec.Schema) {
	schema := strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: types, Schema: types["Thing"]}
	patched, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(
		runtime.DeepCopyJSON(p.Original), runtime.DeepCopyJSON(p.Patch), schema)
	if err != nil {
		p.Error = err.Error()
		return
	}
	p.Want = patched
}

func tablePatches() ([]any, error) {
	types, err := models()
	if err != nil {
		return nil, err
	}
	var cases []patchCase
	if err := json.Unmarshal([]byte(patchTable), &cases); err != nil {
		return nil, err
	}
	var answered []any
	for _, one := range cases {
		one.Original = integers(one.Original).(map[string]any)
		one.Patch = integers(one.Patch).(map[string]any)
		one.answer(types)
		answered = append(answered, one)
	}
	return answered, nil
}

// randomPatches asks for what kubectl would send to get from one object to another, and for less well formed ones.
func randomPatches(seed uint64, count int) ([]any, error) {
	m, err := newMaker(seed)
	if err != nil {
		return nil, err
	}
	var cases []any
	for len(cases) < count {
		from, to := m.thing(), m.thing()
		live := m.mix(from, to).(map[string]any)
		one := patchCase{Original: m.mix(from, live).(map[string]any)}
		switch m.IntN(3) {
		case 0:
			one.Patch = m.thing()
		default:
			schema := strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: m.types, Schema: m.types["Thing"]}
			left, err := json.Marshal(from)
			if err != nil {
				return nil, err
			}
			right, err := json.Marshal(m.mix(from, to))
			if err != nil {
				return nil, err
			}
			text, err := strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(left, right, schema)
			if err != nil {
				continue
			}
			if err := json.Unmarshal(text, &one.Patch); err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
		}
		one.Patch = integers(one.Patch).(map[string]any)
		one.Original = integers(one.Original).(map[string]any)
		one.answer(m.types)
		// Of several errors Go finds any first.
		if one.Error == "" {
			cases = append(cases, one)
		}
	}
	return cases, nil
}

const patchTable = `[
{"name": "a scalar is set, another removed", "original": {"spec": {"count": 1, "text": "t"}}, "patch": {"spec": {"count": 2, "text": null}}},
{"name": "items with keys are merged, others added", "original": {"spec": {"boxes": [{"name": "a", "image": "1"}, {"name": "b"}]}}, "patch": {"spec": {"boxes": [{"name": "a", "args": ["x"]}, {"name": "c"}]}}},
{"name": "items are deleted by their key", "original": {"spec": {"boxes": [{"name": "a"}, {"name": "b"}]}}, "patch": {"spec": {"boxes": [{"$patch": "delete", "name": "a"}]}}},
{"name": "a list is replaced", "original": {"spec": {"boxes": [{"name": "a"}, {"name": "b"}]}}, "patch": {"spec": {"boxes": [{"$patch": "replace"}, {"name": "c"}]}}},
{"name": "a map is replaced", "original": {"spec": {"plain": {"a": "1", "b": "2"}}}, "patch": {"spec": {"plain": {"$patch": "replace", "c": "3"}}}},
{"name": "a map is deleted", "original": {"spec": {"plain": {"a": "1"}}}, "patch": {"spec": {"plain": {"$patch": "delete"}}}},
{"name": "a map is merged as if nothing was said", "original": {"spec": {"plain": {"a": "1"}}}, "patch": {"spec": {"plain": {"$patch": "merge", "b": "2"}}}},
{"name": "an unknown directive", "original": {"spec": {"plain": {"a": "1"}}}, "patch": {"spec": {"plain": {"$patch": "drop"}}}},
{"name": "an unknown directive in a list", "original": {"spec": {"boxes": [{"name": "a"}]}}, "patch": {"spec": {"boxes": [{"$patch": "drop", "name": "a"}]}}},
{"name": "order is set", "original": {"spec": {"boxes": [{"name": "a"}, {"name": "b"}, {"name": "s"}]}}, "patch": {"spec": {"$setElementOrder/boxes": [{"name": "b"}, {"name": "c"}, {"name": "a"}], "boxes": [{"name": "c", "image": "i"}]}}},
{"name": "order of primitives is set", "original": {"spec": {"names": ["a", "b", "c"]}}, "patch": {"spec": {"$setElementOrder/names": ["c", "d", "a"], "names": ["d"]}}},
{"name": "order that does not fit", "original": {"spec": {"names": ["a", "b"]}}, "patch": {"spec": {"$setElementOrder/names": ["b"], "names": ["a", "b"]}}},
{"name": "order of maps that does not fit", "original": {"spec": {"boxes": [{"name": "a"}]}}, "patch": {"spec": {"$setElementOrder/boxes": [{"name": "a"}], "boxes": [{"name": "b"}]}}},
{"name": "order alone", "original": {"spec": {"names": ["a", "b"]}}, "patch": {"spec": {"$setElementOrder/names": ["b", "a"]}}},
{"name": "order of what is not there", "original": {"spec": {}}, "patch": {"spec": {"$setElementOrder/names": ["b", "a"]}}},
{"name": "primitives are deleted", "original": {"spec": {"names": ["a", "b", "c"]}}, "patch": {"spec": {"$deleteFromPrimitiveList/names": ["b", "x"]}}},
{"name": "primitives are deleted and added", "original": {"spec": {"names": ["a", "b"], "numbers": [1, 2]}}, "patch": {"spec": {"$deleteFromPrimitiveList/names": ["a"], "names": ["c"], "$deleteFromPrimitiveList/numbers": [1]}}},
{"name": "primitives are deleted from nothing", "original": {"spec": {}}, "patch": {"spec": {"$deleteFromPrimitiveList/names": ["b"]}}},
{"name": "primitives are added once", "original": {"spec": {"names": ["a", "b"]}}, "patch": {"spec": {"names": ["b", "c"]}}},
{"name": "keys are retained", "original": {"spec": {"strategy": {"type": "a", "rolling": {"name": "x"}, "count": 1}}}, "patch": {"spec": {"strategy": {"$retainKeys": ["type"], "type": "b"}}}},
{"name": "keys that are retained must be named", "original": {"spec": {"strategy": {"type": "a"}}}, "patch": {"spec": {"strategy": {"$retainKeys": ["count"], "type": "b"}}}},
{"name": "keys are retained in items", "original": {"spec": {"sources": [{"name": "a", "empty": {"name": "x"}}]}}, "patch": {"spec": {"sources": [{"$retainKeys": ["name", "secret"], "name": "a", "secret": {"name": "y"}}]}}},
{"name": "an atomic list is replaced", "original": {"spec": {"args": ["a", "b"]}}, "patch": {"spec": {"args": ["c"]}}},
{"name": "an item without its key", "original": {"spec": {"boxes": [{"name": "a"}]}}, "patch": {"spec": {"boxes": [{"image": "i"}]}}},
{"name": "an item that is no map", "original": {"spec": {"boxes": [{"name": "a"}]}}, "patch": {"spec": {"boxes": ["a"]}}},
{"name": "an item to delete without its key", "original": {"spec": {"boxes": [{"name": "a"}]}}, "patch": {"spec": {"boxes": [{"$patch": "delete"}]}}},
{"name": "a field that is not there", "original": {"spec": {"nothing": {"a": 1}}}, "patch": {"spec": {"nothing": {"b": 2}}}},
{"name": "a field of another type", "original": {"spec": {"text": "t", "plain": {"a": "b"}}}, "patch": {"spec": {"text": {"a": "b"}, "plain": "p"}}},
{"name": "nulls in what is new are dropped", "original": {}, "patch": {"spec": {"plain": {"a": null, "b": "c"}, "boxes": [{"name": "a", "image": null}], "text": null}}},
{"name": "directives in what is new are dropped", "original": {}, "patch": {"spec": {"boxes": [{"$patch": "delete", "name": "a"}, {"name": "b"}], "$setElementOrder/boxes": [{"name": "b"}], "strategy": {"$retainKeys": ["type"], "type": "b"}}}},
{"name": "labels are merged", "original": {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}}, "patch": {"metadata": {"labels": {"c": "d", "a": null}, "finalizers": ["y"]}}},
{"name": "the whole is deleted", "original": {"spec": {"count": 1}}, "patch": {"$patch": "delete"}},
{"name": "the whole is replaced", "original": {"spec": {"count": 1}}, "patch": {"$patch": "replace", "spec": {"text": "t"}}},
{"name": "nested items", "original": {"spec": {"boxes": [{"name": "a", "env": [{"name": "x", "value": "1"}, {"name": "y"}]}]}}, "patch": {"spec": {"boxes": [{"name": "a", "env": [{"name": "x", "value": "2"}, {"$patch": "delete", "name": "y"}, {"name": "z"}]}]}}},
{"name": "an empty list adds nothing", "original": {"spec": {"boxes": [{"name": "a"}], "args": ["a"]}}, "patch": {"spec": {"boxes": [], "args": []}}}
]`
