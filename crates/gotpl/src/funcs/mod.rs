//! The functions templates call, one file a family. Later tables replace what earlier ones define.

mod builtin;
mod compare;
mod escape;

use crate::func::Func;

/// Go's own.
pub(crate) const BUILTIN: &[&[Func]] = &[builtin::TABLE, compare::TABLE, escape::TABLE];

/// Go's and sprig's.
pub(crate) const SPRIG: &[&[Func]] = &[builtin::TABLE, compare::TABLE, escape::TABLE];

/// Go's, sprig's, Helm's, and what `gtf` adds.
pub(crate) const HELM: &[&[Func]] = &[builtin::TABLE, compare::TABLE, escape::TABLE];
