//! What becomes of one template of an instance: made, nothing, waiting, or failed.
//!
//! Pending is not absent: a live object goes only because its inputs say so, never because an input is not there yet.

use std::collections::{BTreeMap, BTreeSet};

use gotpl::{Error, Input, Output, Presence, Read, Run, Site, Step, Trace, UseKind, Watch};
use serde_json::Value;

use crate::budget::{Meter, Purse};
use crate::compile::{Child, CompiledKind, Shape};
use crate::plan::{Context, Observed, Wait, object};
use crate::problem::{Place, Problem};
use crate::seed::Fixed;

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
        Renderer { kind, instance, observed, context, host, purse, none: Value::Array(Vec::new()) }
    }

    /// Whether the budget is spent.
    pub fn over(&self) -> bool {
        self.purse.over().is_some()
    }

    /// What is wrong with a template that failed; that the budget is spent, if that is why.
    pub fn problem(&self, error: &Error) -> Problem {
        self.purse.over().filter(|_| error.over().is_some()).unwrap_or_else(|| Problem::of(error))
    }

    /// The siblings as templates see them: a collection is always a list.
    pub fn siblings(&self) -> Vec<(&str, &Value)> {
        let seen = |child: &'r Child| match (self.observed.get(&child.name), &child.shape) {
            (Some(value), _) => Some(value),
            (None, Shape::Collection) => Some(&self.none),
            (None, Shape::One) => None,
        };
        // The lifetime of `none` is that of the renderer, which outlives every run.
        self.kind.children.iter().filter_map(|child| seen(child).map(|value| (child.name.as_str(), value))).collect()
    }

    pub fn run(
        &self,
        source: &str,
        over: &[(&str, &Value)],
        watch: Watch<'_>,
        forgiving: bool,
    ) -> Result<Output, (Box<Error>, Box<Trace>)> {
        let run = Run {
            host: &self.host,
            meter: Some(self.purse.meter),
            watch,
            no_value: "",
            forgiving,
            ..Run::new(&self.kind.set)
        };
        let result = self.purse.spending(source, || run.trace(source, &Input::with(self.instance, over)));
        result.map_err(|(error, trace)| {
            self.purse.is_over(&error);
            (error, Box::new(trace.unwrap_or_default()))
        })
    }

    /// What becomes of a child, given what became of those before it.
    pub fn verdict(&self, child: &Child, before: &BTreeMap<String, Verdict>) -> Verdict {
        let over = self.siblings();
        // Most runs miss nothing, and are done after one plain pass. One that prints all its data at once does not even
        // notice that a sibling is not in it.
        if !child.prints_all {
            match self.run(&child.file, &over, Watch::Lightly, false) {
                Ok(output) if !output.missing && !output.nil_text => return self.made(child, &output.text),
                Err((error, _)) if error.over().is_some() => return Verdict::Fail(vec![self.problem(&error)]),
                _ => {}
            }
        }
        let (result, trace) = match self.run(&child.file, &over, Watch::Closely, false) {
            Ok(output) => (Ok(output.text), output.trace.unwrap_or_default()),
            Err((error, _)) if error.over().is_some() => return Verdict::Fail(vec![self.problem(&error)]),
            // A failure ends the run at the first value it misses; going on past it tells of the others too.
            Err((error, trace)) => {
                let further = self.run(&child.file, &over, Watch::Closely, true).ok().and_then(|output| output.trace);
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
        let exists =
            self.observed.get(&child.name).is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()));
        if !findings.pending.is_empty() && (exists || object::is_nothing(&text)) {
            return Verdict::Wait(sorted(findings.pending));
        }
        if !findings.deciding.is_empty() && object::is_nothing(&text) {
            return Verdict::Wait(sorted(findings.deciding));
        }
        self.made(child, &text)
    }

    fn made(&self, child: &Child, text: &[u8]) -> Verdict {
        match object::read(self, child, text) {
            Ok(objects) if objects.is_empty() => Verdict::Nothing,
            Ok(objects) => Verdict::Make(objects),
            Err(problems) => Verdict::Fail(problems),
        }
    }

    fn findings(&self, child: &Child, trace: &Trace, before: &BTreeMap<String, Verdict>) -> Findings {
        let mut findings = Findings::default();
        for (index, read) in trace.reads.iter().enumerate() {
            let ends = |kinds: &[UseKind]| {
                trace.uses.iter().any(|end| kinds.contains(&end.kind) && end.reads.contains(&index))
            };
            let reaches_text = ends(&[UseKind::Text, UseKind::Failure]);
            if read.path.0.is_empty() {
                for end in trace
                    .uses
                    .iter()
                    .filter(|end| matches!(end.kind, UseKind::Text | UseKind::Failure) && end.reads.contains(&index))
                {
                    self.whole(child, &end.site, before, &mut findings);
                }
            }
            if read.presence != Presence::Missing {
                continue;
            }
            let wait = || Wait { path: read.path.to_string(), place: Place::from(&read.site) };
            match self.owner(child, read) {
                // An object that is there must not go because it has not said something of itself yet.
                Owner::Myself if self.observed.contains_key(&child.name) && ends(&[UseKind::Branch]) => {
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

    /// Go's word for nothing in the text, which must not reach the API. A sibling that is there may still say more.
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
                    findings.needed.push(Wait { path: read.path.to_string(), place: Place::from(&read.site) });
                }
                _ => problems.push(nil_problem(read, nil.function)),
            }
        }
        problems
    }

    /// The whole of the data in the text: that is every sibling, the missing ones too.
    fn whole(&self, child: &Child, site: &Site, before: &BTreeMap<String, Verdict>, findings: &mut Findings) {
        for other in self.kind.children.iter().filter(|other| other.name != child.name && other.shape == Shape::One) {
            if !self.observed.contains_key(&other.name) && !matches!(before.get(&other.name), Some(Verdict::Nothing)) {
                findings.needed.push(Wait { path: other.name.clone(), place: Place::from(site) });
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

fn nil_problem(read: &Read, function: Option<&str>) -> Problem {
    let printer = function.map_or_else(String::new, |name| format!("`{name}` "));
    let what = format!("`.{}` is nil, and {printer}would print `<nil>` for it", read.path);
    Problem::at(&read.site, what).hint(guard(read))
}

fn guard(read: &Read) -> String {
    format!("write `.{} | default ...`, or put it under an `if`", read.path)
}

/// A failure; if it is over something that is not there, and will not be, with what that is.
fn failed(error: &Error, trace: &Trace) -> Problem {
    let problem = Problem::of(error);
    let over = trace.uses.iter().rev().find(|end| end.kind == UseKind::Failure);
    let missing =
        over.and_then(|end| trace.reads_of(&end.reads).filter(|read| read.presence == Presence::Missing).last());
    match missing {
        Some(read) => problem.hint(format!("`.{}` is nil here: {}", read.path, guard(read))),
        None => problem,
    }
}

fn lacking(read: &Read) -> Problem {
    let steps = &read.path.0;
    let problem = Problem::at(&read.site, format!("`.{}` is not set", read.path));
    // In a loop the author writes the last part only, and the schema knows of no numbers.
    let item = steps.iter().rposition(|step| matches!(step, Step::Index(_)));
    let written: String = match item {
        Some(at) if at + 1 < steps.len() => steps[at + 1..].iter().map(|step| format!(".{}", named(step))).collect(),
        Some(_) => ".".to_string(),
        None => format!(".{}", read.path),
    };
    let described: Vec<String> = steps.iter().map(|step| named(step).to_string()).collect();
    let described = described.join(".").replace(".[]", "[]");
    let default = if item.is_some() { format!("`{described}` a default") } else { "it a default".to_string() };
    problem.hint(format!("set it in the instance, give {default} in the CRD, or write `{written} | default ...`"))
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
    // `db` and `db.status` are on the way to `db.status.endpoint`: only the end of the way is worth telling.
    let on_the_way = |wait: &Wait| {
        waits.iter().any(|other| {
            other.place == wait.place && other.path.len() > wait.path.len() && other.path.starts_with(&wait.path)
        })
    };
    let ends: Vec<Wait> = waits.iter().filter(|wait| !on_the_way(wait)).cloned().collect();
    ends
}
