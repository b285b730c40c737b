//! What a path inside a package means. Nothing else looks at paths.

use objects::nearest;

/// Where packages keep their files.
pub const DIRECTORY: &str = ".registry/";

/// What a file is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place<'p> {
    /// Metadata of the package.
    App,
    /// The Deployment of its controller.
    Install,
    /// Metadata of a group of kinds.
    Group,
    /// Metadata of a kind.
    Resource,
    /// How a form for a kind looks.
    UiSchema,
    /// A picture.
    Icon,
    /// One or more CRDs.
    Crd,
    /// A template of a child.
    Template {
        /// The directory below `templates`.
        key: &'p str,
        /// The name of the file without its ending.
        name: &'p str,
    },
    /// The template of a status.
    Status {
        /// The directory below `templates`.
        key: &'p str,
    },
    /// Something that templates include.
    Partial {
        /// The directory below `templates`.
        key: &'p str,
        /// The name of the file without its ending.
        name: &'p str,
    },
    /// Something for people or tools.
    Ignored,
    /// Something that is in a wrong place.
    Misplaced {
        /// What is wrong.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// Anything else.
    Unknown {
        /// What it was perhaps meant to be.
        hint: Option<String>,
    },
}

const ICONS: [&str; 5] = ["icon.svg", "icon.png", "icon.jpg", "icon.jpeg", "icon.gif"];
/// The names of files, without `.yaml`: those at the root of a package, and those beside CRDs.
const ROOT_NAMES: [&str; 2] = ["app", "install"];
const NAMES: [&str; 4] = ["ui-schema", "group", "resource", "crd"];
/// For people: read by nothing, and no reason to say so.
const PAPERS: [&str; 4] = ["README", "LICENSE", "CHANGELOG", "NOTICE"];

/// The part of all paths before the package's own files: `.registry/`, or nothing when the files
/// are those of such a directory. None when they are neither.
pub fn root<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> Option<&'static str> {
    if paths.clone().any(|path| path.starts_with(DIRECTORY)) {
        return Some(DIRECTORY);
    }
    let own = |path: &str| {
        matches!(path, "app.yaml" | "install.yaml")
            || path.starts_with("resources/")
            || path.starts_with("templates/")
    };
    paths.into_iter().any(own).then_some("")
}

/// What the file at `path`, from the root of the package, is for.
pub fn place(path: &str) -> Place<'_> {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    if file.starts_with('.')
        || PAPERS
            .iter()
            .any(|paper| file.split('.').next() == Some(paper))
    {
        return Place::Ignored;
    }
    match directory.split('/').next().unwrap_or_default() {
        "templates" => template(
            directory.strip_prefix("templates/").unwrap_or_default(),
            file,
        ),
        "tests" => Place::Ignored,
        first if nearest(first, ["templates"]).is_some() => Place::Unknown {
            hint: Some("did you mean `templates/`?".to_owned()),
        },
        "" => match file {
            "app.yaml" => Place::App,
            "install.yaml" => Place::Install,
            _ => resource(file, &ROOT_NAMES),
        },
        _ => match file {
            "app.yaml" | "install.yaml" => Place::Unknown {
                hint: Some(format!("`{file}` belongs to the root of the package")),
            },
            "group.yaml" => Place::Group,
            _ => resource(file, &NAMES),
        },
    }
}

fn resource<'p>(file: &'p str, names: &[&str]) -> Place<'p> {
    if file.ends_with("crd.yaml") {
        Place::Crd
    } else if file.ends_with("resource.yaml") {
        Place::Resource
    } else if file.ends_with("ui-schema.yaml") {
        Place::UiSchema
    } else if ICONS.iter().any(|icon| file.ends_with(icon)) {
        Place::Icon
    } else {
        Place::Unknown {
            hint: unknown(file, names),
        }
    }
}

fn unknown(file: &str, names: &[&str]) -> Option<String> {
    if let Some(stem) = file.strip_suffix(".yml") {
        return Some(format!("call it `{stem}.yaml`"));
    }
    let stem = file.strip_suffix(".yaml")?;
    if let Some(near) = nearest(stem, names.iter().copied()) {
        return Some(format!("did you mean `{near}.yaml`?"));
    }
    Some(format!("if it holds a CRD, call it `{stem}.crd.yaml`"))
}

fn template<'p>(key: &'p str, file: &'p str) -> Place<'p> {
    let hint =
        || "templates are in files that end in `.yaml`, what they include in `.tpl`".to_owned();
    let Some((name, ending)) = file.rsplit_once('.') else {
        return Place::Unknown { hint: Some(hint()) };
    };
    match ending {
        "tpl" => Place::Partial { key, name },
        "yaml" if key.is_empty() => Place::Misplaced {
            what: "it cannot be told which kind this template is for".to_owned(),
            hint: format!(
                "put it into a directory for its kind: `templates/<kind>.<group>/<version>/{file}`"
            ),
        },
        "yaml" if name == "status" => Place::Status { key },
        "yaml" => Place::Template { key, name },
        "yml" => Place::Unknown {
            hint: Some(format!("call it `{name}.yaml`")),
        },
        _ => Place::Unknown { hint: Some(hint()) },
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, place, root};

    #[test]
    fn every_path_of_the_seeds_layout_has_its_place() {
        for (path, expected) in [
            ("app.yaml", Place::App),
            ("install.yaml", Place::Install),
            ("icon.svg", Place::Icon),
            ("ui-schema.yaml", Place::UiSchema),
            ("resources/databases.foocompany.io/group.yaml", Place::Group),
            ("resources/databases.foocompany.io/icon.svg", Place::Icon),
            (
                "resources/databases.foocompany.io/mysql/v1alpha1/mysql.v1alpha1.crd.yaml",
                Place::Crd,
            ),
            (
                "resources/databases.foocompany.io/mysql/v1alpha1/resource.yaml",
                Place::Resource,
            ),
            (
                "resources/databases.foocompany.io/mysql/v1beta1/ui-schema.yaml",
                Place::UiSchema,
            ),
            ("resources/mytype.ui-schema.yaml", Place::UiSchema),
            ("resources/mytype.icon.png", Place::Icon),
            ("resources/mytype.resource.yaml", Place::Resource),
            ("resources/crd.yaml", Place::Crd),
            ("resources/very.descriptive.name.crd.yaml", Place::Crd),
            (
                "templates/redis.example.org/v1/deployment.yaml",
                Place::Template {
                    key: "redis.example.org/v1",
                    name: "deployment",
                },
            ),
            (
                "templates/redis.example.org/v1/status.yaml",
                Place::Status {
                    key: "redis.example.org/v1",
                },
            ),
            (
                "templates/any/other/dir/partial.tpl",
                Place::Partial {
                    key: "any/other/dir",
                    name: "partial",
                },
            ),
            (
                "templates/helpers.tpl",
                Place::Partial {
                    key: "",
                    name: "helpers",
                },
            ),
            ("README.md", Place::Ignored),
            ("resources/.DS_Store", Place::Ignored),
            ("tests/first.yaml", Place::Ignored),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
    }

    #[test]
    fn a_template_is_never_taken_for_metadata() {
        for name in [
            "app",
            "install",
            "crd",
            "resource",
            "group",
            "icon",
            "ui-schema",
        ] {
            let path = format!("templates/a.b/v1/{name}.yaml");
            assert_eq!(
                place(&path),
                Place::Template {
                    key: "a.b/v1",
                    name
                }
            );
        }
    }

    #[test]
    fn what_nothing_reads_is_said_with_what_was_meant() {
        for (path, expected) in [
            ("app.yml", Some("call it `app.yaml`")),
            ("ap.yaml", Some("did you mean `app.yaml`?")),
            (
                "resources/redis.yaml",
                Some("if it holds a CRD, call it `redis.crd.yaml`"),
            ),
            (
                "resources/shop.yaml",
                Some("if it holds a CRD, call it `shop.crd.yaml`"),
            ),
            (
                "shop.yaml",
                Some("if it holds a CRD, call it `shop.crd.yaml`"),
            ),
            (
                "resources/resorce.yaml",
                Some("did you mean `resource.yaml`?"),
            ),
            (
                "template/a.b/v1/web.yaml",
                Some("did you mean `templates/`?"),
            ),
            ("tempaltes/lib/web.tpl", Some("did you mean `templates/`?")),
            (
                "resources/app.yaml",
                Some("`app.yaml` belongs to the root of the package"),
            ),
            ("main.go", None),
            ("templates/a.b/v1/web.yml", Some("call it `web.yaml`")),
            ("", None),
            ("/", None),
        ] {
            let hint = expected.map(str::to_owned);
            assert_eq!(place(path), Place::Unknown { hint }, "{path}");
        }
        assert!(matches!(
            place("templates/web.yaml"),
            Place::Misplaced { .. }
        ));
    }

    #[test]
    fn the_root_is_the_registry_directory_or_the_files_are_in_it() {
        for (paths, expected) in [
            (
                &["Dockerfile", ".registry/app.yaml"][..],
                Some(".registry/"),
            ),
            (&["app.yaml"], Some("")),
            (&["templates/a.b/v1/c.yaml"], Some("")),
            (&["my.registry/app.yaml", "x"], None),
            (&[], None),
        ] {
            assert_eq!(root(paths.iter().copied()), expected, "{paths:?}");
        }
    }
}
