//! How a text names a kind: the keys of templates, the kinds that a stack owns and those that it
//! depends on.
//!
//! For the kind `Redis` of the group `example.org` these all mean the same: `redis.example.org/v1`,
//! `Redis.example.org/v1`, the plural `redises.example.org/v1`, and `example.org/v1` if the stack
//! owns no other kind of that version. A text that a stack wrote beside an owned kind means that
//! kind, whatever it looks like.

use std::borrow::Borrow;
use std::fmt;

use objects::{Builtin, Gvk, builtin, nearest};

use crate::crd::Crd;
use crate::metadata::KindRef;

/// A kind that a stack owns, with all its names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owned {
    /// As objects write it.
    pub kind: String,
    /// As URLs and roles write it.
    pub plural: String,
    /// One of it, in small letters.
    pub singular: String,
    /// The group.
    pub group: String,
    /// The versions that are served.
    pub versions: Vec<String>,
    /// What the stack wrote as `apiVersion` beside the kind.
    pub entries: Vec<String>,
}

impl Owned {
    /// The kind of a CRD that a package brings.
    pub fn of(crd: &Crd) -> Self {
        Self {
            kind: crd.names.kind.clone(),
            plural: crd.names.plural.clone(),
            singular: crd.names.singular.clone(),
            group: crd.group.clone(),
            versions: crd
                .versions
                .iter()
                .filter(|version| version.served)
                .map(|own| own.name.clone())
                .collect(),
            entries: Vec::new(),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        [&self.kind, &self.plural, &self.singular]
            .iter()
            .any(|own| own.eq_ignore_ascii_case(name))
    }

    fn serves(&self, version: &str) -> bool {
        self.versions.iter().any(|own| own == version)
    }

    /// The way to write it that is never ambiguous.
    pub fn key(&self, version: &str) -> String {
        format!(
            "{}.{}/{version}",
            self.kind.to_ascii_lowercase(),
            self.group
        )
    }
}

/// The kinds that a stack owns: each entry of `customresourcedefinitions` with the CRD it means.
/// Entries that mean no CRD, or more than one, are told by their place.
pub fn owned<C: Borrow<Crd>>(entries: &[KindRef], crds: &[C]) -> (Vec<Owned>, Vec<usize>) {
    let mut found: Vec<Owned> = Vec::new();
    let mut lost = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let Some(crd) = meant(entry, crds) else {
            lost.push(index);
            continue;
        };
        let own = Owned::of(crd);
        let at = found
            .iter()
            .position(|other| other.group == own.group && other.kind == own.kind);
        let at = at.unwrap_or_else(|| {
            found.push(own);
            found.len() - 1
        });
        found[at].entries.push(entry.api_version.clone());
    }
    (found, lost)
}

/// The CRD of an entry: the kind says most, so that its `apiVersion` may have anything before the
/// group.
fn meant<'c, C: Borrow<Crd>>(entry: &KindRef, crds: &'c [C]) -> Option<&'c Crd> {
    let (domain, version) = entry.api_version.split_once('/')?;
    let fits = |exact: bool| {
        let mut fitting = crds.iter().map(Borrow::borrow).filter(move |crd: &&Crd| {
            let rest = domain.strip_suffix(&crd.group);
            let group = rest.is_some_and(|rest| rest.is_empty() || (!exact && rest.ends_with('.')));
            group && crd.names.kind == entry.kind && crd.version(version).is_some()
        });
        let first = fitting.next();
        first.filter(|_| fitting.next().is_none())
    };
    fits(true).or_else(|| fits(false))
}

/// What a key means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// An owned kind, by its place in the list, in a version.
    Match {
        /// Its place.
        index: usize,
        /// The version.
        version: String,
    },
    /// No kind: what is under it is for others to include.
    Partial,
    /// Several kinds, each in its own spelling.
    Ambiguous(Vec<String>),
    /// Nothing, and what was perhaps meant.
    None {
        /// A key that would mean something.
        nearest: Option<String>,
    },
}

/// What a key means among owned kinds. `included` says whether some template includes from this
/// key.
pub fn resolve(key: &str, owned: &[Owned], included: bool) -> Resolution {
    let version = key
        .rsplit_once('/')
        .map(|(_, version)| version)
        .unwrap_or_default();
    let entry = |(_, own): &(usize, &Owned)| {
        own.serves(version) && own.entries.iter().any(|entry| entry == key)
    };
    let mut found: Vec<(usize, &Owned)> = owned.iter().enumerate().filter(entry).collect();
    if found.is_empty()
        && let Some((domain, version)) = key.split_once('/')
    {
        let (name, group) = domain.split_once('.').unwrap_or((domain, ""));
        let fits = |(_, own): &(usize, &Owned)| {
            own.serves(version)
                && (own.group == domain || (own.group == group && own.is_called(name)))
        };
        found = owned.iter().enumerate().filter(fits).collect();
    }
    match found.as_slice() {
        [(index, _)] => Resolution::Match {
            index: *index,
            version: version.to_owned(),
        },
        [] if included => Resolution::Partial,
        [] => {
            let keys: Vec<String> = owned
                .iter()
                .flat_map(|own| own.versions.iter().map(|version| own.key(version)))
                .collect();
            Resolution::None {
                nearest: nearest(key, keys.iter().map(String::as_str)).map(str::to_owned),
            }
        }
        several => Resolution::Ambiguous(several.iter().map(|(_, own)| own.key(version)).collect()),
    }
}

/// A kind that need not be known yet: what a stack depends on, or whose package is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Kind, plural or singular; none for all kinds of the group.
    pub name: Option<String>,
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
}

impl Reference {
    /// Reads `<name>.<group>/<version>`, `*.<group>/<version>` or, for the core group,
    /// `<name>/<version>`.
    ///
    /// What reads as a name may also be the first part of a group, for who writes the plain
    /// `apiVersion` of a kind; [`Reference::means`] takes both.
    pub fn parse(text: &str) -> Option<Self> {
        let (domain, version) = text.split_once('/')?;
        let (name, group) = domain.split_once('.').unwrap_or((domain, ""));
        let sound = |part: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
            !part.is_empty()
                && part.bytes().all(allowed)
                && !part.starts_with('.')
                && !part.ends_with('.')
        };
        let name_sound = if name == "*" {
            !group.is_empty()
        } else {
            sound(name)
        };
        let group_sound = if domain.contains('.') {
            sound(group)
        } else {
            true
        };
        (name_sound && group_sound && sound(version)).then(|| Self {
            name: (name != "*").then(|| name.to_owned()),
            group: group.to_owned(),
            version: version.to_owned(),
        })
    }

    /// Whether it means this kind, which is also called `plural`.
    pub fn means(&self, gvk: &Gvk, plural: &str) -> bool {
        if self.version != gvk.version {
            return false;
        }
        match &self.name {
            None => self.group == gvk.group,
            Some(name) => {
                let called =
                    gvk.kind.eq_ignore_ascii_case(name) || plural.eq_ignore_ascii_case(name);
                (called && self.group == gvk.group) || gvk.group == format!("{name}.{}", self.group)
            }
        }
    }

    /// The kind of every cluster that it means, if it means one.
    pub fn builtin(&self) -> Option<&'static Builtin> {
        builtin(self.name.as_deref()?, &self.group, &self.version)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name.as_deref().unwrap_or("*"))?;
        if !self.group.is_empty() {
            write!(formatter, ".{}", self.group)?;
        }
        write!(formatter, "/{}", self.version)
    }
}
