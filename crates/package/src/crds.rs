//! Reads the CRDs of a package, unites versions of one that are in several files, and checks them
//! against each other.

use std::cmp::Reverse;

use api::{Crd, PermissionScope, Scope};
use objects::Path;
use serde_json::Value;

use crate::CrdFile;
use crate::document::{Document, documents_and_all};
use crate::problem::{Problem, Problems, Severity};
use crate::templates::Sorted;

/// A CRD as one document has it, perhaps with some of its versions only.
pub(crate) struct Part {
    crd: Crd,
    file: String,
    /// Where its document begins.
    line: usize,
    /// Where its names, its scope and its versions were written.
    names: (usize, usize),
    scope: (usize, usize),
    versions: (usize, usize),
    /// Where each of its versions was written.
    each: Vec<(usize, usize)>,
}

impl Part {
    fn new(crd: Crd, document: &Document<'_>) -> Self {
        let at = |fields: &[&str]| document.at(&Path::fields(fields));
        let versions = Path::fields(&["spec", "versions"]);
        // The document itself begins where its first key is, after separators and comments.
        let (line, _) = document.at(&Path::root());
        Self {
            file: document.file.to_owned(),
            line,
            names: at(&["spec", "names"]),
            scope: at(&["spec", "scope"]),
            versions: at(&["spec", "versions"]),
            each: (0..crd.versions.len())
                .map(|index| document.at(&versions.child(index).child("name")))
                .collect(),
            crd,
        }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    fn error(
        &self,
        (line, column): (usize, usize),
        what: String,
        hint: &str,
        problems: &mut Problems,
    ) {
        let (severity, file, hint) = (Severity::Error, self.file.clone(), Some(hint.to_owned()));
        problems.push(Problem {
            severity,
            file,
            line,
            column,
            what,
            hint,
        });
    }
}

/// Reads a file of CRDs, and says whether all that is in it could be read.
pub(crate) fn read(
    file: &str,
    bytes: &[u8],
    parts: &mut Vec<Part>,
    problems: &mut Problems,
) -> bool {
    let (documents, mut all) = documents_and_all(file, bytes, problems);
    for document in documents {
        let (crd, found) = Crd::read_part(&document.value);
        for problem in found {
            document.say(
                problem.severity,
                &problem.path,
                problem.what,
                problem.hint,
                problems,
            );
        }
        check_conversion(&document, problems);
        match crd {
            Some(crd) => parts.push(Part::new(crd, &document)),
            None => all = false,
        }
    }
    all
}

/// A conversion by webhook sees and may change every object of the kind, in all namespaces: no
/// package brings one.
fn check_conversion(document: &Document<'_>, problems: &mut Problems) {
    let conversion = &document.value["spec"]["conversion"];
    let is_none = match conversion {
        Value::Null => true,
        Value::Object(fields) => fields
            .iter()
            .all(|(name, value)| name == "strategy" && value == "None"),
        _ => false,
    };
    if !is_none {
        let path = Path::fields(&["spec", "conversion"]);
        let inner = path.child("strategy");
        let path = if conversion
            .get("strategy")
            .is_some_and(|strategy| strategy != "None")
        {
            inner
        } else {
            path
        };
        let what = match conversion.get("strategy").and_then(Value::as_str) {
            Some(strategy) => {
                format!(
                    "a CRD of a package has no conversion, but this one has the strategy `{strategy}`"
                )
            }
            None => "a CRD of a package has no conversion".to_owned(),
        };
        let hint = "leave `conversion` out: all versions are served from what is stored".to_owned();
        document.error(&path, what, Some(hint), problems);
    }
}

/// Unites documents that define versions of the same CRD.
pub(crate) fn unite(parts: Vec<Part>, problems: &mut Problems) -> Vec<CrdFile> {
    let mut united: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        match united
            .iter_mut()
            .find(|same| same[0].crd.name == part.crd.name)
        {
            Some(same) => same.push(part),
            None => united.push(vec![part]),
        }
    }
    united
        .into_iter()
        .filter_map(|same| one_of(same, problems))
        .collect()
}

/// One CRD of all documents about it.
fn one_of(mut parts: Vec<Part>, problems: &mut Problems) -> Option<CrdFile> {
    let stored = store(&mut parts, problems);
    let (first, more) = parts.split_first()?;
    let mut object = first.crd.object.clone();
    for (index, part) in more.iter().enumerate() {
        let before = std::iter::once(first).chain(&more[..index]);
        agree(first, part, problems);
        for (version, place) in part.crd.versions.iter().zip(&part.each) {
            if let Some(other) = before
                .clone()
                .find(|other| other.crd.version(&version.name).is_some())
            {
                let what = format!(
                    "the version `{}` of the CRD `{}` is defined twice, first in {}",
                    version.name,
                    part.crd.name,
                    other.place()
                );
                part.error(*place, what, "define each version in one place", problems);
            }
        }
        let versions = part.crd.object["spec"]["versions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if let Some(all) = object["spec"]["versions"].as_array_mut() {
            let is_new =
                |version: &Value| !all.iter().any(|other| other["name"] == version["name"]);
            let new: Vec<Value> = versions.into_iter().filter(is_new).collect();
            all.extend(new);
        }
        for field in ["labels", "annotations"] {
            for (key, value) in part.crd.object["metadata"][field]
                .as_object()
                .into_iter()
                .flatten()
            {
                if object["metadata"][field].is_null() {
                    object["metadata"][field] = Value::Object(serde_json::Map::new());
                }
                if let Some(all) = object["metadata"][field].as_object_mut() {
                    all.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
    // What is said of a kind is looked for beside the version that is stored.
    let main = &parts[stored];
    let more = parts
        .iter()
        .map(|part| part.file.clone())
        .filter(|file| *file != main.file)
        .collect();
    let crd = if parts.len() == 1 {
        main.crd.clone()
    } else {
        Crd::read_part(&object).0?
    };
    Some(CrdFile {
        crd,
        file: main.file.clone(),
        line: main.line,
        more,
    })
}

/// Both parts of a CRD say the same of the kind.
fn agree(first: &Part, part: &Part, problems: &mut Problems) {
    if first.crd.names != part.crd.names {
        let what = format!(
            "the CRD `{}` has other names in {}",
            part.crd.name,
            first.place()
        );
        part.error(
            part.names,
            what,
            "write the same `names` in every file of the CRD",
            problems,
        );
    }
    if first.crd.scope != part.crd.scope {
        let what = format!(
            "the CRD `{}` is {:?} here and {:?} in {}",
            part.crd.name,
            part.crd.scope,
            first.crd.scope,
            first.place()
        );
        part.error(
            part.scope,
            what,
            "write the same `scope` in every file of the CRD",
            problems,
        );
    }
}

/// Sees to it that one version is stored: the only one that says so or, if several files do, the
/// most stable and newest of these. Answers which part it is in.
fn store(parts: &mut [Part], problems: &mut Problems) -> usize {
    let said: Vec<(usize, String)> = parts
        .iter()
        .enumerate()
        .flat_map(|(index, part)| {
            part.crd
                .versions
                .iter()
                .filter(|own| own.storage)
                .map(move |own| (index, own.name.clone()))
        })
        .collect();
    for part in parts.iter().filter(|part| !part.crd.versions.is_empty()) {
        let own: Vec<&str> = part
            .crd
            .versions
            .iter()
            .filter(|own| own.storage)
            .map(|own| own.name.as_str())
            .collect();
        let what = match own.as_slice() {
            [] if said.is_empty() => "no version is stored".to_owned(),
            [] | [_] => continue,
            several => format!("more than one version is stored: {}", several.join(", ")),
        };
        part.error(
            part.versions,
            what,
            "set `storage: true` on exactly one",
            problems,
        );
    }
    let Some((chosen, name)) = said
        .iter()
        .max_by_key(|(index, name)| (rank(name), Reverse(*index)))
        .cloned()
    else {
        return 0;
    };
    if said.len() > 1 {
        for part in parts {
            for version in &mut part.crd.versions {
                version.storage = version.name == name;
            }
            for version in part.crd.object["spec"]["versions"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                version["storage"] = Value::Bool(version["name"] == name.as_str());
            }
        }
    }
    chosen
}

/// The order of versions that Kubernetes goes by: v2, v1, v1beta2, v1beta1, v1alpha1, and then what
/// is none of these.
fn rank(version: &str) -> (u8, u64, u64, Reverse<String>) {
    let other = (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else {
        return other;
    };
    let digits = rest.len()
        - rest
            .trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len();
    let (major, rest) = rest.split_at(digits);
    let Ok(major) = major.parse::<u64>() else {
        return other;
    };
    let (stability, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        _ if rest.is_empty() => return (3, major, 0, Reverse(String::new())),
        (Some(minor), _) => (2, minor),
        (_, Some(minor)) => (1, minor),
        _ => return other,
    };
    minor.parse::<u64>().map_or(other, |minor| {
        (stability, major, minor, Reverse(String::new()))
    })
}

/// All CRDs are in the scope of the package, if that is known.
pub(crate) fn check(crds: &[CrdFile], scope: Option<PermissionScope>, problems: &mut Problems) {
    for file in crds {
        if file.crd.scope == Scope::Cluster && scope == Some(PermissionScope::Namespaced) {
            let what = format!(
                "`{}` is cluster-scoped, but the package is only for a namespace",
                file.crd.names.kind
            );
            push(
                file,
                what,
                "write `permissionScope: Cluster` in `app.yaml`, or `scope: Namespaced` here",
                problems,
            );
        }
    }
}

/// A status that controllers write has to be a subresource.
pub(crate) fn check_status(crds: &[CrdFile], sorted: &Sorted, problems: &mut Problems) {
    for (index, version) in &sorted.versions {
        let Some(file) = crds.get(*index) else {
            continue;
        };
        let Some(own) = file.crd.version(version).filter(|own| !own.status) else {
            continue;
        };
        if own.schema.properties.contains_key("status") {
            problems.push(Problem {
                severity: Severity::Warning,
                file: file.file.clone(),
                line: file.line,
                column: 1,
                what: format!(
                    "the status of `{}` is no subresource: whoever writes the object writes its status, too",
                    file.crd.names.kind
                ),
                hint: Some(format!("write `subresources: {{status: {{}}}}` below version `{version}`")),
            });
        }
    }
}

fn push(file: &CrdFile, what: String, hint: &str, problems: &mut Problems) {
    problems.push(Problem {
        severity: Severity::Error,
        file: file.file.clone(),
        line: file.line,
        column: 1,
        what,
        hint: Some(hint.to_owned()),
    });
}

#[cfg(test)]
mod tests {
    use super::rank;

    #[test]
    fn versions_are_ordered_as_kubernetes_does() {
        let order = [
            "v10",
            "v2",
            "v1",
            "v3beta1",
            "v1beta10",
            "v1beta2",
            "v1beta1",
            "v11alpha2",
            "v1alpha1",
            "foo1",
            "foo10",
        ];
        assert!(
            order.windows(2).all(|pair| rank(pair[0]) > rank(pair[1])),
            "{:?}",
            order.map(rank)
        );
    }
}
