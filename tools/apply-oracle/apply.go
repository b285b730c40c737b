package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

var kind = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}

// step is one request of a case, and what becomes of it.
type step struct {
	// Do is create, update or apply.
	Do          string         `json:"do"`
	Manager     string         `json:"manager"`
	Force       bool           `json:"force,omitempty"`
	Subresource string         `json:"subresource,omitempty"`
	Reset       []string       `json:"reset,omitempty"`
	Object      map[string]any `json:"object"`
	// Want is the object afterwards.
	Want map[string]any `json:"want,omitempty"`
	// Error is the message, and Causes are the fields in conflict.
	Error  string   `json:"error,omitempty"`
	Causes []string `json:"causes,omitempty"`
}

type same struct{}

func (same) Convert(in, out, context any) error { return fmt.Errorf("nothing converts") }
func (same) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (same) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", fmt.Errorf("nothing converts")
}
func (same) Default(runtime.Object) {}
func (same) New(schema.GroupVersionKind) (runtime.Object, error) {
	return nobody(), nil
}

// nobody is the object of which nobody has set a field: its structs that are never absent are there.
func nobody() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.org/v1", "kind": "Thing", "metadata": map[string]any{},
		"spec": map[string]any{"strategy": map[string]any{}}, "status": map[string]any{},
	}}
}

// answer takes the steps one after the other; a step that fails leaves the object as it was.
func answer(steps []step) error {
	types, err := models()
	if err != nil {
		return err
	}
	converter, err := managedfields.NewTypeConverter(types, false)
	if err != nil {
		return err
	}
	var live map[string]any
	for index := range steps {
		if live, err = steps[index].answer(converter, live, index); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) answer(converter managedfields.TypeConverter, live map[string]any, index int) (map[string]any, error) {
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	if len(s.Reset) > 0 {
		set := fieldpath.NewSet()
		for _, name := range s.Reset {
			set.Insert(fieldpath.MakePathOrDie(name))
		}
		reset["example.org/v1"] = fieldpath.NewExcludeSetFilter(set)
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(
		converter, same{}, same{}, same{}, kind, kind.GroupVersion(), s.Subresource, reset)
	if err != nil {
		return nil, err
	}
	before := nobody()
	if live != nil {
		before = &unstructured.Unstructured{Object: runtime.DeepCopyJSON(live)}
	}
	requested := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.Object)}
	var after runtime.Object
	if s.Do == "apply" {
		after, err = manager.Apply(before, requested, s.Manager, s.Force)
	} else {
		after, err = manager.Update(before, requested, s.Manager)
	}
	s.Want, s.Error, s.Causes = nil, "", nil
	if err != nil {
		s.Error = ordered(err.Error())
		if status, ok := err.(errors.APIStatus); ok && status.Status().Details != nil {
			for _, cause := range status.Status().Details.Causes {
				s.Causes = append(s.Causes, cause.Field+": "+cause.Message)
			}
			sort.Strings(s.Causes)
		}
		return live, nil
	}
	object := after.(*unstructured.Unstructured)
	settle(object, index)
	s.Want = runtime.DeepCopyJSON(object.Object)
	if live == nil {
		object.SetUID("u1")
	}
	return object.Object, nil
}

// ordered sorts a list of errors, which Go finds in the order of its maps: any.
func ordered(message string) string {
	head, list, found := strings.Cut(message, "errors:\n")
	if !found {
		return message
	}
	lines := strings.Split(list, "\n")
	sort.Strings(lines)
	return head + "errors:\n" + strings.Join(lines, "\n")
}

// settle replaces the times of this step by one that is always the same, and puts the entries in order again.
func settle(object *unstructured.Unstructured, index int) {
	entries := object.GetManagedFields()
	if len(entries) == 0 {
		return
	}
	known := metav1.Date(2026, 1, 1, 0, 1, 0, 0, metav1.Now().UTC().Location())
	for at := range entries {
		if entries[at].Time != nil && entries[at].Time.After(known.Time) {
			time := metav1.Date(2026, 1, 1, 0, 0, index, 0, known.Location())
			entries[at].Time = &time
		}
	}
	sort.SliceStable(entries, func(i, j int) bool {
		p, q := entries[i], entries[j]
		if p.Operation != q.Operation {
			return p.Operation < q.Operation
		}
		seconds := func(time *metav1.Time) int64 {
			if time == nil {
				return 0
			}
			return time.Unix()
		}
		if a, b := seconds(p.Time), seconds(q.Time); a != b {
			return a < b
		}
		if p.Manager != q.Manager {
			return p.Manager < q.Manager
		}
		return p.Subresource < q.Subresource
	})
	object.SetManagedFields(entries)
}

type applyCase struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

func tableApplies() ([]any, error) {
	var cases []applyCase
	if err := json.Unmarshal([]byte(applyTable), &cases); err != nil {
		return nil, err
	}
	var answered []any
	for _, one := range cases {
		for index := range one.Steps {
			object := one.Steps[index].Object
			object["apiVersion"], object["kind"] = "example.org/v1", "Thing"
			if _, ok := object["metadata"]; !ok {
				object["metadata"] = map[string]any{"name": "a"}
			}
			object = integers(object).(map[string]any)
			one.Steps[index].Object = object
		}
		if err := answer(one.Steps); err != nil {
			return nil, fmt.Errorf("%s: %w", one.Name, err)
		}
		answered = append(answered, one)
	}
	return answered, nil
}

// integers makes whole numbers what the API server reads them as.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = integers(value[key])
		}
	case []any:
		for index := range value {
			value[index] = integers(value[index])
		}
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	}
	return value
}
