//! What becomes of one template of an instance: made, nothing, waiting, or failed.
//!
//! Pending is not absent: a live object goes only because its inputs say so, never because an input
//! is not there yet.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use gotpl::{
    Error, Input, Output, Path, Presence, Read, Run, Site, Span, Step, Trace, UseKind, Watch,
};
use serde_json::Value;

use super::redaction::Secrets;
use super::{Context, Observed, Wait, objects, text as text_of, value_structure};
use crate::budget::{self, Meter, Purse};
use crate::compile::{Child, CompiledKind, Shape};
use crate::problem::{Place, Problem};
use crate::random::Fixed;

/// What becomes of a template.
pub(crate) enum Verdict {
    /// These objects are to be there.
    Make(Vec<Value>),
    /// On complete inputs there is nothing to make.
    Nothing,
    /// Not all inputs are there yet.
    Wait(Vec<Wait>),
    /// It cannot be made as things are.
    Fail(Vec<Problem>),
}

/// Everything that rendering an instance needs.
pub(crate) struct Renderer<'r> {
    pub kind: &'r CompiledKind,
    pub instance: &'r Value,
    pub observed: &'r Observed,
    pub context: &'r Context<'r>,
    pub host: Fixed<'r>,
    purse: Purse<'r>,
    none: Value,
    /// What must not be told, as far as watched runs have seen it.
    secrets: RefCell<Secrets>,
    /// The files of which a watched run has ended by itself: what is secret in them is known.
    watched: RefCell<BTreeSet<String>>,
}

/// Who a missing value belongs to.
enum Owner<'n> {
    /// The instance's status, which fills as it goes.
    OwnStatus,
    /// The rest of the instance, which is its user's to fill.
    Own,
    /// The child itself, which may not be there yet.
    Myself,
    /// Another child.
    Sibling(&'n str),
}

/// What the missing reads of a run come to.
#[derive(Default)]
struct Findings {
    /// Of the user's own fields: an error.
    lacking: Vec<Problem>,
    /// Of siblings, in the text or under a function that failed.
    needed: Vec<Wait>,
    /// Of siblings that are there, deciding a branch.
    deciding: Vec<Wait>,
    /// Of siblings that are expected but not there, however they were read.
    pending: Vec<Wait>,
}

impl<'r> Renderer<'r> {
    /// What it costs is counted by the meter of the context, or by `own` if that has none.
    pub fn new(
        kind: &'r CompiledKind,
        instance: &'r Value,
        observed: &'r Observed,
        context: &'r Context<'r>,
        own: &'r Meter<'r>,
    ) -> Self {
        let host = Fixed::new(context.seed, instance);
        let purse = Purse::new(context.meter.unwrap_or(own));
        Renderer {
            kind,
            instance,
            observed,
            context,
            host,
            purse,
            none: Value::Array(Vec::new()),
            secrets: RefCell::default(),
            watched: RefCell::default(),
        }
    }

    /// Whether the budget is spent.
    pub fn over(&self) -> bool {
        self.purse.over().is_some()
    }

    /// What is wrong with a template that failed; that the budget is spent, if that is why.
    pub fn problem(&self, error: &Error) -> Problem {
        self.purse
            .over()
            .filter(|_| error.over().is_some())
            .unwrap_or_else(|| Problem::of(error))
    }

    /// The siblings as templates see them: a collection is always a list.
    pub fn siblings(&self) -> Vec<(&str, &Value)> {
        let seen = |child: &'r Child| match (self.observed.get(&child.name), &child.shape) {
            (Some(value), _) => Some(value),
            (None, Shape::Collection) => Some(&self.none),
            (None, Shape::One) => None,
        };
        // The lifetime of `none` is that of the renderer, which outlives every run.
        self.kind
            .children
            .iter()
            .filter_map(|child| seen(child).map(|value| (child.name.as_str(), value)))
            .collect()
    }

    pub fn run(
        &self,
        source: &str,
        over: &[(&str, &Value)],
        watch: Watch<'_>,
        forgiving: bool,
    ) -> Result<Output, (Box<Error>, Box<Trace>)> {
        let secret = |path: &Path| self.is_secret(path);
        let run = Run {
            host: &self.host,
            meter: Some(self.purse.meter),
            watch,
            no_value: "",
            forgiving,
            secret: Some(&secret),
            ..Run::new(&self.kind.set)
        };
        let result = self.purse.spending(source, || {
            run.trace(source, &Input::with(self.instance, over))
        });
        let result = result.map_err(|(error, trace)| {
            self.purse.is_over(&error);
            (error, Box::new(trace.unwrap_or_default()))
        });
        let trace = match &result {
            Ok(output) => output.trace.as_ref(),
            Err((_, trace)) => Some(&**trace),
        };
        let is_over = result
            .as_ref()
            .is_err_and(|(error, _)| error.over().is_some());
        if matches!(watch, Watch::Closely) && !is_over && !self.watched.borrow().contains(source) {
            self.watched.borrow_mut().insert(source.to_owned());
        }
        if let Some(trace) = trace {
            let mut secrets = self.secrets.borrow_mut();
            trace.secrets.iter().for_each(|secret| secrets.add(secret));
        }
        result
    }

    /// Whether what stands at a path of the data is a value of a Secret, or has one in it.
    fn is_secret(&self, path: &Path) -> bool {
        let mut steps = path.0.iter();
        let Some(Step::Key(root)) = steps.next() else {
            return false;
        };
        if !self.kind.child(root).is_some_and(makes_secrets) {
            return false;
        }
        match steps.find(|step| matches!(step, Step::Key(_))) {
            Some(Step::Key(field)) => matches!(&**field, "data" | "stringData"),
            _ => true,
        }
    }

    /// Problems of a template without anything secret in them.
    pub fn hidden(&self, source: &str, problems: Vec<Problem>) -> Vec<Problem> {
        let child = self.kind.children.iter().find(|child| child.file == source);
        let over = self.purse.over();
        // That the budget is spent is said in words of ours.
        if problems
            .iter()
            .all(|problem| Some(problem) == over.as_ref())
        {
            return problems;
        }
        let is_known = match child.is_some_and(makes_secrets) {
            // All that a template of a Secret prints is secret.
            true => self.keep_printed(source),
            false => self.is_watched(source),
        };
        let hide = |problem: Problem| match is_known {
            true => Problem {
                what: self.told(&problem.what),
                hint: problem.hint.as_deref().map(|hint| self.told(hint)),
                ..problem
            },
            // It is unknown which parts are secret.
            false => Problem {
                what: WITHHELD.to_owned(),
                ..problem
            }
            .hint(budget::HINT),
        };
        problems.into_iter().map(hide).collect()
    }

    /// Whether all that is secret in a template is known, which takes a watched run. Most failures
    /// had one already.
    fn is_watched(&self, source: &str) -> bool {
        if !self.watched.borrow().contains(source) {
            // If it fails by something else than the budget, what it reads up to there is known.
            let _ = self.run(source, &self.siblings(), Watch::Closely, false);
        }
        self.watched.borrow().contains(source)
    }

    /// Treats everything that a template prints from data as secret; returns whether that is known.
    fn keep_printed(&self, source: &str) -> bool {
        let run = self.run(source, &self.siblings(), Watch::Closely, true);
        let Ok(Output {
            text,
            trace: Some(trace),
            ..
        }) = run
        else {
            // What fails has printed nothing that the failure could quote.
            return run.is_err_and(|(error, _)| error.over().is_none());
        };
        let mut secrets = self.secrets.borrow_mut();
        for span in trace.spans.iter().filter(|span| !span.reads.is_empty()) {
            secrets.add(text.get(span.start..span.end).unwrap_or_default());
        }
        true
    }

    /// Takes for secret the keys and scalars of a text that something secret was printed into, as
    /// they are read.
    pub fn keep_scalars(&self, text: &str, trace: &Trace) {
        let is_secret = |span: &&Span| trace.reads_of(&span.reads).any(|read| read.secret);
        let spans: Vec<&Span> = trace.spans.iter().filter(is_secret).collect();
        let mut secrets = self.secrets.borrow_mut();
        for document in yaml::documents(text).unwrap_or_default() {
            let Ok(parsed) = yaml::parse_spanned(&document.text) else {
                continue;
            };
            for scalar in parsed.spans.scalars() {
                let (start, end) = (
                    document.start + scalar.span.start,
                    document.start + scalar.span.end,
                );
                if spans
                    .iter()
                    .any(|span| span.start < end && span.end > start)
                {
                    let found =
                        scalar
                            .path
                            .iter()
                            .try_fold(&parsed.value, |value, step| match step {
                                yaml::Step::Key(key) => value.get(&**key),
                                yaml::Step::Index(index) => value.get(*index),
                            });
                    found.into_iter().for_each(|value| secrets.add_all(value));
                }
            }
        }
    }

    /// Takes what an object has for secret, if it is a Secret.
    pub fn keep_object(&self, child: &Child, object: &Value) {
        let mut secrets = self.secrets.borrow_mut();
        if makes_secrets(child) {
            ["data", "stringData"]
                .iter()
                .filter_map(|field| object.get(field))
                .for_each(|field| secrets.add_all(field));
        }
    }

    /// A message without anything secret, as far as watched runs have seen it.
    pub fn told(&self, message: &str) -> String {
        let mut secrets = self.secrets.borrow_mut();
        if secrets.is_empty() {
            return message.to_owned();
        }
        for path in ["/kind", "/metadata/name", "/metadata/namespace"] {
            secrets.publish(&text_of(self.instance, path));
        }
        WORDS.iter().for_each(|words| secrets.publish(words));
        for child in &self.kind.children {
            secrets.publish(&format!("{:?} {}", child.gvk.kind, child.name));
        }
        for child in self
            .kind
            .children
            .iter()
            .filter(|child| !makes_secrets(child))
        {
            secrets.publish(self.kind.origins.text(&child.file).unwrap_or_default());
        }
        secrets.hide(message)
    }

    /// What becomes of a child, given what became of those before it.
    pub fn verdict(&self, child: &Child, before: &BTreeMap<String, Verdict>) -> Verdict {
        match self.judged(child, before) {
            Verdict::Fail(problems) => Verdict::Fail(self.hidden(&child.file, problems)),
            Verdict::Wait(waits) => {
                let hide = |wait: Wait| Wait {
                    path: self.told(&wait.path),
                    ..wait
                };
                Verdict::Wait(waits.into_iter().map(hide).collect())
            }
            verdict => verdict,
        }
    }

    fn judged(&self, child: &Child, before: &BTreeMap<String, Verdict>) -> Verdict {
        let over = self.siblings();
        // Most runs miss nothing, and are done after one plain pass. One that prints all its data
        // at once does not even notice that a sibling is not in it.
        if !child.prints_all {
            match self.run(&child.file, &over, Watch::Lightly, false) {
                Ok(output) if !output.missing && !output.nil_text && !output.risky => {
                    return self.made(child, &output.text);
                }
                Err((error, _)) if error.over().is_some() => {
                    return Verdict::Fail(vec![self.problem(&error)]);
                }
                _ => {}
            }
        }
        let (result, trace) = match self.run(&child.file, &over, Watch::Closely, false) {
            Ok(output) => (Ok(output.text), output.trace.unwrap_or_default()),
            Err((error, _)) if error.over().is_some() => {
                return Verdict::Fail(vec![self.problem(&error)]);
            }
            // A failure ends the run at the first value it misses; going on past it tells of the
            // others too.
            Err((error, trace)) => {
                let further = self
                    .run(&child.file, &over, Watch::Closely, true)
                    .ok()
                    .and_then(|output| output.trace);
                (Err(error), further.unwrap_or(*trace))
            }
        };
        let mut findings = self.findings(child, &trace, before);
        let nils = self.nils(child, &trace, &mut findings);
        if let Err(error) = &result
            && error.message().starts_with("error calling required: ")
            && findings.needed.is_empty()
        {
            return Verdict::Fail(vec![Problem::of(error)]);
        }
        if !findings.lacking.is_empty() {
            return Verdict::Fail(findings.lacking);
        }
        if !findings.needed.is_empty() {
            return Verdict::Wait(sorted(findings.needed));
        }
        let text = match result {
            Ok(text) => text,
            Err(error) => return Verdict::Fail(vec![failed(&error, &trace)]),
        };
        if !nils.is_empty() {
            return Verdict::Fail(nils);
        }
        let exists = self
            .observed
            .get(&child.name)
            .is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()));
        if !findings.pending.is_empty() && (exists || objects::is_nothing(&text)) {
            return Verdict::Wait(sorted(findings.pending));
        }
        if !findings.deciding.is_empty() && objects::is_nothing(&text) {
            return Verdict::Wait(sorted(findings.deciding));
        }
        // Text that is not UTF-8 is told as such.
        let breaches = std::str::from_utf8(&text)
            .map(|text| value_structure::breaches(text, &trace))
            .unwrap_or_default();
        if !breaches.is_empty() {
            return Verdict::Fail(breaches);
        }
        self.made(child, &text)
    }

    fn made(&self, child: &Child, text: &[u8]) -> Verdict {
        match objects::read(self, child, text) {
            Ok(objects) if objects.is_empty() => Verdict::Nothing,
            Ok(objects) => Verdict::Make(objects),
            Err(problems) => Verdict::Fail(problems),
        }
    }

    fn findings(
        &self,
        child: &Child,
        trace: &Trace,
        before: &BTreeMap<String, Verdict>,
    ) -> Findings {
        let mut findings = Findings::default();
        for (index, read) in trace.reads.iter().enumerate() {
            let ends = |kinds: &[UseKind]| {
                trace
                    .uses
                    .iter()
                    .any(|end| kinds.contains(&end.kind) && end.reads.contains(&index))
            };
            let reaches_text = ends(&[UseKind::Text, UseKind::Failure]);
            if read.path.0.is_empty() && read.presence != Presence::Drawn {
                for end in trace.uses.iter().filter(|end| {
                    matches!(end.kind, UseKind::Text | UseKind::Failure)
                        && end.reads.contains(&index)
                }) {
                    self.whole(child, &end.site, before, &mut findings);
                }
            }
            if read.presence != Presence::Missing {
                continue;
            }
            let wait = || Wait {
                path: read.path.to_string(),
                place: Place::from(&read.site),
            };
            match self.owner(child, read) {
                // An object that is there must not go because it has not said something of itself
                // yet.
                Owner::Myself
                    if self.observed.contains_key(&child.name) && ends(&[UseKind::Branch]) =>
                {
                    findings.deciding.push(wait());
                }
                Owner::OwnStatus | Owner::Myself => {}
                Owner::Own if reaches_text => findings.lacking.push(lacking(read)),
                Owner::Own => {}
                Owner::Sibling(name) if self.observed.contains_key(name) => {
                    if reaches_text {
                        findings.needed.push(wait());
                    } else if ends(&[UseKind::Branch]) {
                        findings.deciding.push(wait());
                    }
                }
                Owner::Sibling(name) if matches!(before.get(name), Some(Verdict::Nothing)) => {}
                Owner::Sibling(_) if reaches_text => findings.needed.push(wait()),
                Owner::Sibling(_) => findings.pending.push(wait()),
            }
        }
        findings
    }

    /// Go's word for nothing in the text, which must not reach the API. A sibling that is there may
    /// still say more.
    fn nils(&self, child: &Child, trace: &Trace, findings: &mut Findings) -> Vec<Problem> {
        let mut problems = Vec::new();
        let printed: BTreeSet<usize> = trace
            .spans
            .iter()
            .filter(|span| span.start < span.end)
            .flat_map(|span| span.nils.iter().copied())
            .collect();
        for nil in printed.iter().filter_map(|index| trace.nils.get(*index)) {
            let Some(read) = trace.reads.get(nil.read) else {
                continue;
            };
            match self.owner(child, read) {
                Owner::Sibling(name) if self.observed.contains_key(name) => {
                    findings.needed.push(Wait {
                        path: read.path.to_string(),
                        place: Place::from(&read.site),
                    });
                }
                _ => problems.push(nil_problem(read, nil.function)),
            }
        }
        problems
    }

    /// The whole of the data in the text: that is every sibling, the missing ones too.
    fn whole(
        &self,
        child: &Child,
        site: &Site,
        before: &BTreeMap<String, Verdict>,
        findings: &mut Findings,
    ) {
        for other in self
            .kind
            .children
            .iter()
            .filter(|other| other.name != child.name && other.shape == Shape::One)
        {
            if !self.observed.contains_key(&other.name)
                && !matches!(before.get(&other.name), Some(Verdict::Nothing))
            {
                findings.needed.push(Wait {
                    path: other.name.clone(),
                    place: Place::from(site),
                });
            }
        }
    }

    fn owner<'n>(&self, child: &Child, read: &'n Read) -> Owner<'n> {
        match read.path.0.first() {
            Some(Step::Key(root)) if **root == *child.name => Owner::Myself,
            Some(Step::Key(root)) if self.kind.child(root).is_some() => Owner::Sibling(root),
            Some(Step::Key(root)) if &**root == "status" => Owner::OwnStatus,
            _ => Owner::Own,
        }
    }
}

/// The text of a failure in place of its message, if the secret parts of that are unknown.
const WITHHELD: &str =
    "it failed; the message is withheld, because finding the secret values in it went over budget";

/// What the API server says of anything: a secret that happens to have such words in it does not
/// make them secret.
const WORDS: [&str; 4] = [
    " is invalid: Invalid value: Required value: Unsupported value: Duplicate value: Forbidden: Not found: Too long: ",
    " field is immutable must be a valid must be no more than characters in body should match should be at least ",
    "metadata.name metadata.labels metadata.annotations spec.template.spec.containers[0].env[0].value ",
    " would change the structure of the YAML: its text does not stay in one scalar is not YAML: , in the line ",
];

/// Whether a template makes Secrets.
fn makes_secrets(child: &Child) -> bool {
    child.gvk.group.is_empty() && child.gvk.kind == "Secret"
}

fn nil_problem(read: &Read, function: Option<&str>) -> Problem {
    let printer = function.map_or_else(String::new, |name| format!("`{name}` "));
    let what = format!(
        "`.{}` is nil, and {printer}would print `<nil>` for it",
        read.path
    );
    Problem::at(&read.site, what).hint(guard(read))
}

fn guard(read: &Read) -> String {
    format!(
        "write `.{} | default ...`, or put it under an `if`",
        read.path
    )
}

/// A failure; if it is over something that is not there, and will not be, with what that is.
fn failed(error: &Error, trace: &Trace) -> Problem {
    let problem = Problem::of(error);
    let over = trace
        .uses
        .iter()
        .rev()
        .find(|end| end.kind == UseKind::Failure);
    let missing = over.and_then(|end| {
        trace
            .reads_of(&end.reads)
            .filter(|read| read.presence == Presence::Missing)
            .last()
    });
    match missing {
        Some(read) => problem.hint(format!("`.{}` is nil here: {}", read.path, guard(read))),
        None => problem,
    }
}

fn lacking(read: &Read) -> Problem {
    let steps = &read.path.0;
    let problem = Problem::at(&read.site, format!("`.{}` is not set", read.path));
    // In a loop the author writes the last part only, and the schema knows of no numbers.
    let item = steps
        .iter()
        .rposition(|step| matches!(step, Step::Index(_)));
    let written: String = match item {
        Some(at) if at + 1 < steps.len() => steps[at + 1..]
            .iter()
            .map(|step| format!(".{}", named(step)))
            .collect(),
        Some(_) => ".".to_string(),
        None => format!(".{}", read.path),
    };
    let described: Vec<String> = steps.iter().map(|step| named(step).to_string()).collect();
    let described = described.join(".").replace(".[]", "[]");
    let default = if item.is_some() {
        format!("`{described}` a default")
    } else {
        "it a default".to_string()
    };
    problem.hint(format!(
        "set it in the instance, give {default} in the CRD, or write `{written} | default ...`"
    ))
}

fn named(step: &Step) -> &str {
    match step {
        Step::Key(key) => key,
        Step::Index(_) | Step::Any => "[]",
    }
}

fn sorted(mut waits: Vec<Wait>) -> Vec<Wait> {
    waits.sort();
    waits.dedup();
    // `db` and `db.status` are on the way to `db.status.endpoint`: only the end of the way is worth
    // telling.
    let on_the_way = |wait: &Wait| {
        waits.iter().any(|other| {
            other.place == wait.place
                && other.path.len() > wait.path.len()
                && other.path.starts_with(&wait.path)
        })
    };
    let ends: Vec<Wait> = waits
        .iter()
        .filter(|wait| !on_the_way(wait))
        .cloned()
        .collect();
    ends
}
