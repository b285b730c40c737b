//! What was decided before and holds still: between two plans of one instance only its children can
//! have changed, and a template answers the same as long as those that it reads are the same.

use std::collections::BTreeMap;

use super::{Observed, Plan, Verdict};
use crate::compile::{Child, CompiledKind};

/// The plan before, and what has become of the children since.
pub(super) struct Before<'b> {
    kind: &'b CompiledKind,
    verdicts: BTreeMap<String, Verdict>,
    then: &'b Observed,
    now: &'b Observed,
    /// The templates that were asked for, and whether what they said before was the answer.
    asked: BTreeMap<&'b str, bool>,
}

impl<'b> Before<'b> {
    pub fn new(kind: &'b CompiledKind, plan: Plan, then: &'b Observed, now: &'b Observed) -> Self {
        let mut verdicts: BTreeMap<String, Verdict> = BTreeMap::new();
        for apply in plan.applies {
            match verdicts
                .entry(apply.template)
                .or_insert_with(|| Verdict::Make(Vec::new()))
            {
                Verdict::Make(objects) => objects.push(apply.object),
                Verdict::Nothing | Verdict::Wait(_) | Verdict::Fail(_) => {}
            }
        }
        verdicts.extend(
            plan.holds
                .into_iter()
                .map(|hold| (hold.template, Verdict::Wait(hold.waits))),
        );
        for problem in plan.problems {
            match verdicts
                .entry(problem.template)
                .or_insert_with(|| Verdict::Fail(Vec::new()))
            {
                Verdict::Fail(problems) => problems.push(problem.problem),
                Verdict::Make(_) | Verdict::Nothing | Verdict::Wait(_) => {}
            }
        }
        Self {
            kind,
            verdicts,
            then,
            now,
            asked: BTreeMap::new(),
        }
    }

    /// What was decided of a child, if that holds still. Children are asked for in their order.
    pub fn verdict(&mut self, child: &'b Child) -> Option<Verdict> {
        let holds = self.holds(child);
        self.asked.insert(&child.name, holds);
        // What was neither made nor waited for nor failed was not wanted.
        holds.then(|| {
            self.verdicts
                .remove(&child.name)
                .unwrap_or(Verdict::Nothing)
        })
    }

    /// Whether what was decided of a child held still.
    pub fn is_same(&self, child: &Child) -> bool {
        self.asked
            .get(child.name.as_str())
            .copied()
            .unwrap_or_default()
    }

    fn holds(&self, child: &Child) -> bool {
        if !self.kind.is_closed || child.prints_all {
            return false;
        }
        let is_same = |name: &str| self.then.get(name) == self.now.get(name);
        // That a child is there now can matter to itself only if it looks at itself, or was decided
        // without some of those that it looks at.
        let complete = child.reads.iter().all(|name| self.then.contains_key(name));
        let made = complete && matches!(self.verdicts.get(&child.name), Some(Verdict::Make(_)));
        let itself =
            is_same(&child.name) || (!child.reads_itself && (child.reads.is_empty() || made));
        // Whether a child that is not there is wanted matters, too; what comes later in the order
        // never does.
        let decided = |name: &str| {
            self.now.contains_key(name) || self.asked.get(name).copied().unwrap_or(true)
        };
        itself
            && child
                .reads
                .iter()
                .all(|name| is_same(name) && decided(name))
    }
}
