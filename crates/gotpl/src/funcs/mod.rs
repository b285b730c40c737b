//! The functions templates call, one file a family. Later tables replace what earlier ones define.

mod builtin;
mod cast;
mod compare;
mod crypto;
mod dates;
mod defaults;
mod dicts;
mod durations;
mod encode;
mod entry;
mod escape;
mod gtf;
mod helm;
mod join;
mod json;
mod knots;
mod lists;
mod merge;
mod numbers;
mod paths;
mod pieces;
mod random;
mod reflect;
mod regex;
mod semver;
mod strings;
mod toml;
mod tree;
mod words;
mod yaml;

use crate::func::Func;

/// Go's own.
pub(crate) const BUILTIN: &[&[Func]] = &[builtin::TABLE, compare::TABLE, escape::TABLE];

/// Go's and sprig's.
pub(crate) const SPRIG: &[&[Func]] = &[
    builtin::TABLE,
    compare::TABLE,
    escape::TABLE,
    join::TABLE,
    crypto::TABLE,
    dates::TABLE,
    encode::TABLE,
    paths::TABLE,
    random::TABLE,
    regex::TABLE,
    semver::TABLE,
    strings::TABLE,
    words::TABLE,
    defaults::TABLE,
    dicts::TABLE,
    json::TABLE,
    lists::TABLE,
    merge::TABLE,
    numbers::TABLE,
    reflect::TABLE,
];

/// Go's, sprig's, Helm's, and what `gtf` adds.
pub(crate) const HELM: &[&[Func]] = &[
    builtin::TABLE,
    compare::TABLE,
    escape::TABLE,
    join::TABLE,
    crypto::TABLE,
    dates::TABLE,
    encode::TABLE,
    paths::TABLE,
    random::TABLE,
    regex::TABLE,
    semver::TABLE,
    strings::TABLE,
    words::TABLE,
    gtf::TABLE,
    defaults::TABLE,
    dicts::TABLE,
    json::TABLE,
    lists::TABLE,
    merge::TABLE,
    numbers::TABLE,
    reflect::TABLE,
    json::HELM,
    durations::TABLE,
    helm::TABLE,
    toml::TABLE,
    yaml::TABLE,
];
