//! The functions templates call, one file a family. Later tables replace what earlier ones define.

mod builtin;
mod compare;
mod entry;
mod escape;
mod join;
mod pieces;
mod regex;
mod strings;
mod words;

use crate::func::Func;

/// Go's own.
pub(crate) const BUILTIN: &[&[Func]] = &[builtin::TABLE, compare::TABLE, escape::TABLE];

/// Go's and sprig's.
pub(crate) const SPRIG: &[&[Func]] = &[
    builtin::TABLE,
    compare::TABLE,
    escape::TABLE,
    join::TABLE,
    regex::TABLE,
    strings::TABLE,
    words::TABLE,
];

/// Go's, sprig's, Helm's, and what `gtf` adds.
pub(crate) const HELM: &[&[Func]] = &[
    builtin::TABLE,
    compare::TABLE,
    escape::TABLE,
    join::TABLE,
    regex::TABLE,
    strings::TABLE,
    words::TABLE,
];
