//! A stack package: from its files to metadata, CRDs, templates and the Stack that installing it
//! would create, with everything that is wrong with it at once, and the image that it is published
//! as. It reads no file itself and talks to no registry.
//!
//! ```
//! use package::Files;
//!
//! let files = Files::from([(".registry/app.yaml".to_owned(), b"titel: Redis\n".to_vec())]);
//! let (_, problems) = package::read(&files);
//! let problem = problems.iter().find(|problem| problem.line == 1).unwrap();
//! assert_eq!(problem.to_string(), ".registry/app.yaml:1:1: warning: `app.yaml` has no field `titel`");
//! assert_eq!(problem.hint.as_deref(), Some("did you mean `title`?"));
//! ```

mod annotate;
mod app;
mod crds;
mod document;
mod fields;
mod icon;
pub mod image;
mod install;
pub mod layout;
mod manifests;
mod notes;
mod problem;
mod stack;
mod templates;

use std::collections::BTreeMap;

use api::key::Owned;
use api::{App, Crd, Stack};
pub use manifests::stream;
pub use problem::{Problem, Severity};

use crate::layout::Place;
use crate::notes::Notes;
use crate::problem::Problems;

/// The files of a package by path, from the root of the package or of its `.registry` directory.
/// Paths have slashes.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A package.
#[derive(Debug, Clone)]
pub struct Package {
    /// What `app.yaml` says.
    pub app: App,
    /// The CRDs, in the order of their files.
    pub crds: Vec<CrdFile>,
    /// Whether these are all that the package has. If not, its templates may be about kinds that
    /// nobody knows.
    pub all_crds: bool,
    /// Whether `app.yaml` could be read with all that the package depends on.
    pub all_dependencies: bool,
    /// By key of a kind and then by name: the templates of its children.
    pub templates: BTreeMap<String, BTreeMap<String, Source>>,
    /// By key of a kind: the template of its status.
    pub template_status: BTreeMap<String, Source>,
    /// By directory and then by name: what templates include.
    pub partials: BTreeMap<String, BTreeMap<String, Source>>,
    /// The Stack that installing would create, without a name.
    pub stack: Stack,
}

/// A CRD and where it was written.
#[derive(Debug, Clone)]
pub struct CrdFile {
    /// The CRD.
    pub crd: Crd,
    /// The file.
    pub file: String,
    /// The line on which its document begins, counted from one.
    pub line: usize,
    /// The other files that versions of it were written in.
    pub more: Vec<String>,
}

/// A text and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The text.
    pub text: String,
}

impl Package {
    /// The kinds that the package owns, in the order of its CRDs.
    pub fn owned(&self) -> Vec<Owned> {
        self.crds.iter().map(|file| Owned::of(&file.crd)).collect()
    }

    /// The CRD of a kind.
    pub fn crd(&self, group: &str, kind: &str) -> Option<&Crd> {
        self.crds
            .iter()
            .map(|file| &file.crd)
            .find(|crd| crd.group == group && crd.names.kind == kind)
    }
}

/// Reads a package, with everything that is wrong with it in the order of files and lines. What
/// could not be read is left out.
pub fn read(files: &Files) -> (Package, Vec<Problem>) {
    let mut problems = Problems::default();
    let mut app = None;
    let mut has_app = false;
    let mut app_sound = false;
    let mut install = None;
    let mut parts = Vec::new();
    let mut all_crds = true;
    let mut notes = Notes::default();
    let mut tree = templates::Tree::default();
    let root = layout::root(files.keys().map(String::as_str));
    if root.is_none() {
        problems.error(
            "",
            "this is no package: there is no `.registry` directory",
            Some("put `app.yaml` into it".into()),
        );
    }
    let inside = files
        .iter()
        .filter_map(|(path, bytes)| Some((path, path.strip_prefix(root?)?, bytes)));
    for (path, inner, bytes) in inside {
        match layout::place(inner) {
            Place::App => {
                has_app = true;
                let before = problems.errors();
                app = app::read(path, bytes, &mut problems);
                app_sound = problems.errors() == before;
            }
            Place::Install => install = install::read(path, bytes, &mut problems),
            Place::Crd => all_crds &= crds::read(path, bytes, &mut parts, &mut problems),
            Place::Template { key, name } => tree.template(key, name, path, bytes, &mut problems),
            Place::Status { key } => tree.status(key, path, bytes, &mut problems),
            Place::Partial { key, name } => tree.partial(key, name, path, bytes, &mut problems),
            Place::Group => notes.group(path, inner, bytes, &mut problems),
            Place::Resource => notes.resource(path, inner, bytes, &mut problems),
            Place::UiSchema => notes.ui_schema(path, inner, bytes, &mut problems),
            Place::Icon => notes.icon(path, inner, bytes, &mut problems),
            Place::Ignored => {}
            Place::Misplaced { what, hint } => problems.error(path, what, Some(hint)),
            Place::Unknown { hint } => problems.warning(path, "nothing reads this file", hint),
        }
    }
    if let (Some(root), false) = (root, has_app) {
        problems.error(
            &format!("{root}app.yaml"),
            "the package has no `app.yaml`",
            Some("it holds at least a title".into()),
        );
    }
    let app = app.or_else(|| app_sound.then(App::default));
    let mut crds = crds::unite(parts, &mut problems);
    crds::check(
        &crds,
        app.as_ref().map(|app| app.permission_scope),
        &mut problems,
    );
    let mut app = app.unwrap_or_default();
    annotate::icons(&mut app, &notes);
    annotate::annotate(
        &mut crds,
        &app,
        &notes,
        root.unwrap_or_default(),
        &mut problems,
    );
    // What is missing because a file could not be read is not worth telling beside that file.
    if all_crds {
        notes.check(&crds, root.unwrap_or_default(), &mut problems);
    }
    if all_crds && crds.is_empty() && root.is_some() {
        let hint = "put its CRDs into files below `resources` that end in `crd.yaml`";
        problems.warning(
            root.unwrap_or_default(),
            "the package has no CRD",
            Some(hint.into()),
        );
    }
    let sorted = tree.sort(&crds, all_crds, &mut problems);
    crds::check_status(&crds, &sorted, &mut problems);
    let stack = stack::build(
        &app,
        &crds,
        install,
        &sorted,
        root.unwrap_or_default(),
        &mut problems,
    );
    let templates::Sorted {
        templates,
        template_status,
        partials,
        ..
    } = sorted;
    let all_dependencies = app_sound;
    let package = Package {
        app,
        crds,
        all_crds,
        all_dependencies,
        templates,
        template_status,
        partials,
        stack,
    };
    (package, problems.sorted())
}
