package main

import (
	"encoding/json"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definitions are the types that all cases use: every way to merge, and scalars of every kind.
const definitions = `{
"Thing": {"type": "object", "x-kubernetes-group-version-kind": [{"group": "example.org", "version": "v1", "kind": "Thing"}],
 "properties": {
  "apiVersion": {"type": "string"}, "kind": {"type": "string"},
  "metadata": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Meta"}]},
  "spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Spec"}]},
  "status": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Status"}]}}},
"Meta": {"type": "object", "properties": {
  "name": {"type": "string"}, "namespace": {"type": "string"}, "uid": {"type": "string"},
  "resourceVersion": {"type": "string"},
  "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
  "annotations": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
  "finalizers": {"type": "array", "items": {"type": "string", "default": ""}, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
  "managedFields": {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "atomic"}}},
"Spec": {"type": "object", "properties": {
  "count": {"type": "integer", "format": "int32"},
  "ratio": {"type": "number"},
  "on": {"type": "boolean"},
  "text": {"type": "string"},
  "size": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
  "either": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
  "plain": {"type": "object", "additionalProperties": {"type": "string"}},
  "whole": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
  "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
  "numbers": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"},
  "args": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
  "boxes": {"type": "array", "items": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Box"}]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
  "ports": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Port"}]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"], "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port"},
  "anything": {"x-kubernetes-preserve-unknown-fields": true},
  "raw": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.runtime.RawExtension"},
  "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"type": "string"}}},
  "strategy": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Strategy"}], "x-kubernetes-patch-strategy": "retainKeys"},
  "sources": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Source"}]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "name"},
  "one": {"allOf": [{"$ref": "#/components/schemas/Box"}]},
  "frozen": {"allOf": [{"$ref": "#/components/schemas/Box"}], "x-kubernetes-map-type": "atomic"}}},
"Box": {"type": "object", "required": ["name"], "properties": {
  "name": {"type": "string", "default": ""},
  "image": {"type": "string"},
  "env": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Pair"}]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name"},
  "args": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
  "limits": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}},
  "inner": {"allOf": [{"$ref": "#/components/schemas/Box"}]}}},
"Pair": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "value": {"type": "string"}}},
"Port": {"type": "object", "required": ["port"], "properties": {
  "port": {"type": "integer", "format": "int32"}, "protocol": {"type": "string", "default": "TCP"}, "name": {"type": "string"}}},
"Strategy": {"type": "object", "properties": {"type": {"type": "string"}, "rolling": {"allOf": [{"$ref": "#/components/schemas/Pair"}]}, "count": {"type": "integer"}}},
"Source": {"type": "object", "required": ["name"], "properties": {
  "name": {"type": "string"}, "empty": {"allOf": [{"$ref": "#/components/schemas/Pair"}]}, "secret": {"allOf": [{"$ref": "#/components/schemas/Pair"}]}}},
"Status": {"type": "object", "properties": {
  "phase": {"type": "string"},
  "conditions": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Condition"}]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "type"}}},
"Condition": {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}, "status": {"type": "string"}, "at": {"type": "string", "format": "date-time"}}},
"io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
"io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"}
}`

func models() (map[string]*spec.Schema, error) {
	found := map[string]*spec.Schema{}
	return found, json.Unmarshal([]byte(definitions), &found)
}
