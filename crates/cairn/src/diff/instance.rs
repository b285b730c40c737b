//! Comparing: what a package would make of the instances that are there, or of one from a file,
//! beside what is there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use api::names::{field_manager, label_value};
use api::{Crd, Metadata, PermissionScope, Stack, annotations, key, labels};
use engine::children::desired::{
    Owns, controller_of, desired, is_orphan, may_adopt, owns, status_patch,
};
use engine::children::ownership::tie;
use engine::{Apply, Compiled, CompiledKind, Context, Observed, Plan, Seed, Shape, kept_by, plan};
use install::reconcile::install::Install;
use install::{NamespacedCrds, Parent};
use objects::{Gvk, Key, Resource};
use serde_json::{Value, json};

use super::package::{changes, merged, notes};
use super::placed::{Wish, fate, relevant};
use super::text::{masked, plain};
use super::{Action, Difference, Instance, Object};
use crate::cluster::dry_run::{Reader, Tried};
use crate::commands::render::PREVIEW_SEED;
use crate::inspect::{children, is_kept_out, resource};
use crate::project::Project;
use crate::terminal::error::Failure;
use crate::terminal::finding::Finding;

/// What can be made is made in one go; no chain of children is longer than this.
const PASSES: usize = 20;

/// What a comparison is about.
#[derive(Default)]
pub(crate) struct Asked<'a> {
    /// The namespace, if not all.
    pub namespace: Option<&'a str>,
    /// One instance, as the API server would store it, in place of all that are there.
    pub instance: Option<&'a Value>,
    /// The name of a stack that is not installed yet.
    pub name: &'a str,
    /// The namespace that kubectl means where none is named.
    pub context: &'a str,
    /// What the stack manager lets namespaced installs bring, as far as that is known.
    pub namespaced: NamespacedCrds,
}

/// Compares a package with what is installed of it: once for each Stack of its kinds.
pub(crate) async fn compare(
    reader: &Reader,
    project: &Project,
    asked: &Asked<'_>,
) -> Result<Vec<Difference>, Failure> {
    project.compiled()?;
    let live = reader.crds().await?;
    let place = asked
        .instance
        .and_then(|instance| instance["metadata"]["namespace"].as_str())
        .or(asked.namespace);
    let own = project.package.owned();
    let is_of_kinds = |stack: &&Stack| {
        let (owned, _) = key::owned(&stack.spec.customresourcedefinitions, &live);
        owned.iter().any(|kind| {
            own.iter()
                .any(|own| own.group == kind.group && own.kind == kind.kind)
        })
    };
    let wide = |stack: &Stack| stack.spec.app.permission_scope == PermissionScope::Cluster;
    let is_here =
        |stack: &&Stack| wide(stack) || place.is_none_or(|place| stack.metadata.namespace == place);
    let all = reader.stacks("").await?;
    let (serving, kept_out): (Vec<&Stack>, Vec<&Stack>) = all
        .iter()
        .filter(is_of_kinds)
        .filter(is_here)
        .partition(|stack| !is_kept_out(stack));
    // What another serves is not for one that is kept out to change.
    let mut stacks: Vec<Option<&Stack>> = if serving.is_empty() {
        kept_out
    } else {
        serving
    }
    .into_iter()
    .map(Some)
    .collect();
    if stacks.is_empty() {
        // One of the same name is what it takes the place of, though it has other kinds.
        stacks.push(
            all.iter()
                .filter(is_here)
                .find(|stack| stack.metadata.name == asked.name),
        );
    }
    let mut found = Vec::new();
    for stack in stacks {
        let mut difference = of_stack(
            reader,
            project,
            asked,
            &live,
            stack,
            place.unwrap_or("default"),
        )
        .await?;
        if let (None, Some(place)) = (stack, place) {
            let elsewhere = all
                .iter()
                .filter(is_of_kinds)
                .map(|stack| stack.metadata.namespace.as_str());
            difference
                .notes
                .extend(nowhere(reader, place, &elsewhere.collect()).await);
        }
        found.push(difference);
    }
    Ok(found)
}

/// What should be known of a place in which a package is not installed, and where it is.
async fn nowhere(reader: &Reader, place: &str, elsewhere: &BTreeSet<&str>) -> Vec<String> {
    let spaces = Resource::cluster("", "v1", "Namespace", "namespaces");
    // Who may not look is told nothing.
    let is_there = !matches!(reader.get(&spaces, &Key::new("", place)).await, Ok(None));
    let missing = (!is_there).then(|| format!("there is no namespace {place}"));
    let installed = (!elsewhere.is_empty()).then(|| {
        let places: Vec<&str> = elsewhere.iter().copied().collect();
        format!(
            "it is installed in {}: `-n` names a namespace",
            places.join(", ")
        )
    });
    missing.into_iter().chain(installed).collect()
}

async fn of_stack(
    reader: &Reader,
    project: &Project,
    asked: &Asked<'_>,
    live: &[Crd],
    stack: Option<&Stack>,
    place: &str,
) -> Result<Difference, Failure> {
    let package = &project.package;
    let at = stack.map_or(Key::new(place, asked.name), |stack| {
        Key::new(&stack.metadata.namespace, &stack.metadata.name)
    });
    let own: Vec<&Crd> = package.crds.iter().map(|file| &file.crd).collect();
    // As its controller would read it, so that it draws the same values.
    let mut record = package.stack.clone();
    record.metadata = Metadata {
        name: at.name.clone(),
        namespace: at.namespace.clone(),
        ..Metadata::default()
    };
    let types: Vec<Crd> = own.iter().copied().cloned().collect();
    let (compiled, _) = engine::compile(&engine::Stack::recorded(&record, &types).0);
    let compiled = compiled
        .ok_or_else(|| Failure::new(format!("{} does not compile", project.dir.display())))?;
    let app = stack.map_or(&package.app, |stack| &stack.spec.app);
    let wide = app.permission_scope == PermissionScope::Cluster;
    let made = compiled.kinds.iter().flat_map(|kind| &kind.children);
    let secrets = made
        .filter(|child| child.gvk.kind == "Secret")
        .map(|child| child.name.as_str())
        .collect();
    let (old, place) = (
        stack.map(|stack| &stack.spec),
        if wide { "" } else { at.namespace.as_str() },
    );
    let install = reader.install(&at, wide).await.ok().flatten();
    let unknown = || Parent {
        scope: app.permission_scope,
        namespace: place.to_owned(),
        name: at.name.clone(),
        uid: String::new(),
    };
    let parent = install.as_ref().map_or_else(unknown, Install::parent);
    let version = &package.app.version;
    let namespaced = asked.namespaced;
    let wish = Wish {
        crds: &own,
        version,
        install: install.as_ref(),
        parent: &parent,
        namespaced,
    };
    let definitions = relevant(live, &wish);
    let fate = fate(reader, &wish, &definitions).await;
    let mut difference = Difference {
        stack: stack.map(|_| at.to_string()),
        install: super::show::named(&at, wide, asked.context),
        package: changes(old, &package.stack.spec, &fate, &secrets),
        notes: notes(&fate.placed, &parent)
            .into_iter()
            .chain(fate.notes)
            .collect(),
        ..Difference::default()
    };
    let seed = match stack {
        Some(_) => reader.seed(&at).await,
        None => None,
    };
    if stack.is_some() && seed.is_none() {
        let what = format!(
            "the seed of {at} may not be read: values that templates draw look as if they changed"
        );
        difference.notes.push(what);
    }
    let known: Vec<Crd> = own.into_iter().chain(live).cloned().collect();
    let ever = stack
        .and_then(|stack| stack.status.as_ref())
        .into_iter()
        .flat_map(|status| &status.rendered_kinds);
    let ever = ever
        .filter_map(|kind| Gvk::of(&json!({ "apiVersion": kind.api_version, "kind": kind.kind })));
    let rendered: BTreeSet<Gvk> = compiled
        .rendered()
        .into_iter()
        .cloned()
        .chain(ever)
        .collect();
    let scope = stack.filter(|stack| stack.spec.app.permission_scope == PermissionScope::Cluster);
    let scope = if scope.is_some() {
        asked.namespace.unwrap_or_default()
    } else {
        at.namespace.as_str()
    };
    let mut objects = Vec::new();
    let label = format!("{}={}", labels::STACK, label_value(&at.name));
    for kind in rendered.iter().filter_map(|gvk| resource(gvk, &known)) {
        let namespace = if kind.namespaced { scope } else { "" };
        objects.extend(reader.list(&kind, namespace, &label).await?);
    }
    let mut instances = Vec::new();
    for kind in compiled
        .kinds
        .iter()
        .filter_map(|kind| resource(&kind.gvk, live))
    {
        let namespace = if kind.namespaced { scope } else { "" };
        instances.extend(reader.list(&kind, namespace, "").await?);
    }
    let comparison = Comparison {
        reader,
        compiled: &compiled,
        manager: field_manager(&at.namespace, &at.name),
        known_seed: seed.is_some(),
        seed: Seed::new(seed.unwrap_or_else(|| PREVIEW_SEED.to_vec())),
        live: objects,
        crds: known,
    };
    difference.instances = comparison.run(instances, asked.instance).await?;
    Ok(difference)
}

struct Comparison<'c> {
    reader: &'c Reader,
    compiled: &'c Compiled,
    manager: String,
    known_seed: bool,
    seed: Seed,
    /// All that the stack has made.
    live: Vec<Value>,
    crds: Vec<Crd>,
}

type Place = (Gvk, Key);

fn place_of(object: &Value) -> Option<Place> {
    Some((Gvk::of(object)?, Key::of(object)))
}

/// The work on one instance.
struct Work<'w> {
    kind: &'w CompiledKind,
    instance: &'w Value,
    found: Vec<Object>,
    /// What became of each object that was tried.
    tried: BTreeMap<Place, Value>,
    /// Instances of this very stack among what it makes.
    nested: Vec<Value>,
}

impl Comparison<'_> {
    async fn run(&self, live: Vec<Value>, one: Option<&Value>) -> Result<Vec<Instance>, Failure> {
        let mut queue: VecDeque<Value> = match one {
            Some(one) => VecDeque::from([stored(one, &live)]),
            // What nobody made comes first: it decides what the others are.
            None => {
                let (made, free): (Vec<_>, Vec<_>) = live
                    .into_iter()
                    .partition(|own| controller_of(own).is_some());
                free.into_iter().chain(made).collect()
            }
        };
        let mut done = BTreeSet::new();
        let mut found = Vec::new();
        while let Some(object) = queue.pop_front() {
            let Some(place) = place_of(&object) else {
                continue;
            };
            let Some(kind) = self
                .compiled
                .kind(&place.0)
                .filter(|_| done.insert(place.clone()))
            else {
                continue;
            };
            if !object["metadata"]["deletionTimestamp"].is_null() {
                continue;
            }
            let (instance, nested) = self.instance(kind, object).await?;
            found.push(instance);
            for inner in nested.into_iter().rev() {
                queue.push_front(inner);
            }
        }
        Ok(found)
    }

    fn context(&self) -> Context<'_> {
        Context::new(&self.compiled.name, &self.seed)
    }

    async fn instance(
        &self,
        kind: &CompiledKind,
        mut instance: Value,
    ) -> Result<(Instance, Vec<Value>), Failure> {
        let before = instance.clone();
        let invalid = kind
            .schema
            .as_ref()
            .map(|schema| schema.admit(&mut instance))
            .unwrap_or_default();
        let mut work = Work {
            kind,
            instance: &instance,
            found: Vec::new(),
            tried: BTreeMap::new(),
            nested: Vec::new(),
        };
        if !invalid.is_empty() {
            let why = invalid
                .iter()
                .map(|one| format!("the type would no longer take it: {one}"))
                .collect();
            work.found.push(object(Action::Refuse, "", &instance, why));
        }
        let mut observed = children(kind, &instance, &self.live, self.checked());
        let context = self.context();
        let mut made = plan(kind, &instance, &observed, &context);
        for _ in 0..PASSES {
            let mut news = false;
            for apply in &made.applies {
                news |= self.apply(&mut work, apply, &mut observed).await?;
            }
            if !news {
                break;
            }
            made = plan(kind, &instance, &observed, &context);
        }
        self.rest(&mut work, &made);
        self.status(&mut work, &made, &before);
        let text = |field: &str| {
            instance["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let Work { found, nested, .. } = work;
        let told = Instance {
            kind: kind.gvk.kind.clone(),
            namespace: text("namespace"),
            name: text("name"),
            objects: found,
        };
        Ok((told, nested))
    }

    /// Tries an object of a plan; answers whether that was news.
    async fn apply(
        &self,
        work: &mut Work<'_>,
        apply: &Apply,
        observed: &mut Observed,
    ) -> Result<bool, Failure> {
        let Some(child) = work.kind.child(&apply.template) else {
            return Ok(false);
        };
        let known = resource(&child.gvk, &self.crds);
        let namespaced = known.as_ref().is_none_or(|kind| kind.namespaced);
        let place = (
            child.gvk.clone(),
            Key::of(&desired(
                &apply.object,
                work.instance,
                namespaced,
                &self.seed,
                None,
            )),
        );
        let live = match &known {
            Some(kind) => self.there(kind, &place).await?,
            None => None,
        };
        let uid = live
            .as_ref()
            .and_then(|live| live["metadata"]["uid"].as_str());
        let wanted = desired(&apply.object, work.instance, namespaced, &self.seed, uid);
        if work.tried.get(&place) == Some(&wanted) {
            return Ok(false);
        }
        work.tried.insert(place.clone(), wanted.clone());
        let template = &apply.template;
        let same = |object: &Object| object.template == *template && object.name == place.1.name;
        work.found.retain(|object| !same(object));
        let is_mine =
            |live: &Value| tie(live, work.instance, self.checked()).may_apply() || may_adopt(live);
        if let Some(live) = live.as_ref().filter(|live| !is_mine(live)) {
            let why = format!(
                "it exists and is not ours (let it be taken over: {}: \"true\")",
                annotations::ADOPT
            );
            work.found
                .push(object(Action::Refuse, template, live, vec![why]));
            return Ok(true);
        }
        let after = match (&known, &live) {
            (Some(_), Some(live)) if self.is_in_place(live, &wanted) => live.clone(),
            (Some(kind), live) => {
                let mut wanted = wanted.clone();
                if let Some(live) = live {
                    wanted["metadata"]["uid"] = live["metadata"]["uid"].clone();
                }
                match self
                    .reader
                    .try_out(kind, &wanted, &self.manager, live.is_some())
                    .await?
                {
                    Tried::Done(after) => *after,
                    Tried::Unknown => wanted,
                    // What others read of it stays what it was.
                    Tried::Refused(why) => {
                        let context = self.context();
                        let made = (template.as_str(), &apply.object);
                        let why = engine::hidden(
                            work.kind,
                            work.instance,
                            observed,
                            &context,
                            made,
                            &why,
                        );
                        work.found
                            .push(object(Action::Refuse, template, &wanted, vec![why]));
                        return Ok(true);
                    }
                }
            }
            (None, _) => wanted.clone(),
        };
        if let Some(change) = changed(template, live.as_ref(), &after, &apply.object) {
            work.found.push(change);
        }
        see(observed, child.shape == Shape::Collection, template, &after);
        if self.compiled.kind(&child.gvk).is_some() {
            work.nested
                .retain(|inner| place_of(inner).as_ref() != Some(&place));
            work.nested.push(after);
        }
        Ok(true)
    }

    /// The object at a place, if there is one.
    async fn there(&self, kind: &Resource, place: &Place) -> Result<Option<Value>, Failure> {
        let known = self
            .live
            .iter()
            .find(|live| place_of(live).as_ref() == Some(place));
        match known {
            Some(known) => Ok(Some(known.clone())),
            None => self.reader.get(kind, &place.1).await,
        }
    }

    /// The seed, if it is that of the stack.
    fn checked(&self) -> Option<&Seed> {
        self.known_seed.then_some(&self.seed)
    }

    /// Whether a live object is what was applied last and nobody has changed it since.
    fn is_in_place(&self, live: &Value, wanted: &Value) -> bool {
        let hash =
            |object: &Value| object["metadata"]["annotations"][annotations::DESIRED_HASH].clone();
        self.known_seed
            && hash(live) == hash(wanted)
            && owns(&managed(live, "Apply", &self.manager), wanted, None) != Owns::No
    }

    /// What waits, what fails, and what goes.
    fn rest(&self, work: &mut Work<'_>, made: &Plan) {
        let kind = work.kind;
        let nameless = |template: &str| {
            let gvk = kind.child(template).map(|child| child.gvk.clone());
            let gvk = gvk.unwrap_or_else(|| kind.gvk.clone());
            json!({ "apiVersion": gvk.api_version().to_string(), "kind": gvk.kind })
        };
        let refused = |found: &&Object| found.action == Action::Refuse;
        let failed: Vec<String> = work
            .found
            .iter()
            .filter(refused)
            .map(|found| found.template.clone())
            .collect();
        let failed: Vec<&str> = failed.iter().map(String::as_str).collect();
        for hold in &made.holds {
            let why = hold
                .waits
                .iter()
                .map(|wait| format!("waits for {wait}"))
                .collect();
            work.found.push(object(
                Action::Hold,
                &hold.template,
                &nameless(&hold.template),
                why,
            ));
        }
        for problem in &made.problems {
            let mut finding = Finding::from(&problem.problem);
            // A Stack knows no directories.
            if !finding.file.is_empty() {
                finding.file = format!(".registry/templates/{}", finding.file);
            }
            let hint = finding.hint.iter().map(|hint| format!("hint: {hint}"));
            let why = std::iter::once(finding.to_string()).chain(hint).collect();
            work.found.push(object(
                Action::Refuse,
                &problem.template,
                &nameless(&problem.template),
                why,
            ));
        }
        // What becomes of an instance that its own type would not take, nobody knows.
        if failed.contains(&"") {
            return;
        }
        let is_made =
            |live: &Value| place_of(live).is_some_and(|place| work.tried.contains_key(&place));
        let mine = self
            .live
            .iter()
            .filter(|live| tie(live, work.instance, self.checked()).may_delete());
        let could_go =
            |live: &&Value| !is_orphan(live) && live["metadata"]["deletionTimestamp"].is_null();
        // What another template makes now is not left over.
        let left: Vec<&Value> = mine
            .filter(could_go)
            .filter(|live| !is_made(live))
            .collect();
        for live in left {
            let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
            let doomed = made
                .deletes
                .iter()
                .find(|delete| delete.uid == uid)
                .map(|delete| delete.template.clone());
            let label = live["metadata"]["labels"][labels::TEMPLATE]
                .as_str()
                .unwrap_or_default();
            let moved = || {
                // The template makes an object of another name or kind now.
                let child = kind
                    .children
                    .iter()
                    .find(|child| label_value(&child.name) == label)?;
                let elsewhere = child.shape == Shape::One
                    && made
                        .applies
                        .iter()
                        .any(|apply| apply.template == child.name);
                elsewhere.then(|| child.name.clone())
            };
            let doomed = doomed.map(|template| (template, false));
            let doomed = doomed.or_else(|| Some((moved()?, true)));
            let kept = doomed
                .as_ref()
                .and_then(|(template, moved)| kept_by(kind, template, *moved, &failed));
            if let (Some((template, _)), Some(refused)) = (&doomed, kept) {
                let why = format!("it is to be deleted, and stays as long as {refused} is refused");
                work.found
                    .push(object(Action::Hold, template, live, vec![why]));
            } else if let Some((template, _)) = doomed {
                let (before, _) = masked(Some(&plain(live)), None);
                work.found.push(Object {
                    before,
                    ..object(Action::Delete, &template, live, Vec::new())
                });
            } else if !kind
                .children
                .iter()
                .any(|child| label_value(&child.name) == label)
            {
                let why =
                    "its template is gone, and it goes once nothing waits any more".to_owned();
                work.found
                    .push(object(Action::Hold, label, live, vec![why]));
            }
        }
    }

    /// What would be written into the instance's own status.
    fn status(&self, work: &mut Work<'_>, made: &Plan, before: &Value) {
        // What comes of an object that is refused, nobody knows.
        if work
            .found
            .iter()
            .any(|found| found.action == Action::Refuse)
        {
            return;
        }
        // Where there is nothing to say, what was said before goes.
        let wanted = made.status.clone().unwrap_or_else(|| json!({}));
        let owned = status_fields(before, &self.manager);
        let Some(patch) = status_patch(&before["status"], &wanted, &owned, "") else {
            return;
        };
        let of = |status: Value| json!({ "status": status });
        let (old, new) = (
            plain(&of(before["status"].clone())),
            plain(&of(merged(&before["status"], &patch))),
        );
        let is_new = before["status"].is_null();
        if old != new {
            let before = Some(old).filter(|_| !is_new);
            let action = if is_new {
                Action::Create
            } else {
                Action::Update
            };
            work.found.push(Object {
                before,
                after: Some(new),
                ..object(action, "status", work.instance, Vec::new())
            });
        }
    }
}

/// An instance from a file, as it would be beside what the cluster has of it.
fn stored(one: &Value, live: &[Value]) -> Value {
    let mut object = one.clone();
    let Some(there) = live.iter().find(|live| place_of(live) == place_of(one)) else {
        return object;
    };
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "ownerReferences",
        "finalizers",
        "managedFields",
    ] {
        if !there["metadata"][field].is_null() {
            object["metadata"][field] = there["metadata"][field].clone();
        }
    }
    for field in ["labels", "annotations"] {
        object["metadata"][field] = merged(&there["metadata"][field], &one["metadata"][field]);
    }
    if !there["status"].is_null() {
        object["status"] = there["status"].clone();
    }
    object
}

/// What an object becomes; none if nothing.
fn changed(
    template: &str,
    live: Option<&Value>,
    after: &Value,
    rendered: &Value,
) -> Option<Object> {
    let Some(live) = live else {
        // What the server adds to something new is of no interest, nor is whose it is.
        let mut shown = plain(rendered);
        if let Some(metadata) = shown["metadata"].as_object_mut() {
            metadata.remove("ownerReferences");
        }
        let (_, after) = masked(None, Some(&shown));
        return Some(Object {
            after,
            ..object(Action::Create, template, rendered, Vec::new())
        });
    };
    let (old, new) = (plain(live), plain(after));
    let (before, after) = masked(Some(&old), Some(&new));
    (old != new).then(|| Object {
        before,
        after,
        ..object(Action::Update, template, live, Vec::new())
    })
}

fn object(action: Action, template: &str, of: &Value, why: Vec<String>) -> Object {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Object {
        action,
        template: template.to_owned(),
        api_version: text(&of["apiVersion"]),
        kind: text(&of["kind"]),
        name: text(&of["metadata"]["name"]),
        before: None,
        after: None,
        why,
    }
}

/// The fields that a manager owns.
fn managed(live: &Value, operation: &str, manager: &str) -> Value {
    let entries = live["metadata"]["managedFields"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mine = entries
        .iter()
        .find(|entry| entry["operation"] == operation && entry["manager"] == manager);
    mine.map(|entry| entry["fieldsV1"].clone())
        .unwrap_or_default()
}

/// The fields of a status that a manager owns. What it wrote elsewhere in the object has an entry
/// of its own.
fn status_fields(live: &Value, manager: &str) -> Value {
    let entries = live["metadata"]["managedFields"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut mine = entries
        .iter()
        .filter(|entry| entry["operation"] == "Update" && entry["manager"] == manager);
    mine.find_map(|entry| entry["fieldsV1"].get("f:status").cloned())
        .unwrap_or_default()
}

/// Puts an object among the observed ones.
fn see(observed: &mut Observed, collection: bool, template: &str, object: &Value) {
    if !collection {
        observed.insert(template.to_owned(), object.clone());
        return;
    }
    if let Value::Array(list) = observed
        .entry(template.to_owned())
        .or_insert_with(|| json!([]))
    {
        list.retain(|other| place_of(other) != place_of(object));
        list.push(object.clone());
    }
}
