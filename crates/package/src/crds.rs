//! Reads the CRDs of a package and checks them against each other.

use api::{Crd, PermissionScope, Scope};
use objects::Path;

use crate::CrdFile;
use crate::document::documents;
use crate::problem::{Problem, Problems, Severity};

/// Reads a file of CRDs, and says whether all that is in it could be read.
pub(crate) fn read(file: &str, bytes: &[u8], crds: &mut Vec<CrdFile>, problems: &mut Problems) -> bool {
    let before = problems.errors();
    let documents = documents(file, bytes, problems);
    let mut all = problems.errors() == before;
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

/// No CRD is there twice, and all are in the scope of the package.
pub(crate) fn check(crds: &[CrdFile], scope: PermissionScope, problems: &mut Problems) {
    for (index, file) in crds.iter().enumerate() {
        if let Some(first) = crds[..index].iter().find(|first| first.crd.name == file.crd.name) {
            let what = format!("the CRD `{}` is there twice, first at {}:{}", file.crd.name, first.file, first.line);
            push(file, what, "put all versions of a kind into one CRD", problems);
        }
        if file.crd.scope == Scope::Cluster && scope == PermissionScope::Namespaced {
            let what = format!("`{}` is cluster-scoped, but the package is only for a namespace", file.crd.names.kind);
            push(file, what, "write `permissionScope: Cluster` in `app.yaml`, or `scope: Namespaced` here", problems);
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
