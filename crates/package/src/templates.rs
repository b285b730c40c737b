//! The tree of templates: which files are for which kind, and which are for others to include.

use std::collections::BTreeMap;

use api::key::{Owned, Resolution, resolve};

use crate::document::text;
use crate::problem::Problems;
use crate::{CrdFile, Source};

/// The files below `templates`, as they were found.
#[derive(Default)]
pub(crate) struct Tree {
    templates: Named,
    partials: Named,
    status: BTreeMap<String, Source>,
}

/// By key and then by name.
type Named = BTreeMap<String, BTreeMap<String, Source>>;

/// The files below `templates`, by what they are for.
pub(crate) struct Sorted {
    pub(crate) templates: Named,
    pub(crate) template_status: BTreeMap<String, Source>,
    pub(crate) partials: Named,
    /// By place of the CRD: the version that is templated.
    pub(crate) versions: BTreeMap<usize, String>,
}

impl Tree {
    pub(crate) fn template(
        &mut self,
        key: &str,
        name: &str,
        file: &str,
        bytes: &[u8],
        problems: &mut Problems,
    ) {
        if let Some(source) = source(file, bytes, problems) {
            self.templates
                .entry(key.to_owned())
                .or_default()
                .insert(name.to_owned(), source);
        }
    }

    pub(crate) fn partial(
        &mut self,
        key: &str,
        name: &str,
        file: &str,
        bytes: &[u8],
        problems: &mut Problems,
    ) {
        if let Some(source) = source(file, bytes, problems) {
            self.partials
                .entry(key.to_owned())
                .or_default()
                .insert(name.to_owned(), source);
        }
    }

    pub(crate) fn status(&mut self, key: &str, file: &str, bytes: &[u8], problems: &mut Problems) {
        if let Some(source) = source(file, bytes, problems) {
            self.status.insert(key.to_owned(), source);
        }
    }

    /// Finds the kind of every key. That one has none is told only if these are all CRDs of the
    /// package.
    pub(crate) fn sort(self, crds: &[CrdFile], all_crds: bool, problems: &mut Problems) -> Sorted {
        let owned: Vec<Owned> = crds.iter().map(|file| Owned::of(&file.crd)).collect();
        let mut sorted = Sorted {
            templates: Named::new(),
            template_status: BTreeMap::new(),
            partials: Named::new(),
            versions: BTreeMap::new(),
        };
        // The first key of each kind, to see whether there is a second.
        let mut first: BTreeMap<usize, String> = BTreeMap::new();
        let keys: Vec<String> = self.keys();
        let included: Vec<bool> = keys.iter().map(|key| self.includes(key)).collect();
        let Self {
            mut templates,
            mut partials,
            mut status,
        } = self;
        for (key, included) in keys.into_iter().zip(included) {
            let (own, other, status) = (
                templates.remove(&key),
                partials.remove(&key),
                status.remove(&key),
            );
            match resolve(&key, &owned, included) {
                Resolution::Match { index, version } => {
                    partials_of_a_kind(other.as_ref(), problems);
                    let file = own.iter().flat_map(BTreeMap::values).chain(&status).next();
                    if let (Some(file), Some(before)) = (file, first.get(&index)) {
                        let kind = &owned[index].kind;
                        let (what, hint) = match sorted.versions.get(&index) {
                            Some(other) if *other != version => (
                                format!(
                                    "there are templates for two versions of `{kind}`, {other} and {version}"
                                ),
                                "template one version: the API server shows all instances in it"
                                    .to_owned(),
                            ),
                            _ => (
                                format!(
                                    "there are templates for `{kind}` under two keys, `{before}` and `{key}`"
                                ),
                                format!("put them all into `templates/{before}`"),
                            ),
                        };
                        problems.error(&file.file, what, Some(hint));
                    } else if file.is_some() {
                        first.insert(index, key.clone());
                        sorted.versions.insert(index, version);
                    }
                    sorted
                        .template_status
                        .extend(status.map(|status| (key.clone(), status)));
                    sorted.templates.extend(own.map(|own| (key, own)));
                }
                Resolution::Ambiguous(candidates) => {
                    let files = own
                        .into_iter()
                        .flat_map(BTreeMap::into_values)
                        .chain(status);
                    for source in files.take(1) {
                        let what = format!("`{key}` could mean each of {}", candidates.join(", "));
                        problems.error(
                            &source.file,
                            what,
                            Some("name the directory by one of them".into()),
                        );
                    }
                    sorted.partials.extend(other.map(|other| (key, other)));
                }
                Resolution::Partial => {
                    if let Some(status) = status {
                        problems.error(
                            &status.file,
                            format!("`{key}` is no kind that has a status"),
                            None,
                        );
                    }
                    let mut all = own.unwrap_or_default();
                    for (name, source) in other.unwrap_or_default() {
                        if let Some(twin) = all.insert(name.clone(), source) {
                            let what =
                                format!("there are two files for `include \"{key}\" \"{name}\"`");
                            problems.error(
                                &twin.file,
                                what,
                                Some("call one of them something else".into()),
                            );
                        }
                    }
                    sorted.partials.insert(key, all);
                }
                Resolution::None { nearest } => {
                    let files = own
                        .into_iter()
                        .flat_map(BTreeMap::into_values)
                        .chain(status)
                        .filter(|_| all_crds);
                    for source in files.take(1) {
                        let hint = match (&nearest, owned.is_empty()) {
                            (Some(near), _) => format!("did you mean `templates/{near}`?"),
                            (None, true) => "the package has no CRD".to_owned(),
                            (None, false) if owned.iter().all(|own| own.versions.is_empty()) => {
                                "no version of any CRD is served".to_owned()
                            }
                            (None, false) => format!("the package has {}", kinds(&owned)),
                        };
                        let what = format!(
                            "`{key}` is no kind of this package, and no template includes from it"
                        );
                        problems.error(&source.file, what, Some(hint));
                    }
                    for source in other.iter().flat_map(BTreeMap::values) {
                        problems.warning(&source.file, "no template includes this", None);
                    }
                    sorted.partials.extend(other.map(|other| (key, other)));
                }
            }
        }
        sorted
    }

    fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self
            .templates
            .keys()
            .chain(self.partials.keys())
            .chain(self.status.keys())
            .cloned()
            .collect();
        keys.sort();
        keys.dedup();
        keys
    }

    /// Whether some text seems to include from `key`; the compiler, which parses them, knows for
    /// certain.
    fn includes(&self, key: &str) -> bool {
        let named = self
            .templates
            .values()
            .chain(self.partials.values())
            .flat_map(BTreeMap::values);
        let mut texts = named
            .chain(self.status.values())
            .map(|source| source.text.as_str());
        if key.is_empty() {
            // Partials at the top are included by their name alone, or define others.
            return texts.any(|text| text.contains("include") || text.contains("template"));
        }
        // `include "a/b" "c/d"` means the file a/b/c/d: the directory may be cut at any slash.
        let cuts = key
            .match_indices('/')
            .map(|(at, _)| &key[..at])
            .chain([key]);
        let spellings: Vec<String> = cuts
            .flat_map(|cut| [format!("\"{cut}\""), format!("`{cut}`")])
            .collect();
        texts.any(|text| spellings.iter().any(|spelling| text.contains(spelling)))
    }
}

/// A Stack has no place for a partial among the templates of a kind: it would be rendered as one of
/// them.
fn partials_of_a_kind(partials: Option<&BTreeMap<String, Source>>, problems: &mut Problems) {
    for source in partials.into_iter().flat_map(BTreeMap::values) {
        let what = "what templates include cannot be among the templates of a kind";
        problems.error(
            &source.file,
            what,
            Some("put it into a directory of its own, such as `templates/lib`".into()),
        );
    }
}

fn kinds(owned: &[Owned]) -> String {
    let keys = owned.iter().flat_map(|own| {
        own.versions
            .iter()
            .map(|version| format!("`{}`", own.key(version)))
    });
    let mut keys: Vec<String> = keys.take(6).collect();
    if keys.len() == 6 {
        keys[5] = "others".to_owned();
    }
    keys.join(", ")
}

fn source(file: &str, bytes: &[u8], problems: &mut Problems) -> Option<Source> {
    let text = text(file, bytes, problems)?;
    Some(Source {
        file: file.to_owned(),
        text: text.to_owned(),
    })
}
