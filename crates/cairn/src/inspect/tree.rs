//! The tree of an instance and what became of it: which child is ready, and what the others wait
//! for. Values in, a tree out; the engine says what waits, as it says to the controllers.

use engine::children::desired::{controller_of, is_orphan, may_adopt, not_ours, status_patch};
use engine::children::ownership::tie;
use engine::{
    Child, ChildRecord, Compiled, CompiledKind, Context, Plan, Projection, Readiness, Seed, Shape,
    kept_by, not_applied, plan, readiness,
};
use objects::Gvk;
use serde_json::Value;

use super::attention::{Said, attention};
use super::children;
use super::pause::Pause;
use crate::commands::render::PREVIEW_SEED;

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// It is there, or will be at once, and not ready yet.
    Coming,
    /// It needs something that is not there yet.
    Waiting,
    Failing,
}

/// An object, or the place of one that is not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The template that makes it; empty for an instance that a person made.
    pub template: String,
    /// `Kind/name`, or the kind alone while there is no object.
    pub object: String,
    /// The object as kubectl names it; empty while there is none.
    pub id: String,
    pub state: State,
    /// What is to be said of it.
    pub note: String,
    /// The object that is being made, while there is none that is ours.
    pub wanted: Option<Wanted>,
    /// What it says of having been applied, if it says so.
    pub synced: Option<bool>,
    pub children: Vec<Node>,
}

/// An object that is to be made, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    object: Value,
    instance: Value,
}

impl Wanted {
    fn new(own: &Value, instance: &Value) -> Self {
        let [mut object, instance] = [own, instance].map(Value::clone);
        // It is ignored where the object is of the whole cluster.
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = instance["metadata"]["namespace"].clone();
        }
        Self { object, instance }
    }

    pub fn object(&self) -> &Value {
        &self.object
    }

    /// Why it is not made, if an object of its name that is there keeps it from that; `key` is how
    /// that is called. It may also have come while the tree was grown.
    pub fn in_the_way(&self, found: &Value, key: &str) -> Option<String> {
        if tie(found, &self.instance, None).may_apply() || may_adopt(found) {
            return None;
        }
        let name = format!("{} {key}", found["kind"].as_str().unwrap_or_default());
        let owner = ChildRecord::of(found, "", &Projection::default()).owner();
        let why = not_ours(&name, owner.as_deref(), &self.instance);
        Some(
            why.strip_prefix(&format!("{name} "))
                .unwrap_or(&why)
                .to_owned(),
        )
    }
}

/// The tree of an instance, from all objects that could be part of it.
pub(crate) fn grow(compiled: &Compiled, instance: &Value, live: &[&Value]) -> Node {
    grow_all(&[compiled], instance, live)
}

/// The same where several stacks have a part in it.
pub(crate) fn grow_all(stacks: &[&Compiled], instance: &Value, live: &[&Value]) -> Node {
    grown(stacks, instance, live, "", 0)
}

/// Of what is not the first that an instance could not apply: why, it says in its events.
pub(crate) const OTHER: &str = "could not be applied; the events of its instance say why";

/// Of what is not there, where more instances fail than their Stack names.
const PERHAPS: &str =
    "does not exist yet; if the API server rejects it, the events of its instance say why";

/// Instances that make instances that make instances: deeper is a circle.
const DEPTH: usize = 12;

fn grown(
    stacks: &[&Compiled],
    object: &Value,
    live: &[&Value],
    template: &str,
    depth: usize,
) -> Node {
    let mut node = Node {
        template: template.to_owned(),
        object: named(object),
        id: crate::terminal::printer::named(object),
        state: State::Ready,
        note: "ready".to_owned(),
        wanted: None,
        synced: condition(object, "Synced").map(|one| one["status"] == "True"),
        children: Vec::new(),
    };
    let gvk = Gvk::of(object).filter(|_| depth < DEPTH);
    let kind = gvk.and_then(|gvk| {
        stacks
            .iter()
            .find_map(|stack| stack.kind(&gvk).map(|kind| (*stack, kind)))
    });
    let Some((compiled, kind)) = kind else {
        if let Some(note) = unready(object) {
            (node.state, node.note) = (State::Coming, note);
        }
        return node;
    };
    // As its controller sees it: what was there before a field got its default is shown without.
    let mut filled = object.clone();
    kind.fill(&mut filled);
    let object = &filled;
    let observed = children(kind, object, live.iter().copied(), None);
    let (message, unnamed) = match condition(object, "Synced") {
        Some(one) => (
            one["message"]
                .as_str()
                .filter(|_| one["status"] == "False" && one["reason"] != "RenderFailed"),
            false,
        ),
        // Where it has no place for conditions, its stack says what is wrong with it.
        None => match attention(compiled, kind, object, live) {
            Said::Nothing => (None, false),
            Said::Perhaps => (None, true),
            Said::This(message) => (Some(message), false),
        },
    };
    let seed = Seed::new(PREVIEW_SEED);
    let context = Context::new(&compiled.name, &seed);
    let plan = plan(kind, object, &observed, &context);
    let pause = Pause::of(object);
    let is_paused = pause == Pause::On;
    for child in &kind.children {
        let found: Vec<&Value> = match observed.get(&child.name) {
            Some(Value::Array(objects)) => objects.iter().collect(),
            Some(object) => vec![object],
            None => Vec::new(),
        };
        let problem = plan
            .problems
            .iter()
            .find(|problem| problem.template == child.name);
        let hold = plan.holds.iter().find(|hold| hold.template == child.name);
        let waits = hold.map(|hold| {
            let waits: Vec<String> = hold.waits.iter().map(ToString::to_string).collect();
            (State::Waiting, format!("waits for {}", waits.join(", ")))
        });
        let odd = problem
            .map(|problem| {
                (
                    State::Failing,
                    format!("fails: {}", problem.problem.short()),
                )
            })
            .or(waits);
        let wanted: Vec<&Value> = plan
            .applies
            .iter()
            .filter(|apply| apply.template == child.name)
            .map(|apply| &apply.object)
            .collect();
        let refused = |own: &Value| {
            let (first, others) = message.map(not_applied)?;
            let other = || {
                others
                    .contains(&child.name.as_str())
                    .then(|| OTHER.to_owned())
            };
            refusal(first, child, own, object).or_else(other)
        };
        let making = |own: &Value| Some(Wanted::new(own, object));
        if found.is_empty() {
            let no = wanted.iter().find_map(|own| Some((*own, refused(own)?)));
            node.children.extend(match no {
                // Of the others only that they are refused is known, but maybe also what is in
                // their way.
                Some((own, why)) => Some(Node {
                    object: named(own),
                    wanted: making(own).filter(|_| why == OTHER),
                    ..absent(child, State::Failing, why)
                }),
                None if odd.is_none() && is_paused => wanted.first().map(|_| {
                    absent(
                        child,
                        State::Waiting,
                        "is made once nothing is paused".to_owned(),
                    )
                }),
                None if odd.is_none() => wanted.first().map(|own| Node {
                    wanted: making(own),
                    ..absent(
                        child,
                        State::Coming,
                        if unnamed { PERHAPS } else { "is being made" }.to_owned(),
                    )
                }),
                None => odd.clone().map(|(state, note)| absent(child, state, note)),
            });
        }
        for object in found {
            let mut inner = grown(stacks, object, live, &child.name, depth + 1);
            if let Some((state, note)) = &odd {
                (inner.state, inner.note) = (*state, note.clone());
            } else if let Some(why) = refused(object) {
                (inner.state, inner.note) =
                    (State::Failing, format!("its change is refused: {why}"));
            } else if let Some(note) = leaving(kind, &plan, object, refused_template(message, kind))
            {
                (inner.state, inner.note) = (State::Coming, note);
            }
            node.children.push(inner);
        }
    }
    // What templates made that are no longer in the stack.
    for (name, left) in observed
        .iter()
        .filter(|(name, _)| kind.child(name).is_none())
    {
        for object in left
            .as_array()
            .into_iter()
            .flatten()
            .filter(|left| !is_orphan(left))
        {
            let note = leaving(kind, &plan, object, refused_template(message, kind));
            let note =
                note.unwrap_or_else(|| "to be deleted once nothing waits or fails".to_owned());
            node.children.push(Node {
                state: State::Coming,
                note,
                ..grown(stacks, object, live, name, depth + 1)
            });
        }
    }
    let told = plan
        .problems
        .iter()
        .find(|problem| problem.template == "status");
    if let Some(problem) = told {
        (node.state, node.note) = (
            State::Failing,
            format!("its status fails: {}", problem.problem.short()),
        );
    } else if let Some(message) = message {
        (node.state, node.note) = (State::Failing, message.to_owned());
    } else if let Some(worst) = node
        .children
        .iter()
        .find(|child| child.state == State::Failing)
    {
        (node.state, node.note) = (State::Failing, format!("{} fails", worst.template));
    } else if let Some(refused) = condition(object, "Synced").filter(|one| one["status"] == "False")
    {
        let message = refused["message"]
            .as_str()
            .unwrap_or("it could not be applied");
        (node.state, node.note) = (State::Failing, message.to_owned());
    } else if let Some(unready) = node
        .children
        .iter()
        .find(|child| child.state != State::Ready)
    {
        let state = if unready.state == State::Waiting {
            State::Waiting
        } else {
            State::Coming
        };
        (node.state, node.note) = (state, format!("{} is not ready", unready.template));
    } else if let Some(wanted) = plan.status.as_ref().filter(|_| !is_paused)
        && is_behind(&object["status"], wanted, kind.status_subresource)
    {
        (node.state, node.note) = (State::Coming, "its status is being written".to_owned());
    } else if let Some(note) = unready(object) {
        (node.state, node.note) = (State::Coming, note);
    }
    node.note = pause.told(node.note);
    node
}

/// What is to be said of an object that nothing asks for any more, where a template is refused.
fn leaving(
    kind: &CompiledKind,
    plan: &Plan,
    object: &Value,
    refused: Option<&str>,
) -> Option<String> {
    let uid = object["metadata"]["uid"].as_str()?;
    let delete = plan
        .deletes
        .iter()
        .find(|delete| delete.uid == uid)
        .filter(|_| !is_orphan(object))?;
    let kept = kept_by(kind, &delete.template, false, refused.as_slice());
    Some(kept.map_or_else(
        || "is being deleted".to_owned(),
        |refused| format!("to be deleted, held because {refused} is refused"),
    ))
}

/// The template of which an instance says that its object is refused.
fn refused_template<'k>(message: Option<&str>, kind: &'k CompiledKind) -> Option<&'k str> {
    let (file, _) = message?.split_once(':')?;
    let child = kind
        .children
        .iter()
        .find(|child| child.file.rsplit('/').next() == Some(file))?;
    Some(child.name.as_str())
}

/// Why an object of a template is refused, if that is what an instance says of itself: after the
/// file of the template, and perhaps a line and a column there.
fn refusal(message: &str, child: &Child, own: &Value, instance: &Value) -> Option<String> {
    let file = child.file.rsplit('/').next()?;
    let (spot, why) = message.strip_prefix(file)?.split_once(": ")?;
    let is_spot = spot
        .chars()
        .all(|letter| letter == ':' || letter.is_ascii_digit());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, name) = (text(&own["kind"]), text(&own["metadata"]["name"]));
    let namespace = match text(&own["metadata"]["namespace"]) {
        none if none.is_empty() => text(&instance["metadata"]["namespace"]),
        namespace => namespace,
    };
    let begins = [
        format!("{kind} {namespace}/{name} "),
        format!("{kind} {name} "),
    ];
    let of_object = begins
        .iter()
        .find_map(|begin| why.strip_prefix(begin.as_str()));
    // Of several objects of one template, the one that is named is meant.
    let is_meant =
        child.shape == Shape::One || of_object.is_some() || why.contains(&format!("\"{name}\""));
    (is_spot && is_meant).then(|| of_object.unwrap_or(why).to_owned())
}

/// Whether a status is still to be written. Where it is a part of the object like any other, to
/// write it makes another generation of the object, so that what it says of that is always behind.
fn is_behind(live: &Value, wanted: &Value, separate: bool) -> bool {
    let [mut live, mut wanted] = [live, wanted].map(Value::clone);
    if !separate {
        for status in [&mut live, &mut wanted] {
            ageless(status);
            status
                .get_mut("conditions")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
                .for_each(ageless);
        }
    }
    status_patch(&live, &wanted, &Value::Null, "").is_some()
}

fn ageless(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("observedGeneration");
    }
}

fn absent(child: &Child, state: State, note: String) -> Node {
    let object = child.gvk.kind.clone();
    let template = child.name.clone();
    Node {
        template,
        object,
        id: String::new(),
        state,
        note,
        wanted: None,
        synced: None,
        children: Vec::new(),
    }
}

fn named(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!(
        "{}/{}",
        text(&object["kind"]),
        text(&object["metadata"]["name"])
    )
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|one| one["type"] == kind)
}

/// Why an object is not ready, as it is at this moment.
fn unready(object: &Value) -> Option<String> {
    match readiness(object) {
        Readiness::Ready => None,
        Readiness::NotReady { now, .. } => Some(now),
    }
}

/// The instances that people made, of the stack's kinds: those that no other instance made.
pub(crate) fn roots<'l>(compiled: &Compiled, live: &[&'l Value]) -> Vec<&'l Value> {
    let is_own =
        |object: &&&Value| Gvk::of(object).is_some_and(|gvk| compiled.kind(&gvk).is_some());
    live.iter()
        .filter(is_own)
        .filter(|object| controller_of(object).is_none())
        .copied()
        .collect()
}

/// A line of a shown tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub state: State,
    /// The templates that lead to it.
    pub path: String,
    /// What leads to it from its parent.
    pub branch: String,
    /// Its template and its object.
    pub what: String,
    pub note: String,
}

impl Node {
    /// The tree in lines.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        self.add(&mut lines, "", "", "");
        lines
    }

    fn add(&self, lines: &mut Vec<Line>, path: &str, own: &str, below: &str) {
        let path = format!("{path}/{}", self.template);
        let template = if self.template.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.template)
        };
        let what = format!("{template}{}", self.object);
        let note = self.note.clone();
        lines.push(Line {
            state: self.state,
            path: path.clone(),
            branch: own.to_owned(),
            what,
            note,
        });
        for (index, child) in self.children.iter().enumerate() {
            let last = index + 1 == self.children.len();
            let (branch, trunk) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            child.add(
                lines,
                &path,
                &format!("{below}{branch}"),
                &format!("{below}{trunk}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use engine::Shape;
    use serde_json::{Value, json};

    use super::{Wanted, grow, is_behind, refusal, roots};
    use crate::project::Project;

    fn example() -> Project {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/caching-web-service");
        Project::read(&root).unwrap()
    }

    fn object(
        kind: &str,
        name: &str,
        uid: &str,
        parent: Option<(&str, &str)>,
        status: &Value,
    ) -> Value {
        let api_version = if kind == "Deployment" {
            "apps/v1"
        } else {
            "example.org/v1"
        };
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": { "name": name, "namespace": "default", "uid": uid, "generation": 1 },
            "spec": { "nginxVersion": "1", "replicas": 2, "redisVersion": "5" },
        });
        if !status.is_null() {
            object["status"] = status.clone();
        }
        if let Some((uid, template)) = parent {
            object["metadata"]["ownerReferences"] = json!([{ "uid": uid, "controller": true }]);
            object["metadata"]["labels"] = json!({ "stacks.crossplane.io/template": template });
        }
        object
    }

    fn shown(live: &[Value]) -> Vec<String> {
        let project = example();
        let compiled = project.compiled().unwrap();
        let live: Vec<&Value> = live.iter().collect();
        let roots = roots(compiled, &live);
        assert_eq!(roots.len(), 1);
        let lines = grow(compiled, roots[0], &live).lines();
        let told = |line: &super::Line| {
            format!(
                "{:?} {}{}: {}",
                line.state, line.branch, line.what, line.note
            )
        };
        lines.iter().map(told).collect()
    }

    #[test]
    fn what_waits_is_shown_with_what_it_waits_for_and_its_parents_wait_too() {
        let root = object("CachingWebService", "it", "1", None, &json!(null));
        let found = shown(std::slice::from_ref(&root));
        assert_eq!(
            found,
            [
                "Coming CachingWebService/it: cache is not ready",
                "Coming ├─ cache: Redis: is being made",
                "Waiting └─ web: Deployment: waits for cache.status.endpoint (web.yaml:18:27)",
            ]
        );
        let cache = object(
            "Redis",
            "it-cache",
            "2",
            Some(("1", "cache")),
            &json!({ "readyReplicas": 0 }),
        );
        let deployment = object(
            "Deployment",
            "it-cache-redis",
            "3",
            Some(("2", "deployment")),
            &json!(null),
        );
        let found = shown(&[root, cache, deployment]);
        assert_eq!(
            found[2],
            "Coming │  ├─ deployment: Deployment/it-cache-redis: 0 of 2 ready"
        );
        assert_eq!(
            found[1],
            "Coming ├─ cache: Redis/it-cache: deployment is not ready"
        );
        assert!(
            found[4].starts_with("Waiting └─ web: Deployment: waits for cache.status.endpoint"),
            "{found:?}"
        );
    }

    #[test]
    fn where_an_instance_has_no_conditions_its_stack_says_what_is_refused() {
        let project = example();
        let compiled = project.compiled().unwrap();
        let root = object("CachingWebService", "it", "1", None, &json!(null));
        let stack = |kind: &str, name: &str, state: &str, reason: &str| {
            json!({
                "apiVersion": api::API_VERSION, "kind": "Stack",
                "metadata": { "name": compiled.name, "namespace": compiled.namespace },
                "status": { "attention": [{
                    "kind": kind, "state": state, "namespace": "default", "name": name, "reason": reason,
                    "message": "cache.yaml:3:5: Redis.example.org \"it-cache\" is invalid: no",
                }] },
            })
        };
        let kind = "cachingwebservices.example.org";
        for (stack, refused) in [
            (stack(kind, "it", "Failing", "ApplyFailed"), true),
            (stack(kind, "other", "Failing", "ApplyFailed"), false),
            (
                stack("redises.example.org", "it", "Failing", "ApplyFailed"),
                false,
            ),
            (stack(kind, "it", "Waiting", "Waiting"), false),
            (stack(kind, "it", "Failing", "RenderFailed"), false),
        ] {
            let found = shown(&[root.clone(), stack.clone()]);
            let expected = if refused {
                "Failing ├─ cache: Redis/it-cache: Redis.example.org \"it-cache\" is invalid: no"
            } else {
                "Coming ├─ cache: Redis: is being made"
            };
            assert_eq!(found[1], expected, "{stack}");
        }
    }

    #[test]
    fn what_an_instance_says_of_a_refusal_is_said_of_the_object_that_is_refused() {
        let synced = |reason: &str, message: &str| json!({ "conditions": [{ "type": "Synced", "status": "False", "reason": reason, "message": message }] });
        let refused = synced(
            "ApplyFailed",
            "cache.yaml:3:5: Redis.example.org \"it-cache\" is invalid: no",
        );
        let root = object("CachingWebService", "it", "1", None, &refused);
        let cache = object(
            "Redis",
            "it-cache",
            "2",
            Some(("1", "cache")),
            &json!({ "endpoint": "here" }),
        );
        let found = shown(&[root.clone(), cache]);
        assert_eq!(
            found[1],
            "Failing ├─ cache: Redis/it-cache: its change is refused: Redis.example.org \"it-cache\" is invalid: no"
        );
        assert!(
            found[0].starts_with("Failing CachingWebService/it: cache.yaml:3:5: Redis.example.org"),
            "{found:?}"
        );
        let found = shown(&[root]);
        assert!(
            found[1].starts_with("Failing ├─ cache: Redis/it-cache: Redis.example.org"),
            "{found:?}"
        );
        let other = synced(
            "NotOurs",
            "cache.yaml: Redis default/it-cache exists and is not ours: delete it",
        );
        let found = shown(&[object("CachingWebService", "it", "1", None, &other)]);
        assert_eq!(
            found[1],
            "Failing ├─ cache: Redis/it-cache: exists and is not ours: delete it"
        );
        let project = example();
        let kinds = &project.compiled().unwrap().kinds;
        let mut cache = kinds
            .iter()
            .find_map(|kind| kind.child("cache"))
            .unwrap()
            .clone();
        let instance = json!({ "metadata": { "namespace": "default" } });
        let own = json!({ "kind": "Redis", "metadata": { "name": "it" } });
        for (shape, message, expected) in [
            (
                Shape::One,
                "cache.yaml: `\"a b\"` is no key",
                Some("`\"a b\"` is no key"),
            ),
            (Shape::One, "cache.yaml:1:2: no: never", Some("no: never")),
            (Shape::One, "cache.yamls: no", None),
            (Shape::One, "web.yaml: no", None),
            (
                Shape::Collection,
                "cache.yaml: Redis \"it\" is invalid",
                Some("Redis \"it\" is invalid"),
            ),
            (
                Shape::Collection,
                "cache.yaml: Redis default/it belongs to a",
                Some("belongs to a"),
            ),
            (
                Shape::Collection,
                "cache.yaml: Redis \"it-too\" is invalid",
                None,
            ),
        ] {
            cache.shape = shape;
            assert_eq!(
                refusal(message, &cache, &own, &instance).as_deref(),
                expected,
                "{message}"
            );
        }
    }

    #[test]
    fn of_several_that_are_refused_each_is_failing_and_none_is_being_made() {
        let message = "web.yaml: Deployment default/it belongs to Other default/a: give it another name; also not applied: cache";
        let status = json!({ "conditions": [{ "type": "Synced", "status": "False", "reason": "NotOurs", "message": message }] });
        let root = object("CachingWebService", "it", "1", None, &status);
        assert_eq!(
            shown(&[root])[1],
            "Failing ├─ cache: Redis/it-cache: could not be applied; the events of its instance say why"
        );
    }

    #[test]
    fn an_object_of_another_instance_is_in_the_way_and_one_that_may_be_taken_over_is_not() {
        let instance = object("Web", "it", "1", None, &json!(null));
        let own = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "bbb" } });
        let wanted = Wanted::new(&own, &instance);
        assert_eq!(wanted.object()["metadata"]["namespace"], "default");
        let found = |more: Value| {
            let mut found = json!({ "kind": "ConfigMap", "metadata": { "name": "bbb", "namespace": "default" } });
            found["metadata"]
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            wanted.in_the_way(&found, "default/bbb")
        };
        let owned = |uid: &str| {
            json!({
                "ownerReferences": [{ "apiVersion": "example.org/v1", "kind": "Web", "name": "first", "uid": uid, "controller": true }],
                "labels": {
                    "stacks.crossplane.io/template": "bbb", "core.crossplane.io/parent-kind": "Web",
                    "core.crossplane.io/parent-name": "first", "core.crossplane.io/parent-namespace": "default",
                },
            })
        };
        let theirs = found(owned("2")).unwrap();
        assert!(
            theirs.starts_with("belongs to Web default/first: put `{{ .metadata.name }}`"),
            "{theirs}"
        );
        assert_eq!(found(owned("1")), None);
        assert!(
            found(json!({}))
                .unwrap()
                .starts_with("exists and is not ours: delete it")
        );
        assert_eq!(
            found(json!({ "annotations": { "stacks.crossplane.io/adopt": "true" } })),
            None
        );
    }

    #[test]
    fn a_paused_instance_is_told_to_be_so_and_one_that_is_misspelt_is_not_paused() {
        let status = json!({ "endpoint": "here", "readyReplicas": 1 });
        for (word, first, second) in [
            (
                "true",
                "Waiting CachingWebService/it: paused: cache is not ready",
                "Waiting ├─ cache: Redis: is made once nothing is paused",
            ),
            (
                "false",
                "Coming CachingWebService/it: cache is not ready",
                "Coming ├─ cache: Redis: is being made",
            ),
            (
                "yes",
                "Coming CachingWebService/it: cache is not ready (not paused: write stacks.crossplane.io/paused: \"true\" instead of \"yes\")",
                "Coming ├─ cache: Redis: is being made",
            ),
        ] {
            let mut root = object("CachingWebService", "it", "1", None, &status);
            root["metadata"]["annotations"] = json!({ "stacks.crossplane.io/paused": word });
            let found = shown(&[root]);
            assert_eq!((found[0].as_str(), found[1].as_str()), (first, second));
        }
        // Whatever its status should say, nobody writes it.
        let mut redis = object(
            "Redis",
            "it",
            "1",
            None,
            &json!({ "endpoint": "old", "readyReplicas": 0 }),
        );
        redis["metadata"]["annotations"] = json!({ "stacks.crossplane.io/paused": "true" });
        let project = example();
        let node = grow(project.compiled().unwrap(), &redis, &[]);
        assert!(
            node.note.starts_with("paused: ") && !node.note.contains("written"),
            "{}",
            node.note
        );
    }

    #[test]
    fn what_is_to_go_is_told_with_what_keeps_it() {
        let message = "web.yaml:1:1: Deployment.apps \"it-web\" is invalid: no";
        let refused = json!({ "conditions": [
            { "type": "Synced", "status": "False", "reason": "ApplyFailed", "message": message },
        ] });
        for (status, expected) in [
            (
                refused,
                "Coming └─ gone: Redis/it-gone: to be deleted, held because web is refused",
            ),
            (
                json!(null),
                "Coming └─ gone: Redis/it-gone: is being deleted",
            ),
        ] {
            let root = object("CachingWebService", "it", "1", None, &status);
            let cache = object(
                "Redis",
                "it-cache",
                "2",
                Some(("1", "cache")),
                &json!({ "endpoint": "here" }),
            );
            let gone = object(
                "Redis",
                "it-gone",
                "3",
                Some(("1", "gone")),
                &json!({ "endpoint": "here" }),
            );
            let found = shown(&[root, cache, gone]);
            assert!(
                found.iter().any(|line| line.starts_with(expected)),
                "{found:#?}"
            );
        }
    }

    #[test]
    fn a_status_that_is_no_part_of_its_own_is_not_behind_for_its_generation() {
        let status = |generation: i64| json!({ "conditions": [{ "type": "Ready", "observedGeneration": generation, "lastTransitionTime": "t" }] });
        assert!(is_behind(&status(1), &status(2), true));
        assert!(!is_behind(&status(1), &status(2), false));
        assert!(is_behind(&json!({}), &status(2), false));
    }

    #[test]
    fn a_state_of_a_parent_is_the_worst_of_its_children() {
        let mut root = object("CachingWebService", "it", "1", None, &json!(null));
        root["spec"].as_object_mut().unwrap().remove("nginxVersion");
        let mut cache = object(
            "Redis",
            "it-cache",
            "2",
            Some(("1", "cache")),
            &json!({ "endpoint": "here" }),
        );
        cache["spec"] = json!({});
        let found = shown(&[root, cache]);
        assert!(
            found[0].starts_with("Failing CachingWebService/it: "),
            "{found:?}"
        );
    }
}
