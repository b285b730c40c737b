//! What the templates of a kind can read of a child: the rest of a live object need not be kept.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use gotpl::{Analysis, Step, UseKind};
use serde_json::{Map, Value};

use crate::compile::Shape;
use crate::readiness;

/// The parts of an object that templates can read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Projection(Node);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Node {
    /// Everything from here on.
    whole: bool,
    below: BTreeMap<String, Node>,
}

impl Projection {
    /// All of an object.
    pub fn whole() -> Self {
        Self(Node {
            whole: true,
            below: BTreeMap::new(),
        })
    }

    /// The same number for the same view.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// The parts of an object that can be read, what it is, and whether it says that it is ready.
    pub fn reduce(&self, object: &Value) -> Value {
        let mut kept = self.0.reduce(object);
        if !kept.is_object() {
            kept = Value::Object(Map::new());
        }
        for field in ["apiVersion", "kind"] {
            kept[field] = object[field].clone();
        }
        for field in ["name", "namespace", "uid"] {
            if let Some(value) = object["metadata"].get(field) {
                kept["metadata"][field] = value.clone();
            }
        }
        for (path, value) in readiness::first_evidence(object) {
            put(&mut kept, path, value);
        }
        if readiness::why_not(&kept) != readiness::why_not(object) {
            for (path, value) in readiness::evidence(object) {
                put(&mut kept, path, value);
            }
        }
        kept
    }

    fn add(&mut self, steps: &[Step]) {
        let mut node = &mut self.0;
        for step in steps {
            match step {
                Step::Key(key) => node = node.below.entry(key.to_string()).or_default(),
                Step::Index(_) | Step::Any => break,
            }
        }
        node.whole = true;
    }
}

impl Node {
    fn reduce(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) if !self.whole => {
                let kept = self
                    .below
                    .iter()
                    .filter_map(|(key, node)| Some((key, node, fields.get(key)?)));
                Value::Object(
                    kept.map(|(key, node, value)| (key.clone(), node.reduce(value)))
                        .collect(),
                )
            }
            value => value.clone(),
        }
    }
}

/// Puts a value at a path, unless there is one.
fn put(object: &mut Value, path: &[&str], value: Value) {
    let (Some((key, below)), Value::Object(fields)) = (path.split_first(), object) else {
        return;
    };
    let held = fields.entry(*key).or_insert(Value::Null);
    match (below.is_empty(), &*held) {
        (true, Value::Null) => *held = value,
        (false, Value::Null) => {
            *held = Value::Object(Map::new());
            put(held, below, value);
        }
        (false, _) => put(held, below, value),
        (true, _) => {}
    }
}

/// Gathers what all templates of a kind read of its children.
pub(crate) struct Projections<'v> {
    shapes: BTreeMap<&'v str, &'v Shape>,
    views: BTreeMap<String, Projection>,
    /// The children of which everything may be read.
    open: BTreeSet<String>,
}

impl<'v> Projections<'v> {
    /// Of these children, by templates of these texts.
    pub fn new(
        children: impl Iterator<Item = (&'v str, &'v Shape)>,
        mut texts: impl Iterator<Item = &'v str>,
    ) -> Self {
        let shapes: BTreeMap<&str, &Shape> = children.collect();
        let open = texts.any(is_open);
        let open = shapes
            .keys()
            .filter(|_| open)
            .map(|name| (*name).to_string())
            .collect();
        Self {
            shapes,
            views: BTreeMap::new(),
            open,
        }
    }

    /// Adds the reads of one template.
    pub fn add(&mut self, analysis: &Analysis) {
        for (index, read) in analysis.trace.reads.iter().enumerate() {
            let ends: Vec<UseKind> = analysis
                .trace
                .uses
                .iter()
                .filter(|end| end.reads.contains(&index))
                .map(|end| end.kind)
                .collect();
            let Some(Step::Key(root)) = read.path.0.first() else {
                // The data as a whole, or some field of it that only the instance decides.
                if !ends.is_empty() || !read.path.0.is_empty() {
                    self.open
                        .extend(self.shapes.keys().map(|name| (*name).to_string()));
                }
                continue;
            };
            let Some(shape) = self.shapes.get(&**root) else {
                continue;
            };
            let inner = match (shape, &read.path.0[1..]) {
                (Shape::Collection, [Step::Index(_) | Step::Any, inner @ ..]) => inner,
                // How many there are is known in any case.
                (Shape::Collection, []) if ends.iter().all(|end| *end == UseKind::Branch) => {
                    continue;
                }
                (_, inner) => inner,
            };
            if ends.is_empty() {
                continue;
            }
            self.views.entry(root.to_string()).or_default().add(inner);
        }
    }

    /// Whether the texts of the templates tell everything that they can read.
    pub fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    /// What is read of a child.
    pub fn of(&self, name: &str) -> Projection {
        match self.open.contains(name) {
            true => Projection::whole(),
            false => self.views.get(name).cloned().unwrap_or_default(),
        }
    }
}

/// Whether a template may read what its text does not tell: by `tpl`, or by including what only the
/// data names.
fn is_open(text: &str) -> bool {
    let words = |word: &'static str| {
        text.match_indices(word).filter(move |(at, _)| {
            let is_part = |c: char| c.is_alphanumeric() || ['_', '.', '$', '-'].contains(&c);
            !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
        })
    };
    let constant = |at: usize| text[at..].trim_start().starts_with(['"', '`']);
    words("tpl").next().is_some() || words("include").any(|(at, word)| !constant(at + word.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Projection, is_open};
    use crate::readiness;

    fn view(paths: &[&[&str]]) -> Projection {
        let mut view = Projection::default();
        for path in paths {
            let steps: Vec<gotpl::Step> = path
                .iter()
                .map(|key| gotpl::Step::Key((*key).into()))
                .collect();
            view.add(&steps);
        }
        view
    }

    #[test]
    fn what_nobody_reads_is_not_kept_but_what_it_is_and_whether_it_is_ready() {
        let object = json!({
            "apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "uid": "u", "labels": {"a": "b"}},
            "spec": {"a": {"b": 1, "c": 2}, "list": [{"x": 1, "y": 2}]},
            "status": {
                "endpoint": "e", "phase": "p",
                "conditions": [{"type": "Ready", "status": "True", "message": "m"}, {"type": "Other", "status": "True"}],
            },
        });
        let kept = |paths: &[&[&str]]| view(paths).reduce(&object);
        let base = |more: Value| {
            let mut whole = json!({
                "apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "uid": "u"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            });
            for (key, value) in more.as_object().unwrap() {
                whole[key] = value.clone();
            }
            whole
        };
        assert_eq!(kept(&[]), base(json!({})));
        assert_eq!(
            kept(&[&["spec", "a", "b"]]),
            base(json!({"spec": {"a": {"b": 1}}}))
        );
        assert_eq!(
            kept(&[&["spec", "a", "none"]]),
            base(json!({"spec": {"a": {}}}))
        );
        assert_eq!(
            kept(&[&["spec", "list"]]),
            base(json!({"spec": {"list": [{"x": 1, "y": 2}]}}))
        );
        assert_eq!(kept(&[&["spec"]])["spec"], object["spec"]);
        assert_eq!(
            kept(&[&["status", "conditions"]])["status"]["conditions"],
            object["status"]["conditions"]
        );
        assert_eq!(Projection::whole().reduce(&object), object);
        assert_eq!(
            Projection::default().reduce(&json!({"metadata": {"name": "n"}}))["status"],
            Value::Null
        );
        assert_eq!(
            Projection::default().reduce(&json!("x"))["kind"],
            Value::Null
        );
    }

    #[test]
    fn whatever_templates_read_what_is_kept_is_as_ready_as_the_whole() {
        let fields = [
            "observedGeneration",
            "replicas",
            "readyReplicas",
            "updatedReplicas",
            "conditions",
        ];
        let available = |status: &str| json!([{"type": "Available", "status": status}]);
        for (all, ready, updated, conditions) in [
            (2, 2, 2, available("True")),
            (2, 2, 2, available("False")),
            (3, 2, 2, available("True")),
            (2, 1, 2, available("False")),
            (
                2,
                2,
                1,
                json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]),
            ),
        ] {
            let object = json!({
                "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "n", "generation": 3},
                "spec": {"replicas": 2},
                "status": {
                    "observedGeneration": 3, "replicas": all, "readyReplicas": ready, "updatedReplicas": updated,
                    "conditions": conditions,
                },
            });
            for some in 0..1 << fields.len() {
                let read: Vec<[&str; 2]> = (0..fields.len())
                    .filter(|field| some & 1 << field != 0)
                    .map(|field| ["status", fields[field]])
                    .collect();
                let read: Vec<&[&str]> = read.iter().map(<[&str; 2]>::as_slice).collect();
                let kept = view(&read).reduce(&object);
                assert_eq!(
                    readiness::why_not(&kept),
                    readiness::why_not(&object),
                    "{kept}"
                );
            }
        }
    }

    #[test]
    fn a_text_that_tells_what_it_includes_is_not_open() {
        for (text, open) in [
            ("{{ .tpl }} {{ $tpl }} {{ xtpl }}", false),
            ("{{ include \"a\" . }} {{ include `a` . }}", false),
            ("{{ tpl .x . }}", true),
            ("{{ .x | tpl }}", true),
            ("{{ include .x . }}", true),
            ("{{ include (printf \"x\") . }}", true),
        ] {
            assert_eq!(is_open(text), open, "{text}");
        }
    }
}
