//! Compiling a stack: everything that can be known of its templates before there is an instance.

mod branches;
mod dry_run;
mod endless;
pub(crate) mod functions;
mod identity;
mod order;
mod permissions;
pub(crate) mod projection;
mod reads;
pub(crate) mod schema_check;
pub(crate) mod secret_sources;
pub(crate) mod source_map;
pub(crate) mod top_level_fields;
mod unset_fields;
pub(crate) mod yaml_error;

pub(crate) use dry_run::HALF;

use std::collections::BTreeSet;
use std::sync::Arc;

use gotpl::{Analysis, Set};
use objects::{Gvk, Schema, nearest};

use crate::budget::{self, Meter, Purse};
use crate::problem::{Place, Problem, Severity};
use crate::stack::{Kind, Source, Stack};
use functions::{options, partial};
use projection::{Projection, Projections};
use source_map::Origins;

/// A compiled stack.
#[derive(Debug)]
pub struct Compiled {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The kinds it owns.
    pub kinds: Vec<CompiledKind>,
}

impl Compiled {
    /// The kind of that name, in its one templated version.
    pub fn kind(&self, gvk: &Gvk) -> Option<&CompiledKind> {
        self.kinds.iter().find(|kind| kind.gvk == *gvk)
    }

    /// Every kind its templates can make.
    pub fn rendered(&self) -> BTreeSet<&Gvk> {
        self.kinds
            .iter()
            .flat_map(|kind| &kind.children)
            .map(|child| &child.gvk)
            .collect()
    }
}

/// A kind and what its instances become.
#[derive(Debug)]
pub struct CompiledKind {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Its name in URLs.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What its objects look like.
    pub schema: Option<Schema>,
    /// Whether status is a subresource.
    pub status_subresource: bool,
    /// Its children, in the order they are made.
    pub children: Vec<Child>,
    /// Whether a child's template reads the instance's own status.
    pub reads_own_status: bool,
    /// Whether the texts of its templates tell everything that they can read.
    pub(crate) is_closed: bool,
    pub(crate) status: Option<String>,
    pub(crate) set: Set,
    pub(crate) origins: Origins,
}

impl CompiledKind {
    /// Fills in the defaults of the kind's schema. The API server does so when an object is read,
    /// but objects that a watch has shown before the schema got a default are without it.
    pub fn fill(&self, instance: &mut serde_json::Value) {
        if let Some(schema) = &self.schema {
            schema.fill(instance);
        }
    }

    /// The child that a template makes.
    pub fn child(&self, name: &str) -> Option<&Child> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The file of the status template, if there is one.
    pub fn status_file(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// Whether the order of deletion matters.
    pub fn is_ordered(&self) -> bool {
        self.children.iter().any(|child| !child.reads.is_empty())
    }
}

/// What one template makes.
#[derive(Clone, Debug)]
pub struct Child {
    /// The name of the template.
    pub name: String,
    /// The kind of its object or objects.
    pub gvk: Gvk,
    /// One object or several.
    pub shape: Shape,
    /// The siblings it reads.
    pub reads: BTreeSet<String>,
    /// Whether it reads its own object as it is now.
    pub(crate) reads_itself: bool,
    /// Whether it prints all of its data at once (`toYaml .`), and so every sibling.
    pub prints_all: bool,
    /// What its schema is, if this very stack owns its kind, or else if it is known.
    pub(crate) schema: Option<Arc<Schema>>,
    /// For a collection: what its name reads, and where.
    pub(crate) named_by: Vec<(objects::Path, Place)>,
    /// The file it comes from.
    pub file: String,
    /// What the templates of its kind can read of its object or objects.
    pub view: Projection,
    /// Whether this very stack makes what it is of, and so says of each whether it is ready.
    pub(crate) tells_ready: bool,
    /// Where its kind stands, if every instance makes one, whatever its fields say.
    pub(crate) always: Option<Place>,
}

impl Child {
    /// What is known of the fields of its object or objects.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_deref()
    }
}

/// How many objects a template makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One at most, with a name that only the instance's own identity decides.
    One,
    /// Any number, told apart by their names.
    Collection,
}

/// What is known of a kind that a stack makes but does not own; none if nothing is.
pub type Known<'k> = &'k dyn Fn(&Gvk) -> Option<Arc<Schema>>;

/// Compiles a stack. All problems are found at once; there is no result if one of them is an error.
pub fn compile(stack: &Stack) -> (Option<Compiled>, Vec<Problem>) {
    compile_knowing(stack, &|_| None)
}

/// The same with the schemas of kinds that the stack does not own: slips in what it makes of them,
/// and in what it reads of them, are found without asking an API server.
pub fn compile_knowing(stack: &Stack, known: Known<'_>) -> (Option<Compiled>, Vec<Problem>) {
    compile_within(stack, known, &Meter::new(budget::COMPILE))
}

/// The same within a budget for the whole stack, and with the caller's clock. A stack that spends
/// it has one problem, which names the template and what was spent; [`Meter::over`] tells that this
/// is why. By a budget of work it is always so for this stack; by time it may be otherwise on
/// another day.
pub fn compile_within(
    stack: &Stack,
    known: Known<'_>,
    meter: &Meter<'_>,
) -> (Option<Compiled>, Vec<Problem>) {
    let purse = Purse::new(meter);
    let mut problems = Vec::new();
    let mut partials = Set::with_options(options());
    for ((key, name), source) in &stack.partials {
        if !purse.spend(&source.file, parsing(source)) {
            break;
        }
        match partials.parse(&source.file, &source.text) {
            Ok(()) => partials.alias(&partial(key, name), &source.file),
            Err(error) => problems.push(parse_problem(&error, source, &partials)),
        }
    }
    let compiler = Compiler {
        stack,
        partials,
        known,
        purse,
    };
    let kinds: Vec<_> = stack
        .kinds
        .iter()
        .map_while(|kind| compiler.kind(kind, &mut problems))
        .collect();
    if let Some(over) = compiler.purse.over() {
        // What was found of the others is not all, and may not even be so.
        return (None, vec![over]);
    }
    endless::check(&kinds, &mut problems);
    problems.sort();
    problems.dedup();
    let failed = problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    let compiled = Compiled {
        name: stack.name.clone(),
        namespace: stack.namespace.clone(),
        kinds,
    };
    ((!failed).then_some(compiled), problems)
}

struct Compiler<'s> {
    stack: &'s Stack,
    partials: Set,
    known: Known<'s>,
    purse: Purse<'s>,
}

/// The units of work of parsing a source.
fn parsing(source: &Source) -> u64 {
    const BYTE: u64 = 100;
    BYTE.saturating_mul(source.text.len() as u64)
}

impl Compiler<'_> {
    /// A kind; none once the budget is spent.
    fn kind(&self, kind: &Kind, problems: &mut Vec<Problem>) -> Option<CompiledKind> {
        let purse = &self.purse;
        let shared = self.stack.partials.values().fold(0, |sum: u64, source| {
            sum.saturating_add(source.text.len() as u64)
        });
        if !purse.spend(&kind.gvk.kind, shared) {
            return None;
        }
        let mut set = self.partials.clone();
        let parsed = |source: &Source, set: &mut Set, problems: &mut Vec<Problem>| {
            if !purse.spend(&source.file, parsing(source)) {
                return false;
            }
            match set.parse(&source.file, &source.text) {
                Ok(()) => true,
                Err(error) => {
                    problems.push(parse_problem(&error, source, set));
                    false
                }
            }
        };
        let mut usable: Vec<(&String, &Source)> = Vec::new();
        for (name, source) in &kind.templates {
            reserved(kind, name, source, problems);
            if parsed(source, &mut set, problems) {
                usable.push((name, source));
            }
        }
        let status = kind
            .status
            .as_ref()
            .filter(|source| parsed(source, &mut set, problems));

        // What each child is has to be known of all before the reads of any can be judged.
        let origins = Origins::of(
            kind.templates
                .values()
                .chain(&kind.status)
                .chain(self.stack.partials.values()),
        );
        let mut children: Vec<Child> = Vec::new();
        let mut identities: Vec<identity::Identity> = Vec::new();
        for (name, source) in &usable {
            let Some(sketch) = dry_run::Sketch::of(&set, source, &origins, purse) else {
                continue;
            };
            let before = problems.len();
            let identity = identity::find(&sketch, problems);
            let mut in_branches = Vec::new();
            let assumed = match &identity {
                None if problems.len() > before => Vec::new(),
                _ => branches::sketches(&set, source, &origins, purse, &mut in_branches),
            };
            if let Some(found) = identity {
                let owned = self.stack.kinds.iter().find(|kind| kind.gvk == found.gvk);
                let schema = match owned {
                    Some(kind) => kind.schema.clone().map(Arc::new),
                    None => (self.known)(&found.gvk),
                };
                let checked = match (&schema, owned) {
                    (None, None) => Some(Arc::new(top_level_fields::schema(&found.gvk))),
                    _ => schema.clone(),
                };
                unset_fields::check(&sketch, kind, problems);
                let made = checked.as_ref().map(|schema| {
                    let (owned, instance) = (owned.is_some(), kind.schema.as_ref());
                    schema_check::Made {
                        gvk: &found.gvk,
                        schema,
                        owned,
                        known: self.known,
                        instance,
                    }
                });
                schema_check::child(&sketch, &sketch.documents(), made.as_ref(), problems);
                schema_check::forbidden(&sketch, &sketch.documents(), problems);
                for (sketch, documents) in &assumed {
                    schema_check::child(sketch, documents, made.as_ref(), &mut in_branches);
                }
                twins(&children, &identities, &found, problems);
                children.push(Child {
                    name: (*name).clone(),
                    gvk: found.gvk.clone(),
                    shape: found.shape.clone(),
                    reads: BTreeSet::new(),
                    reads_itself: false,
                    prints_all: false,
                    schema,
                    named_by: found.named_by.clone(),
                    file: source.file.clone(),
                    view: Projection::default(),
                    tells_ready: owned.is_some_and(Kind::tells_ready),
                    always: sketch.is_always().then(|| found.places.kind.clone()),
                });
                permissions::check(self.stack, &found, problems);
                if kind.namespaced
                    && objects::builtin_kind(&found.gvk).is_some_and(|known| !known.namespaced)
                {
                    let what = format!(
                        "a namespaced {} cannot make a {}, which belongs to no namespace",
                        kind.gvk.kind, found.gvk.kind
                    );
                    problems.push(Problem::at(found.places.kind.clone(), what).hint(
                        "make the CRD cluster-scoped, or leave this object to an administrator",
                    ));
                }
                identities.push(found);
            }
            problems.extend(self.softened(in_branches));
        }
        if let Some((source, sketch)) = status
            .and_then(|source| Some((source, dry_run::Sketch::of(&set, source, &origins, purse)?)))
            && schema_check::status(&sketch, kind, problems)
        {
            let mut in_branches = Vec::new();
            for (sketch, _) in branches::sketches(&set, source, &origins, purse, &mut in_branches) {
                schema_check::status(&sketch, kind, &mut in_branches);
            }
            problems.extend(self.softened(in_branches));
        }
        let names: BTreeSet<&str> = kind.templates.keys().map(String::as_str).collect();
        let scene = reads::Scene {
            kind,
            names: &names,
            children: &children,
            stack: self.stack,
        };
        let mut edges = Vec::new();
        let mut reads_own_status = false;
        let sources = kind
            .templates
            .values()
            .chain(&kind.status)
            .chain(self.stack.partials.values());
        let mut views = Projections::new(
            children
                .iter()
                .map(|child| (child.name.as_str(), &child.shape)),
            sources.map(|source| source.text.as_str()),
        );
        for (name, source) in &usable {
            let Some(analysis) = self.analysed(&set, source, problems) else {
                continue;
            };
            views.add(&analysis);
            let mut found = reads::check(&scene, Some(name), &analysis, problems);
            if found.prints_all {
                // It shows every sibling, so it comes after all that can be made without it.
                let others = kind.templates.keys().filter(|other| other != name);
                for other in others {
                    found.siblings.entry(other.clone()).or_default();
                }
            }
            reads_own_status |= found.own_status;
            edges.push(((*name).clone(), found));
        }
        if let Some(source) = status
            && let Some(analysis) = self.analysed(&set, source, problems)
        {
            views.add(&analysis);
            reads::check(&scene, None, &analysis, problems);
        }
        if purse.over().is_some() {
            return None;
        }
        let is_closed = views.is_closed();
        let seen: Vec<Projection> = children.iter().map(|child| views.of(&child.name)).collect();
        for (child, view) in children.iter_mut().zip(seen) {
            child.view = view;
        }
        for child in &mut children {
            if let Some((_, found)) = edges.iter().find(|(name, _)| *name == child.name) {
                child.reads = found.siblings.keys().cloned().collect();
                child.reads_itself = found.itself;
                child.prints_all = found.prints_all;
            }
        }
        let children = order::ordered(children, &edges, problems);
        Some(CompiledKind {
            gvk: kind.gvk.clone(),
            plural: kind.plural.clone(),
            namespaced: kind.namespaced,
            schema: kind.schema.clone(),
            status_subresource: kind.status_subresource,
            children,
            reads_own_status,
            is_closed,
            status: status.map(|source| source.file.clone()),
            set,
            origins,
        })
    }

    /// What is wrong in a branch concerns the instances that take it: where a stack runs already,
    /// the others go on.
    fn softened(&self, in_branches: Vec<Problem>) -> impl Iterator<Item = Problem> {
        let recorded = self.stack.recorded;
        in_branches
            .into_iter()
            .map(move |problem| if recorded { problem.warning() } else { problem })
    }

    /// What a template can do, and what is wrong with its calls.
    fn analysed(
        &self,
        set: &Set,
        source: &Source,
        problems: &mut Vec<Problem>,
    ) -> Option<Analysis> {
        let purse = &self.purse;
        let analysis = match purse.spending(&source.file, || {
            set.analyze_within(&source.file, purse.meter)
        }) {
            Ok(analysis) => analysis,
            Err(error) => {
                if !purse.is_over(&error) {
                    problems.push(Problem::of(&error));
                }
                return None;
            }
        };
        // Every read is looked for in every use.
        let trace = &analysis.trace;
        let used = trace.uses.iter().fold(0, |sum: u64, end| {
            sum.saturating_add(1 + end.reads.len() as u64)
        });
        if !purse.spend(
            &source.file,
            4 * used.saturating_mul(trace.reads.len() as u64),
        ) {
            return None;
        }
        for call in &analysis.calls {
            if call.function.name == "lookup" {
                let what = "`lookup` is not available to templates of a stack: they see their instance and its children";
                problems.push(
                    Problem::at(&call.site, what)
                        .hint("add a template for the object, or a field to the spec"),
                );
            }
            if !call.arity_fits {
                let takes = match call.function.rest {
                    Some(_) => format!("at least {}", call.function.params.len()),
                    None => call.function.params.len().to_string(),
                };
                let what = format!(
                    "`{}` takes {takes} arguments, not {}",
                    call.function.name, call.arguments
                );
                problems.push(Problem::at(&call.site, what));
            }
        }
        for named in &analysis.templates {
            let joined = named.then.as_ref().map(|then| partial(&named.name, then));
            if !set.contains(&named.name)
                && !joined.as_ref().is_some_and(|joined| set.contains(joined))
            {
                let name = joined.unwrap_or_else(|| named.name.clone());
                let known: Vec<&str> = set.names().filter(|name| *name != source.file).collect();
                let problem = Problem::at(
                    &named.site,
                    format!("there is no template {name:?} to include"),
                );
                let elsewhere = self
                    .stack
                    .partials
                    .keys()
                    .find(|(_, partial)| *partial == named.name);
                problems.push(match elsewhere {
                    Some((key, name)) => {
                        problem.hint(format!("did you mean `include {key:?} {name:?} .`?"))
                    }
                    None => match nearest(&name, known.iter().copied())
                        .or_else(|| nearest(&named.name, known))
                    {
                        Some(near) => problem.hint(format!("did you mean {near:?}?")),
                        None => problem.hint(
                            "put it into a .tpl file in the templates folder, or define it in one",
                        ),
                    },
                });
            }
        }
        let said = |error: &gotpl::Error| {
            error.message().contains("no template")
                || error.message().contains("wrong number of args")
        };
        for failure in analysis
            .trace
            .failures
            .iter()
            .filter(|failure| failure.certain && !said(&failure.error))
        {
            problems.push(Problem::of(&failure.error));
        }
        Some(analysis)
    }
}

/// Two templates must not make the same object: each would undo what the other does.
fn twins(
    children: &[Child],
    identities: &[identity::Identity],
    found: &identity::Identity,
    problems: &mut Vec<Problem>,
) {
    let same = |other: &identity::Identity| {
        other.gvk == found.gvk && other.name == found.name && found.name.is_some()
    };
    if let Some(at) = identities.iter().position(same) {
        let what = format!(
            "this makes the same {} as template {:?}",
            found.gvk.kind, children[at].name
        );
        problems.push(
            Problem::at(found.places.name.clone(), what)
                .hint("give one of them another metadata.name"),
        );
    }
}

/// A template is a variable to its siblings, and must not hide a field of the instance.
fn reserved(kind: &Kind, name: &str, source: &Source, problems: &mut Vec<Problem>) {
    let place = Place {
        file: source.file.clone(),
        line: 1,
        column: None,
    };
    let own_field = ["apiVersion", "kind", "metadata", "spec", "status", "errors"].contains(&name)
        || kind
            .schema
            .as_ref()
            .is_some_and(|schema| schema.properties.contains_key(name));
    if own_field {
        let what = format!(
            "a template cannot be called {name:?}: templates read `.{name}` as a field of the instance"
        );
        problems.push(Problem::at(place, what).hint("rename the file"));
    }
}

/// A source that does not parse; for an unknown function, the one that was probably meant.
fn parse_problem(error: &gotpl::Error, source: &Source, set: &Set) -> Problem {
    // What is left open makes Go stumble over something else, later: only the opening helps.
    if let Some(unclosed) = error.unclosed() {
        return Problem::at(&unclosed.place, unclosed.to_string());
    }
    let problem = Problem::of(error);
    if error.message() == "bad character U+002D '-'"
        && let Some(written) = problem
            .place
            .as_ref()
            .and_then(|place| reads::dashed(&source.text, place))
    {
        return problem.hint(format!(
            "a name with a dash is read with `index`: `{written}`"
        ));
    }
    let name = error
        .message()
        .strip_prefix("function \"")
        .and_then(|rest| rest.strip_suffix("\" not defined"));
    match name {
        Some(name @ ("env" | "expandenv" | "getHostByName")) => problem.hint(format!(
            "`{name}` is left out on purpose: a template must not read the controller's machine"
        )),
        Some("elseif" | "elif" | "elsif") => problem.hint("write `else if`"),
        Some(name) => match nearest(name, set.functions()) {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None => problem.hint("docs/functions.md lists all functions"),
        },
        None => problem,
    }
}
