//! The types of objects, compact: what fields there are, how lists and maps merge, what scalars
//! look like. Read from Kubernetes' OpenAPI documents or from the schema of a CRD; bounds, patterns
//! and defaults are in [`Schema`].
//!
//! [`Schema`]: crate::Schema

mod build;
mod meta;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use build::QUANTITY;

use crate::gvk::Gvk;

/// No list or no map.
const NONE: u32 = u32::MAX;

/// All types of a document, or of a version of a CRD. Types that are the same are kept once.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    nodes: Vec<Node>,
    lists: Vec<ListNode>,
    maps: Vec<MapNode>,
    fields: Vec<Field>,
    kinds: BTreeMap<Gvk, u32>,
    definitions: BTreeMap<Box<str>, u32>,
    root: u32,
    /// Whether the types are those of Go structs, some fields of which are never absent.
    structs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    scalar: Option<Scalar>,
    list: u32,
    map: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ListNode {
    item: u32,
    kind: ListKind,
    keys: Box<[Arc<str>]>,
}

#[derive(Debug, Clone)]
struct MapNode {
    /// From and to, in the arena of fields.
    fields: (u32, u32),
    element: u32,
    atomic: bool,
    preserve: bool,
    embedded: bool,
    type_name: Option<Arc<str>>,
}

/// What a scalar looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Any scalar.
    Untyped,
    /// Text.
    String,
    /// Text with a format of its own.
    Formatted,
    /// Bytes, as base64.
    Bytes,
    /// A point in time, as RFC 3339.
    DateTime,
    /// A quantity: a number, or text like `100m`.
    Quantity,
    /// A whole number or text.
    IntOrString,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

/// How a list is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// As a whole.
    Atomic,
    /// Item by item, each of which is there once.
    Set,
    /// Item by item, told apart by their keys.
    Map,
}

/// How strategic merge patches treat a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Strategy {
    /// Lists are merged item by item.
    pub merge: bool,
    /// Maps lose the keys that `$retainKeys` does not name.
    pub retain_keys: bool,
    /// Maps are replaced as a whole.
    pub replace: bool,
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub struct Field {
    name: Arc<str>,
    node: u32,
    strategy: Strategy,
    merge_key: Option<Arc<str>>,
    default: Option<Box<Value>>,
    required: bool,
    present: bool,
}

/// The type at one place of an object.
#[derive(Clone, Copy)]
pub struct Shape<'s> {
    shapes: &'s Shapes,
    id: u32,
}

/// A list, of a [`Shape`].
#[derive(Clone, Copy)]
pub struct ListShape<'s> {
    shapes: &'s Shapes,
    node: &'s ListNode,
}

/// A struct or a map, of a [`Shape`].
#[derive(Clone, Copy)]
pub struct MapShape<'s> {
    shapes: &'s Shapes,
    node: &'s MapNode,
}

impl Shapes {
    /// The types of an OpenAPI v3 document: the whole document, or its `components.schemas`.
    pub fn openapi(document: &Value) -> Self {
        Self::openapi_all([document])
    }

    /// The types of several OpenAPI v3 documents, which share most of them.
    pub fn openapi_all<'v>(documents: impl IntoIterator<Item = &'v Value>) -> Self {
        build::openapi(documents)
    }

    /// The types of a version of a CRD, from its `openAPIV3Schema`; null where it has none.
    /// `preserve_unknown` is the CRD's `spec.preserveUnknownFields`.
    pub fn crd(schema: &Value, preserve_unknown: bool) -> Self {
        build::crd(schema, preserve_unknown)
    }

    /// What any object is where nothing is known of its type: maps are merged, lists are not.
    pub fn deduced() -> Self {
        build::crd(&Value::Null, true)
    }

    /// The type of a kind. Kinds that every group has, `DeleteOptions` and `WatchEvent`, are in the
    /// core group only.
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Shape<'_>> {
        self.kinds
            .get(&Gvk::new(group, version, kind))
            .map(|id| Shape {
                shapes: self,
                id: *id,
            })
    }

    /// The type of a definition: `io.k8s.api.apps.v1.Deployment`.
    pub fn definition(&self, name: &str) -> Option<Shape<'_>> {
        self.definitions.get(name).map(|id| Shape {
            shapes: self,
            id: *id,
        })
    }

    /// The kinds that have a type.
    pub fn kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.kinds.keys()
    }

    /// The type of a CRD's objects.
    pub fn root(&self) -> Shape<'_> {
        Shape {
            shapes: self,
            id: self.root,
        }
    }

    /// About how much memory it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
            + size_of_val(&*self.lists)
            + size_of_val(&*self.maps)
            + size_of_val(&*self.fields)
    }
}

impl<'s> Shape<'s> {
    fn node(self) -> Node {
        const NOTHING: Node = Node {
            scalar: None,
            list: NONE,
            map: NONE,
        };
        self.shapes
            .nodes
            .get(self.id as usize)
            .copied()
            .unwrap_or(NOTHING)
    }

    /// What a scalar looks like here; none if it cannot be one.
    pub fn scalar(self) -> Option<Scalar> {
        self.node().scalar
    }

    /// The list that may be here.
    pub fn list(self) -> Option<ListShape<'s>> {
        let node = self.shapes.lists.get(self.node().list as usize)?;
        Some(ListShape {
            shapes: self.shapes,
            node,
        })
    }

    /// The struct or map that may be here.
    pub fn map(self) -> Option<MapShape<'s>> {
        let node = self.shapes.maps.get(self.node().map as usize)?;
        Some(MapShape {
            shapes: self.shapes,
            node,
        })
    }

    /// The type of a field, or of the values of a map.
    pub fn field(self, name: &str) -> Option<Self> {
        self.map()?.value(name)
    }

    /// The type of the items of a list.
    pub fn item(self) -> Option<Self> {
        self.list().map(ListShape::item)
    }

    /// Adds the structs that are never absent, as the API server writes them: a container has
    /// `resources: {}`. Custom resources have none.
    pub fn fill(self, value: &mut Value) {
        match value {
            _ if !self.shapes.structs => {}
            Value::Object(fields) => {
                let Some(map) = self.map() else { return };
                for field in map.fields().iter().filter(|field| field.present) {
                    if !fields.contains_key(&*field.name) {
                        fields.insert(
                            field.name.to_string(),
                            Value::Object(serde_json::Map::new()),
                        );
                    }
                }
                for (name, value) in fields {
                    if let Some(shape) = map.value(name) {
                        shape.fill(value);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(shape) = self.item() {
                    items.iter_mut().for_each(|item| shape.fill(item));
                }
            }
            _ => {}
        }
    }

    /// The object that nobody has set a field of: what an object is compared with when it is
    /// created. Structs that are never absent are there, and lists and maps that have to be given
    /// are null, as Go writes them.
    pub fn empty(self) -> Value {
        let mut fields = serde_json::Map::new();
        for field in self
            .map()
            .filter(|_| self.shapes.structs)
            .into_iter()
            .flat_map(MapShape::fields)
        {
            let shape = Self {
                shapes: self.shapes,
                id: field.node,
            };
            if field.present {
                fields.insert(field.name.to_string(), shape.empty());
            } else if field.required && shape.scalar().is_none() {
                fields.insert(field.name.to_string(), Value::Null);
            }
        }
        Value::Object(fields)
    }

    /// Whether two places have one type.
    #[cfg(test)]
    pub(crate) fn is(self, other: Self) -> bool {
        std::ptr::eq(self.shapes, other.shapes) && self.id == other.id
    }
}

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Shape({:?})", self.node())
    }
}

impl<'s> ListShape<'s> {
    /// The type of the items.
    pub fn item(self) -> Shape<'s> {
        Shape {
            shapes: self.shapes,
            id: self.node.item,
        }
    }

    /// How it is merged.
    pub fn kind(self) -> ListKind {
        self.node.kind
    }

    /// Whether it is merged as a whole.
    pub fn is_atomic(self) -> bool {
        self.node.kind == ListKind::Atomic
    }

    /// The keys that tell the items of a [`ListKind::Map`] apart.
    pub fn keys(self) -> &'s [Arc<str>] {
        &self.node.keys
    }

    /// The value of a key that an item does not have.
    pub fn key_default(self, key: &str) -> Option<&'s Value> {
        self.item().map()?.find(key)?.default.as_deref()
    }
}

impl<'s> MapShape<'s> {
    /// The fields, by name.
    pub fn fields(self) -> &'s [Field] {
        let (from, to) = self.node.fields;
        self.shapes
            .fields
            .get(from as usize..to as usize)
            .unwrap_or_default()
    }

    /// A field that is named.
    pub fn find(self, name: &str) -> Option<&'s Field> {
        let fields = self.fields();
        fields
            .binary_search_by(|field| (*field.name).cmp(name))
            .ok()
            .and_then(|at| fields.get(at))
    }

    /// The type of a field.
    pub fn at(self, field: &Field) -> Shape<'s> {
        Shape {
            shapes: self.shapes,
            id: field.node,
        }
    }

    /// The type of the values of keys that are not named; none if there are no such keys.
    pub fn element(self) -> Option<Shape<'s>> {
        (self.node.element != NONE).then_some(Shape {
            shapes: self.shapes,
            id: self.node.element,
        })
    }

    /// The type of the value of a key, named or not.
    pub fn value(self, name: &str) -> Option<Shape<'s>> {
        self.find(name)
            .map(|field| self.at(field))
            .or_else(|| self.element())
    }

    /// Whether it is merged as a whole.
    pub fn is_atomic(self) -> bool {
        self.node.atomic
    }

    /// Whether fields that are not described stay.
    pub fn preserves_unknown(self) -> bool {
        self.node.preserve
    }

    /// Whether it is a whole object, with `apiVersion`, `kind` and `metadata`.
    pub fn is_embedded(self) -> bool {
        self.node.embedded
    }

    /// The name of the Go type, `DeploymentSpec`; none for inlined types.
    pub fn type_name(self) -> Option<&'s str> {
        self.go_name()
            .map(|name| name.rsplit('.').next().unwrap_or(name))
    }

    /// The name of the Go type with its package, `v1.DeploymentSpec`.
    pub fn go_name(self) -> Option<&'s str> {
        self.node.type_name.as_deref()
    }

    /// Whether nothing is known but that it is a map: such are not looked into for changes of the
    /// schema.
    pub(crate) fn is_deduced(self) -> bool {
        self.fields().is_empty() && self.node.element == build::DEDUCED
    }
}

impl Field {
    /// The name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// How strategic merge patches treat it.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// The field that tells the items of a list apart, for strategic merge patches.
    pub fn merge_key(&self) -> Option<&Arc<str>> {
        self.merge_key.as_ref()
    }

    /// The value where none was given, if it is a scalar.
    pub fn default(&self) -> Option<&Value> {
        self.default.as_deref()
    }

    /// Whether it is a struct that is never absent.
    pub fn is_always_present(&self) -> bool {
        self.present
    }

    /// Whether it has to be there.
    pub fn is_required(&self) -> bool {
        self.required
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ListKind, Scalar, Shapes};

    fn document() -> Value {
        json!({"components": {"schemas": {
            "io.x.Spec": {"type": "object", "required": ["boxes", "image"], "properties": {
                "boxes": {"type": "array", "items": {"type": "string"}},
                "image": {"type": "string", "default": ""},
                "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "port",
                    "items": {"allOf": [{"$ref": "#/components/schemas/io.x.Port"}], "default": {}}},
                "env": {"type": "array", "items": {"type": "string"}},
                "child": {"$ref": "#/components/schemas/io.x.Spec"},
                "whole": {"allOf": [{"$ref": "#/components/schemas/io.x.Port"}], "x-kubernetes-map-type": "atomic"},
                "strategy": {"allOf": [{"$ref": "#/components/schemas/io.x.Port"}], "x-kubernetes-patch-strategy": "retainKeys"},
                "size": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"},
                "labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}}
            }},
            "io.x.Port": {"type": "object", "properties": {
                "port": {"type": "integer", "format": "int32", "default": 0},
                "protocol": {"type": "string", "default": "TCP"},
                "when": {"type": "string", "format": "date-time"}
            }},
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
            "io.x.Thing": {"type": "object", "properties": {"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/io.x.Spec"}]}},
                "x-kubernetes-group-version-kind": [{"group": "x", "kind": "Thing", "version": "v1"}]}
        }}})
    }

    #[test]
    fn the_types_of_a_document_are_found_by_kind() {
        let shapes = Shapes::openapi(&document());
        let spec = shapes
            .of_kind("x", "v1", "Thing")
            .unwrap()
            .field("spec")
            .unwrap();
        assert!(shapes.of_kind("", "v1", "Thing").is_none());
        assert_eq!(spec.map().unwrap().type_name(), Some("Spec"));
        assert!(spec.map().unwrap().find("image").unwrap().is_required());
        assert!(spec.field("nothing").is_none());
        let ports = spec.field("ports").unwrap().list().unwrap();
        assert_eq!(ports.kind(), ListKind::Map);
        assert_eq!(
            ports
                .keys()
                .iter()
                .map(AsRef::as_ref)
                .collect::<Vec<&str>>(),
            ["port", "protocol"]
        );
        assert_eq!(ports.key_default("protocol"), Some(&json!("TCP")));
        assert_eq!(
            ports.item().field("port").unwrap().scalar(),
            Some(Scalar::Int32)
        );
        assert_eq!(
            ports.item().field("when").unwrap().scalar(),
            Some(Scalar::DateTime)
        );
        assert!(spec.field("env").unwrap().list().unwrap().is_atomic());
        assert!(
            spec.field("child").unwrap().is(spec),
            "a type may hold itself"
        );
        assert!(spec.field("whole").unwrap().map().unwrap().is_atomic());
        assert!(!ports.item().map().unwrap().is_atomic());
        let fields = spec.map().unwrap();
        assert!(fields.find("strategy").unwrap().strategy().retain_keys);
        assert_eq!(
            shapes.of_kind("x", "v1", "Thing").unwrap().empty(),
            json!({"spec": {"boxes": null}})
        );
        let mut filled = json!({"spec": {"child": {}}});
        shapes
            .of_kind("x", "v1", "Thing")
            .unwrap()
            .fill(&mut filled);
        assert_eq!(filled, json!({"spec": {"child": {}}}));
        assert_eq!(
            fields.find("ports").unwrap().merge_key().map(AsRef::as_ref),
            Some("port")
        );
        assert_eq!(spec.field("size").unwrap().scalar(), Some(Scalar::Quantity));
        assert_eq!(
            spec.field("labels").unwrap().field("any").unwrap().scalar(),
            Some(Scalar::String)
        );
    }

    #[test]
    fn a_crd_has_the_metadata_of_every_object() {
        let shapes = Shapes::crd(
            &json!({"type": "object", "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 3}}},
                "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "inner": {"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": true}}},
                    "raw": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}
                }},
                "strict": {"type": "object", "properties": {"a": {"type": "number"}}}
            }}),
            false,
        );
        let root = shapes.root();
        let finalizers = root
            .field("metadata")
            .unwrap()
            .field("finalizers")
            .unwrap()
            .list()
            .unwrap();
        assert_eq!(finalizers.kind(), ListKind::Set);
        assert_eq!(root.field("kind").unwrap().scalar(), Some(Scalar::String));
        let spec = root.field("spec").unwrap();
        assert!(spec.field("anything").is_some(), "unknown fields stay");
        assert!(
            spec.field("inner").unwrap().field("anything").is_some(),
            "below too"
        );
        assert_eq!(
            spec.field("inner").unwrap().field("a").unwrap().scalar(),
            Some(Scalar::IntOrString)
        );
        assert!(spec.field("raw").unwrap().map().unwrap().is_embedded());
        assert!(
            spec.field("raw")
                .unwrap()
                .field("metadata")
                .unwrap()
                .field("labels")
                .is_some()
        );
        assert!(root.field("strict").unwrap().field("b").is_none());
        let asked = json!({"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", "default": {}}}});
        assert_eq!(
            Shapes::crd(&asked, false).root().empty(),
            json!({}),
            "nothing is there that nobody has set"
        );
        let any = Shapes::deduced();
        assert!(
            any.root()
                .field("a")
                .unwrap()
                .field("b")
                .unwrap()
                .list()
                .unwrap()
                .is_atomic()
        );
    }
}
