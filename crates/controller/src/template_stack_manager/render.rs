//! Deciding what an instance becomes, within the budget. Almost every render is cheap, and is done on the spot: a thread
//! of its own would cost more than it does. One that turns out not to be is broken off after a few milliseconds and done
//! again on the pool, and from then on the instances of its kind go there at once.

use std::sync::Arc;

use engine::budget::{Limits, Meter};
use engine::{CompiledKind, Context, Observed, Plan, decide, tell};

use super::instance::Look;
use super::revision::Revision;
use super::{TemplateStackManager, lock};
use crate::Error;

/// The work that is done on the spot: a few milliseconds.
const CHEAP: u64 = 5_000_000;

impl TemplateStackManager {
    /// What is to become of the children, given what was decided before in the same look.
    pub(super) async fn decided(
        &self,
        look: &mut Look<'_>,
        observed: &Observed,
        before: Option<(Plan, &Observed)>,
    ) -> Result<Plan, Error> {
        if let Some(plan) = self.cheaply(look, |context| decide(look.kind, &look.object, observed, context, before)) {
            return Ok(plan);
        }
        let (instance, observed, spent) = (look.object.clone(), observed.clone(), look.spent);
        let work = move |kind: &CompiledKind, context: &Context<'_>| decide(kind, &instance, &observed, context, None);
        let (plan, spent, over) = self.costly(look, spent, work).await?;
        (look.spent, look.over) = (spent, over);
        Ok(plan)
    }

    /// The same plan with what the status should say.
    pub(super) async fn told(&self, look: &Look<'_>, observed: &Observed, mut plan: Plan) -> Result<Plan, Error> {
        let problems = plan.problems.len();
        let mut given = Some(plan);
        let mut told = None;
        let cheap = self.cheaply(look, |context| {
            let plan = given.take().unwrap_or_default();
            told = Some(tell(look.kind, &look.object, observed, context, plan, &look.failures));
        });
        plan = told.or(given).unwrap_or_default();
        if cheap.is_some() {
            return Ok(plan);
        }
        // What was said of the status so far is of no use.
        plan.problems.truncate(problems);
        (plan.status, plan.unready) = (None, None);
        plan.events.clear();
        let (instance, observed, failures) = (look.object.clone(), observed.clone(), look.failures.clone());
        let work = move |kind: &CompiledKind, context: &Context<'_>| {
            tell(kind, &instance, &observed, context, plan, &failures)
        };
        Ok(self.costly(look, 0, work).await?.0)
    }

    /// A context for what may as well not be found out.
    pub(super) fn context<'c>(&'c self, revision: &'c Revision) -> Context<'c> {
        let limits = Limits { work: CHEAP.min(self.parts.render.work), ..self.parts.render.clone() };
        Context { limits, ..Context::new(&self.parts.stack, &revision.seed) }
    }

    /// Does something on the spot, unless it is known or turns out to be costly.
    fn cheaply<T>(&self, look: &Look<'_>, work: impl FnOnce(&Context<'_>) -> T) -> Option<T> {
        if lock(&look.revision.costly).contains(&look.kind.gvk) {
            return None;
        }
        let context = self.context(look.revision);
        let meter = Meter::new(context.limits.clone());
        let done = work(&Context { meter: Some(&meter), ..context });
        if meter.over().is_none() {
            return Some(done);
        }
        tracing::debug!(kind = %look.kind.gvk, "rendering this kind is costly");
        lock(&look.revision.costly).insert(look.kind.gvk.clone());
        None
    }

    /// Does something on the pool, after so much work; answers how much it is then, and whether it is too much.
    async fn costly<T: Send + 'static>(
        &self,
        look: &Look<'_>,
        spent: u64,
        work: impl FnOnce(&CompiledKind, &Context<'_>) -> T + Send + 'static,
    ) -> Result<(T, u64, bool), Error> {
        let (compiled, gvk) = (Arc::clone(look.compiled), look.kind.gvk.clone());
        let (stack, seed) = (self.parts.stack.clone(), look.revision.seed.clone());
        let work = move |meter: &Meter<'_>| {
            let meter = meter.resumed(spent);
            let kind = compiled.kind(&gvk)?;
            let done = work(kind, &Context { meter: Some(&meter), ..Context::new(&stack, &seed) });
            Some((done, meter.work(), meter.over().is_some()))
        };
        let done = self.pool.run(self.parts.render.clone(), work).await;
        let done = done.map_err(|why| Error::Unavailable(format!("cannot render {}: {why}", look.kind.gvk)))?;
        done.ok_or_else(|| Error::NotFound(format!("the stack has no templates for {}", look.kind.gvk)))
    }
}
