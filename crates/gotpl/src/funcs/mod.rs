//! The functions templates call, one file a family, and which library has which.

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

use std::sync::OnceLock;

use crate::cost::{Cost, cost};
use crate::func::{Func, Library};

/// Go's own.
const BUILTIN: &[&[Func]] = &[builtin::TABLE, compare::TABLE, escape::TABLE];

/// What sprig adds.
const SPRIG: &[&[Func]] = &[
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

/// What Helm and `gtf` add.
const HELM: &[&[Func]] = &[
    gtf::TABLE,
    json::HELM,
    durations::TABLE,
    helm::TABLE,
    toml::TABLE,
    yaml::TABLE,
];

/// The functions of a library; a later one replaces an earlier one of its name, as maps of
/// functions do in Go.
pub fn of(library: Library) -> impl Iterator<Item = &'static Func> {
    static PARTS: OnceLock<[Vec<Func>; 3]> = OnceLock::new();
    let priced = |func: &Func| Func {
        cost: cost(func.name).unwrap_or(Cost::UNKNOWN),
        ..*func
    };
    let parts = PARTS.get_or_init(|| {
        [BUILTIN, SPRIG, HELM].map(|part| part.iter().copied().flatten().map(priced).collect())
    });
    let count = match library {
        Library::Builtin => 1,
        Library::Sprig => 2,
        Library::Helm => 3,
    };
    parts.iter().take(count).flatten()
}
