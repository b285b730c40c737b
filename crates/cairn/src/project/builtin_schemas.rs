//! What is known of Kubernetes' own kinds without a cluster: what the embedded API server was
//! recorded from.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use engine::budget::{self, Meter};
use engine::{Compiled, Problem, Stack};
use objects::{Gvk, Schema};

use crate::terminal::host::stopwatch;

/// Compiles a stack, with every field of what it makes of Kubernetes' own kinds checked too.
pub fn compile(stack: &Stack) -> (Option<Compiled>, Vec<Problem>) {
    let clock = stopwatch();
    engine::compile_within(stack, &schema, &Meter::new(budget::COMPILE).timed(&clock))
}

/// The schema of one of Kubernetes' own kinds, which is read when it is first asked for.
fn schema(gvk: &Gvk) -> Option<Arc<Schema>> {
    static READ: LazyLock<Mutex<HashMap<Gvk, Option<Arc<Schema>>>>> = LazyLock::new(Mutex::default);
    objects::builtin_kind(gvk)?;
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    read.entry(gvk.clone())
        .or_insert_with(|| apiserver::registry::builtin_schema(gvk).map(Arc::new))
        .clone()
}
