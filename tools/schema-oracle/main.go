// Command schema-oracle records what Kubernetes' own API server does to custom resources by their schema.
//
//	schema-oracle FILE     answers every line of FILE, {"schema","value"}, again, and writes the file anew
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// record is one line: a schema and an object, and what becomes of it.
type record struct {
	Schema   json.RawMessage `json:"schema"`
	Value    json.RawMessage `json:"value"`
	Admitted any             `json:"admitted"`
	Errors   []string        `json:"errors"`
	// Refused tells that the schema itself is not structural.
	Refused bool `json:"refused"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schema-oracle FILE")
		os.Exit(2)
	}
	if err := refresh(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func refresh(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for number, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
		if err := r.answer(); err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func (r *record) answer() error {
	var written v1.JSONSchemaProps
	if err := json.Unmarshal(r.Schema, &written); err != nil {
		return err
	}
	var props apiextensions.JSONSchemaProps
	if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&written, &props, nil); err != nil {
		return err
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return err
	}
	r.Refused = len(schema.ValidateStructural(nil, structural)) > 0
	validator, _, err := validation.NewSchemaValidator(&props)
	if err != nil {
		return err
	}
	var object any
	if err := kjson.Unmarshal(r.Value, &object); err != nil {
		return err
	}
	pruning.Prune(object, structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	defaulting.Default(object, structural)
	found := validation.ValidateCustomResource(nil, object, validator)
	if fields, ok := object.(map[string]any); ok {
		found = append(found, listtype.ValidateListSetsAndMaps(nil, structural, fields)...)
	}
	r.Admitted, r.Errors = object, []string{}
	for _, one := range found {
		r.Errors = append(r.Errors, one.Error())
	}
	sort.Strings(r.Errors)
	return nil
}
