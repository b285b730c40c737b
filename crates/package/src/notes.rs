//! The files that describe kinds (`group.yaml`, `resource.yaml`, icons, `ui-schema.yaml`), and
//! which of them is about which CRD: those above it in the tree, the nearest first, and in one
//! directory one that names the kind before others.

use std::cmp::Reverse;

use api::Crd;
use objects::Path;
use serde_json::{Map, Value};

use crate::CrdFile;
use crate::annotate::directory;
use crate::document::{self, documents};
use crate::fields::{self, Kind};
use crate::icon::Picture;
use crate::problem::{Problem, Problems, Severity};

const GROUP: [(&str, Kind); 7] = [
    ("group", Kind::Text),
    ("title", Kind::Text),
    ("overviewShort", Kind::Text),
    ("shortOverview", Kind::Text),
    ("overview", Kind::Text),
    ("readme", Kind::Text),
    ("category", Kind::Text),
];
const RESOURCE: [(&str, Kind); 8] = [
    ("id", Kind::Text),
    ("title", Kind::Text),
    ("titlePlural", Kind::Text),
    ("overviewShort", Kind::Text),
    ("shortOverview", Kind::Text),
    ("overview", Kind::Text),
    ("readme", Kind::Text),
    ("category", Kind::Text),
];

/// All notes of a package.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) groups: Vec<Note<Map<String, Value>>>,
    pub(crate) resources: Vec<Note<Map<String, Value>>>,
    pub(crate) icons: Vec<Note<Picture>>,
    pub(crate) ui_schemas: Vec<Note<String>>,
}

/// A file that says something of kinds.
#[derive(Debug)]
pub(crate) struct Note<T> {
    file: String,
    line: usize,
    /// Its directory, from the root of the package, without a slash at the end.
    directory: String,
    about: About,
    pub(crate) content: T,
}

/// What a note says it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    /// The kind that its `id`, or the name of its file, names.
    Kind(String),
    /// The group that it names.
    Group(String),
    /// Whatever is below its directory.
    All,
}

impl Notes {
    /// Reads a `group.yaml`; `inner` is its path from the root of the package.
    pub(crate) fn group(&mut self, file: &str, inner: &str, bytes: &[u8], problems: &mut Problems) {
        let Some(found) = fields::read(file, bytes, &GROUP, "`group.yaml`", "title", problems)
        else {
            return;
        };
        let about = match found.fields.get("group").and_then(Value::as_str) {
            Some(group) => About::Group(group.to_owned()),
            None => About::All,
        };
        self.groups
            .push(Note::new(file, inner, found.line, about, found.fields));
    }

    /// Reads a `resource.yaml`.
    pub(crate) fn resource(
        &mut self,
        file: &str,
        inner: &str,
        bytes: &[u8],
        problems: &mut Problems,
    ) {
        let Some(found) =
            fields::read(file, bytes, &RESOURCE, "`resource.yaml`", "title", problems)
        else {
            return;
        };
        let about = match found.fields.get("id").and_then(Value::as_str) {
            Some(id) => About::Kind(id.to_owned()),
            None => by_name(inner, "resource"),
        };
        self.resources
            .push(Note::new(file, inner, found.line, about, found.fields));
    }

    /// Reads an icon.
    pub(crate) fn icon(&mut self, file: &str, inner: &str, bytes: &[u8], problems: &mut Problems) {
        let Some(picture) = Picture::read(file, bytes, problems) else {
            return;
        };
        self.icons
            .push(Note::new(file, inner, 0, by_name(inner, "icon"), picture));
    }

    /// Reads a `ui-schema.yaml`, which is kept as it was written.
    pub(crate) fn ui_schema(
        &mut self,
        file: &str,
        inner: &str,
        bytes: &[u8],
        problems: &mut Problems,
    ) {
        let Some(text) = document::text(file, bytes, problems) else {
            return;
        };
        for document in documents(file, bytes, problems) {
            if !document.value.is_object() {
                document.error(
                    &Path::root(),
                    "a document of a ui-schema holds fields",
                    None,
                    problems,
                );
            }
        }
        let text = text.trim_matches('\n').to_owned();
        self.ui_schemas
            .push(Note::new(file, inner, 0, by_name(inner, "ui-schema"), text));
    }

    /// The icons of the package itself, the best first.
    pub(crate) fn own_icons(&self) -> Vec<&Picture> {
        let own = self
            .icons
            .iter()
            .filter(|note| note.directory.is_empty() && note.about == About::All);
        let mut own: Vec<&Picture> = own.map(|note| &note.content).collect();
        own.sort_by_key(|picture| picture.rank);
        own
    }

    /// Says which notes are about no CRD of the package.
    pub(crate) fn check(&self, crds: &[CrdFile], root: &str, problems: &mut Problems) {
        let files = |file: &'_ CrdFile| {
            std::iter::once(file.file.clone())
                .chain(file.more.clone())
                .collect::<Vec<_>>()
        };
        let crds: Vec<(&Crd, String)> = crds
            .iter()
            .flat_map(|file| {
                files(file)
                    .into_iter()
                    .map(|path| (&file.crd, directory(&path, root).to_owned()))
            })
            .collect();
        let crds: Vec<(&Crd, &str)> = crds
            .iter()
            .map(|(crd, directory)| (*crd, directory.as_str()))
            .collect();
        for note in self.groups.iter().chain(&self.resources) {
            note.check(&crds, problems);
        }
        for note in &self.ui_schemas {
            note.check(&crds, problems);
        }
        for note in self
            .icons
            .iter()
            .filter(|note| !note.directory.is_empty() || note.about != About::All)
        {
            note.check(&crds, problems);
        }
    }
}

impl<T> Note<T> {
    fn new(file: &str, inner: &str, line: usize, about: About, content: T) -> Self {
        let directory = inner
            .rsplit_once('/')
            .map_or("", |(directory, _)| directory)
            .to_owned();
        Self {
            file: file.to_owned(),
            line,
            directory,
            about,
            content,
        }
    }

    /// Whether it says something of a CRD in a directory.
    fn is_about(&self, crd: &Crd, directory: &str) -> bool {
        let below = directory.strip_prefix(&self.directory);
        let above = below.is_some_and(|rest| {
            self.directory.is_empty() || rest.is_empty() || rest.starts_with('/')
        });
        above
            && match &self.about {
                About::All => true,
                About::Group(group) => *group == crd.group,
                About::Kind(id) => {
                    let names = [&crd.names.kind, &crd.names.singular, &crd.names.plural];
                    names.iter().any(|name| name.eq_ignore_ascii_case(id))
                }
            }
    }

    /// What is nearer, and in one directory what names the kind or group, is greater.
    fn nearness(&self) -> (usize, bool) {
        let depth = if self.directory.is_empty() {
            0
        } else {
            1 + self.directory.matches('/').count()
        };
        (depth, self.about != About::All)
    }

    fn check(&self, crds: &[(&Crd, &str)], problems: &mut Problems) {
        if crds
            .iter()
            .any(|(crd, directory)| self.is_about(crd, directory))
        {
            return;
        }
        let kinds: Vec<&str> = crds
            .iter()
            .map(|(crd, _)| crd.names.kind.as_str())
            .collect();
        let hint = match &self.about {
            About::Kind(id) => match objects::nearest(id, kinds.iter().copied()) {
                Some(near) => format!("it is for a kind `{id}`: did you mean `{near}`?"),
                None => format!("it is for a kind `{id}`, which no CRD beside or below it defines"),
            },
            About::Group(group) => {
                format!("it is for the group `{group}`, which no CRD beside or below it has")
            }
            About::All => "put it beside the CRD, or into a directory above".to_owned(),
        };
        problems.push(Problem {
            severity: Severity::Warning,
            file: self.file.clone(),
            line: self.line,
            column: usize::from(self.line > 0),
            what: "this is about no CRD of the package".to_owned(),
            hint: Some(hint),
        });
    }
}

/// The nearest note about a CRD; of equals the one that `rank` puts first.
pub(crate) fn nearest<'n, T, R: Ord>(
    notes: &'n [Note<T>],
    crd: &Crd,
    directory: &str,
    rank: impl Fn(&T) -> R,
) -> Option<&'n T> {
    let about = notes.iter().filter(|note| note.is_about(crd, directory));
    let best = about.min_by_key(|note| (Reverse(note.nearness()), rank(&note.content), &note.file));
    best.map(|note| &note.content)
}

/// All notes about a CRD, from the root down.
pub(crate) fn all<'n, T>(notes: &'n [Note<T>], crd: &Crd, directory: &str) -> Vec<&'n T> {
    let mut about: Vec<&Note<T>> = notes
        .iter()
        .filter(|note| note.is_about(crd, directory))
        .collect();
    about.sort_by_key(|note| (note.nearness(), &note.file));
    about.into_iter().map(|note| &note.content).collect()
}

/// What a file is about by its name: `redis.v1.icon.svg` is about the kind Redis, `icon.svg` about
/// all.
fn by_name(inner: &str, ending: &str) -> About {
    let file = inner.rsplit('/').next().unwrap_or(inner);
    let prefix = file
        .rsplit_once('.')
        .and_then(|(stem, _)| stem.strip_suffix(ending))
        .unwrap_or_default();
    match prefix.split(['.', '-', '_']).next().unwrap_or_default() {
        "" => About::All,
        kind => About::Kind(kind.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{About, by_name};

    #[test]
    fn a_file_may_name_its_kind() {
        for (path, ending, expected) in [
            ("icon.svg", "icon", None),
            ("resources/redis.icon.svg", "icon", Some("redis")),
            ("resources/redis.v1.icon.png", "icon", Some("redis")),
            ("resources/redis-icon.png", "icon", Some("redis")),
            ("resource.yaml", "resource", None),
            ("a/mysql.v1alpha1.resource.yaml", "resource", Some("mysql")),
            ("mysql.ui-schema.yaml", "ui-schema", Some("mysql")),
        ] {
            let about = expected.map_or(About::All, |kind| About::Kind(kind.to_owned()));
            assert_eq!(by_name(path, ending), about, "{path}");
        }
    }
}
