//! Reads shapes from OpenAPI documents and CRDs. What cannot be read is left to be anything.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Field, ListKind, ListNode, MapNode, NONE, Node, Scalar, Shapes, Strategy, meta};
use crate::gvk::Gvk;

/// Anything, merged as a whole.
const UNTYPED: u32 = 0;
/// Anything, of which maps are merged key by key.
pub const DEDUCED: u32 = 1;

/// The name of the type of quantities.
pub(crate) const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// A definition that is in more groups than this is one that every group has.
const MANY_GROUPS: usize = 8;

struct Builder<'v> {
    sources: HashMap<&'v str, &'v Value>,
    shapes: Shapes,
    ids: BTreeMap<Box<str>, u32>,
    names: HashMap<Box<str>, Arc<str>>,
    nodes: HashMap<Node, u32>,
    lists: HashMap<ListNode, u32>,
    /// Places that take a definition but merge it in their own way: the place, the definition,
    /// whether as a whole.
    variants: Vec<(u32, u32, bool)>,
}

/// What a schema inherits from those around it.
#[derive(Clone, Copy)]
struct Context {
    preserve: bool,
}

pub fn openapi<'v>(documents: impl IntoIterator<Item = &'v Value>) -> Shapes {
    let mut builder = Builder::new();
    for document in documents {
        let schemas = document.pointer("/components/schemas").unwrap_or(document);
        for (name, schema) in schemas.as_object().into_iter().flatten() {
            builder.sources.entry(name).or_insert(schema);
        }
    }
    builder.shapes.structs = true;
    let mut names: Vec<&str> = builder.sources.keys().copied().collect();
    names.sort_unstable();
    for name in names {
        let id = builder.definition(name);
        builder.kinds(name, id);
    }
    builder.finish(DEDUCED)
}

pub fn crd(schema: &Value, preserve: bool) -> Shapes {
    let metadata = meta::definitions();
    let mut builder = Builder::new();
    for (name, schema) in metadata.as_object().into_iter().flatten() {
        builder.sources.insert(name, schema);
    }
    let Value::Object(schema) = schema else {
        return builder.finish(DEDUCED);
    };
    let context = Context {
        preserve: preserve || truth(schema, "x-kubernetes-preserve-unknown-fields"),
    };
    let map = builder.object(schema, context, true, None);
    let root = builder.node(Node {
        scalar: None,
        list: NONE,
        map,
    });
    builder.finish(root)
}

impl<'v> Builder<'v> {
    fn new() -> Self {
        let mut builder = Self {
            sources: HashMap::new(),
            shapes: Shapes::default(),
            ids: BTreeMap::new(),
            names: HashMap::new(),
            nodes: HashMap::new(),
            lists: HashMap::new(),
            variants: Vec::new(),
        };
        let list = builder.list(ListNode {
            item: UNTYPED,
            kind: ListKind::Atomic,
            keys: Box::default(),
        });
        for (element, atomic) in [(UNTYPED, true), (DEDUCED, false)] {
            let map = builder.shapes.maps.len() as u32;
            builder.shapes.maps.push(MapNode {
                fields: (0, 0),
                element,
                atomic,
                preserve: true,
                embedded: false,
                type_name: None,
            });
            builder.shapes.nodes.push(Node {
                scalar: Some(Scalar::Untyped),
                list,
                map,
            });
        }
        builder
    }

    fn finish(mut self, root: u32) -> Shapes {
        for (place, target, atomic) in std::mem::take(&mut self.variants) {
            let mut node = self.shapes.nodes[target as usize];
            if let Some(map) = self.shapes.maps.get(node.map as usize).cloned() {
                node.map = self.shapes.maps.len() as u32;
                self.shapes.maps.push(MapNode { atomic, ..map });
            } else if let Some(list) = self.shapes.lists.get(node.list as usize).cloned()
                && atomic
            {
                node.list = self.list(ListNode {
                    kind: ListKind::Atomic,
                    ..list
                });
            }
            self.shapes.nodes[place as usize] = node;
        }
        self.shapes.root = root;
        self.shapes.definitions = self.ids;
        self.shapes.nodes.shrink_to_fit();
        self.shapes.fields.shrink_to_fit();
        self.shapes.maps.shrink_to_fit();
        self.shapes.lists.shrink_to_fit();
        self.shapes
    }

    fn kinds(&mut self, name: &str, id: u32) {
        let Some(kinds) = self
            .sources
            .get(name)
            .and_then(|schema| schema["x-kubernetes-group-version-kind"].as_array())
        else {
            return;
        };
        for kind in kinds {
            if let (Some(group), Some(version), Some(word)) = (
                kind["group"].as_str(),
                kind["version"].as_str(),
                kind["kind"].as_str(),
            ) && (kinds.len() <= MANY_GROUPS || group.is_empty())
            {
                self.shapes.kinds.insert(Gvk::new(group, version, word), id);
            }
        }
    }

    /// The node of a definition, which may hold itself.
    fn definition(&mut self, name: &str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let Some((Value::Object(schema), name)) = self
            .sources
            .get_key_value(name)
            .map(|(name, schema)| (*schema, *name))
        else {
            return DEDUCED;
        };
        let id = self.shapes.nodes.len() as u32;
        self.shapes.nodes.push(Node {
            scalar: None,
            list: NONE,
            map: NONE,
        });
        self.ids.insert(name.into(), id);
        let node = match name {
            QUANTITY => Node {
                scalar: Some(Scalar::Quantity),
                list: NONE,
                map: NONE,
            },
            RAW_EXTENSION => self.shapes.nodes[UNTYPED as usize],
            _ => {
                let context = Context {
                    preserve: truth(schema, "x-kubernetes-preserve-unknown-fields"),
                };
                self.atom(schema, context, Some(name))
            }
        };
        self.shapes.nodes[id as usize] = node;
        id
    }

    /// The node of a schema in a place, which may refer to a definition.
    fn place(&mut self, schema: &'v Value, context: Context) -> u32 {
        let Value::Object(schema) = schema else {
            return DEDUCED;
        };
        if let Some(name) = reference(schema) {
            let target = self.definition(name);
            return match schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
                Some(kind) => {
                    let place = self.shapes.nodes.len() as u32;
                    self.shapes.nodes.push(Node {
                        scalar: None,
                        list: NONE,
                        map: NONE,
                    });
                    self.variants.push((place, target, kind == "atomic"));
                    place
                }
                None => target,
            };
        }
        // What is below a place that keeps unknown fields keeps them too.
        let context = Context {
            preserve: context.preserve || truth(schema, "x-kubernetes-preserve-unknown-fields"),
        };
        let node = self.atom(schema, context, None);
        self.node(node)
    }

    fn atom(
        &mut self,
        schema: &'v Map<String, Value>,
        context: Context,
        name: Option<&str>,
    ) -> Node {
        let format = schema
            .get("format")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let scalar = |scalar| Node {
            scalar: Some(scalar),
            list: NONE,
            map: NONE,
        };
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => {
                let embedded = truth(schema, "x-kubernetes-embedded-resource");
                Node {
                    scalar: None,
                    list: NONE,
                    map: self.object(schema, context, embedded, name),
                }
            }
            Some("array") => Node {
                scalar: None,
                list: self.array(schema, context),
                map: NONE,
            },
            Some("integer") => scalar(if format == "int32" {
                Scalar::Int32
            } else {
                Scalar::Int64
            }),
            Some("number") => scalar(Scalar::Number),
            Some("boolean") => scalar(Scalar::Boolean),
            Some("string") => scalar(match format {
                "" => Scalar::String,
                "byte" => Scalar::Bytes,
                "date-time" => Scalar::DateTime,
                "int-or-string" => Scalar::IntOrString,
                _ => Scalar::Formatted,
            }),
            _ => {
                let either =
                    format == "int-or-string" || truth(schema, "x-kubernetes-int-or-string");
                let embedded = truth(schema, "x-kubernetes-embedded-resource");
                Node {
                    scalar: Some(if either {
                        Scalar::IntOrString
                    } else {
                        Scalar::Untyped
                    }),
                    list: self.array(schema, context),
                    map: self.object(schema, context, embedded, name),
                }
            }
        }
    }

    fn array(&mut self, schema: &'v Map<String, Value>, context: Context) -> u32 {
        let item = schema
            .get("items")
            .map_or(UNTYPED, |items| self.place(items, context));
        let (kind, keys) = list_kind(schema);
        let keys = keys.into_iter().map(|key| self.name(key)).collect();
        self.list(ListNode { item, kind, keys })
    }

    fn object(
        &mut self,
        schema: &'v Map<String, Value>,
        context: Context,
        whole: bool,
        name: Option<&str>,
    ) -> u32 {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = strings(schema.get("required"));
        let mut fields = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            if whole && matches!(&**name, "apiVersion" | "kind" | "metadata") {
                continue;
            }
            let node = self.place(property, context);
            let (strategy, merge_key) = strategy(property);
            fields.push(Field {
                name: self.name(name),
                node,
                strategy,
                merge_key: merge_key.map(|key| self.name(key)),
                default: property
                    .get("default")
                    .filter(|value| is_scalar(value))
                    .cloned()
                    .map(Box::new),
                required: required.contains(&&**name),
                present: property
                    .get("default")
                    .and_then(Value::as_object)
                    .is_some_and(Map::is_empty),
            });
        }
        if whole {
            let text = self.node(Node {
                scalar: Some(Scalar::String),
                list: NONE,
                map: NONE,
            });
            let metadata = self.definition(OBJECT_META);
            for (name, node) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
                fields.push(Field {
                    name: self.name(name),
                    node,
                    strategy: Strategy::default(),
                    merge_key: None,
                    default: None,
                    required: required.contains(&name),
                    present: false,
                });
            }
        }
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        let element = match schema.get("additionalProperties") {
            None if context.preserve || properties.is_none_or(Map::is_empty) => DEDUCED,
            None | Some(Value::Bool(false)) => NONE,
            Some(Value::Bool(true)) => DEDUCED,
            Some(values) => self.place(values, context),
        };
        let from = self.shapes.fields.len() as u32;
        self.shapes.fields.append(&mut fields);
        let node = MapNode {
            fields: (from, self.shapes.fields.len() as u32),
            element,
            atomic: schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic"),
            preserve: context.preserve,
            embedded: truth(schema, "x-kubernetes-embedded-resource"),
            type_name: name.map(|name| self.name(go_name(name))),
        };
        self.shapes.maps.push(node);
        self.shapes.maps.len() as u32 - 1
    }

    fn list(&mut self, list: ListNode) -> u32 {
        if let Some(id) = self.lists.get(&list) {
            return *id;
        }
        let id = self.shapes.lists.len() as u32;
        self.shapes.lists.push(list.clone());
        self.lists.insert(list, id);
        id
    }

    fn node(&mut self, node: Node) -> u32 {
        let shapes = &mut self.shapes;
        *self.nodes.entry(node).or_insert_with(|| {
            shapes.nodes.push(node);
            shapes.nodes.len() as u32 - 1
        })
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let shared: Arc<str> = name.into();
        self.names.insert(name.into(), shared.clone());
        shared
    }
}

/// The package and the name of the Go type of a definition: `v1.Pod` of `io.k8s.api.core.v1.Pod`.
fn go_name(definition: &str) -> &str {
    definition
        .rmatch_indices('.')
        .nth(1)
        .map_or(definition, |(dot, _)| &definition[dot + 1..])
}

/// The definition that a schema refers to, itself or in an `allOf` of one.
fn reference(schema: &Map<String, Value>) -> Option<&str> {
    let direct = schema.get("$ref").and_then(Value::as_str);
    let all = || {
        schema
            .get("allOf")
            .and_then(Value::as_array)
            .filter(|all| all.len() == 1)
    };
    let reference = direct.or_else(|| all()?.first()?.get("$ref")?.as_str())?;
    Some(reference.rsplit('/').next().unwrap_or(reference))
}

fn list_kind(schema: &Map<String, Value>) -> (ListKind, Vec<&str>) {
    let word = |name: &str| schema.get(name).and_then(Value::as_str);
    match (
        word("x-kubernetes-list-type"),
        word("x-kubernetes-patch-strategy"),
    ) {
        (Some("set"), _) => (ListKind::Set, Vec::new()),
        (Some("map"), _) => match strings(schema.get("x-kubernetes-list-map-keys")) {
            keys if keys.is_empty() => (ListKind::Atomic, keys),
            keys => (ListKind::Map, keys),
        },
        (None, Some("merge" | "merge,retainKeys")) => match word("x-kubernetes-patch-merge-key") {
            Some(key) => (ListKind::Map, vec![key]),
            None => (ListKind::Set, Vec::new()),
        },
        _ => (ListKind::Atomic, Vec::new()),
    }
}

fn strategy(property: &Value) -> (Strategy, Option<&str>) {
    let mut strategy = Strategy::default();
    for word in property["x-kubernetes-patch-strategy"]
        .as_str()
        .unwrap_or_default()
        .split(',')
    {
        match word {
            "merge" => strategy.merge = true,
            "retainKeys" => strategy.retain_keys = true,
            "replace" => strategy.replace = true,
            _ => {}
        }
    }
    (strategy, property["x-kubernetes-patch-merge-key"].as_str())
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn truth(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

const fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_))
}
