//! Reads the CRDs of a package and checks them against each other.

use api::{Crd, PermissionScope, Scope};
use objects::Path;

use crate::CrdFile;
use crate::document::documents_and_all;
use crate::problem::{Problem, Problems, Severity};
use crate::templates::Sorted;

/// Reads a file of CRDs, and says whether all that is in it could be read.
pub(crate) fn read(file: &str, bytes: &[u8], crds: &mut Vec<CrdFile>, problems: &mut Problems) -> bool {
    let (documents, mut all) = documents_and_all(file, bytes, problems);
    for document in documents {
        let (crd, found) = Crd::read(&document.value);
        for problem in found {
            document.say(problem.severity, &problem.path, problem.what, problem.hint, problems);
        }
        // The document itself begins where its first key is, after separators and comments.
        let (line, _) = document.at(&Path::root());
        match crd {
            Some(crd) => crds.push(CrdFile { crd, file: file.to_owned(), line }),
            None => all = false,
        }
    }
    all
}

/// No CRD is there twice, and all are in the scope of the package, if that is known.
pub(crate) fn check(crds: &[CrdFile], scope: Option<PermissionScope>, problems: &mut Problems) {
    for (index, file) in crds.iter().enumerate() {
        if let Some(first) = crds[..index].iter().find(|first| first.crd.name == file.crd.name) {
            let what = format!("the CRD `{}` is there twice, first at {}:{}", file.crd.name, first.file, first.line);
            push(file, what, "put all versions of a kind into one CRD", problems);
        }
        if file.crd.scope == Scope::Cluster && scope == Some(PermissionScope::Namespaced) {
            let what = format!("`{}` is cluster-scoped, but the package is only for a namespace", file.crd.names.kind);
            push(file, what, "write `permissionScope: Cluster` in `app.yaml`, or `scope: Namespaced` here", problems);
        }
    }
}

/// A status that controllers write has to be a subresource.
pub(crate) fn check_status(crds: &[CrdFile], sorted: &Sorted, problems: &mut Problems) {
    for (index, version) in &sorted.versions {
        let Some(file) = crds.get(*index) else { continue };
        let Some(own) = file.crd.version(version).filter(|own| !own.status) else { continue };
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
