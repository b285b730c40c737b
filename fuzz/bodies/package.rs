//! What a fuzzer does with bytes: takes them for the files of a package, and reads it, builds its
//! image, and reads that again. Nothing may panic, and what was built is read as what it was.

use package::image::{Archive, Image};
use package::{Files, Severity};

const PATHS: [&str; 12] = [
    ".registry/app.yaml",
    ".registry/install.yaml",
    ".registry/icon.svg",
    ".registry/resources/example.org/group.yaml",
    ".registry/resources/example.org/app/resource.yaml",
    ".registry/resources/example.org/app/ui-schema.yaml",
    ".registry/resources/example.org/app/v1/app.v1.crd.yaml",
    ".registry/resources/example.org/other/v1/other.v1.crd.yaml",
    ".registry/templates/app.example.org/v1/web.yaml",
    ".registry/templates/app.example.org/v1/status.yaml",
    ".registry/templates/app.example.org/v1/_helpers.tpl",
    ".registry/templates/app.example.org/web.yml",
];

/// Files, each up to a NUL: the first byte is its path, the rest is what is in it.
pub fn package(bytes: &[u8]) {
    let mut files = Files::new();
    for part in bytes.split(|byte| *byte == 0) {
        let [path, content @ ..] = part else { continue };
        files.insert(
            PATHS[usize::from(*path) % PATHS.len()].to_owned(),
            content.to_vec(),
        );
    }
    let (read, problems) = package::read(&files);
    if problems
        .iter()
        .any(|problem| problem.severity == Severity::Error)
    {
        return;
    }
    let image = Image::build(&files, &read);
    let archive = Archive::read(Archive::write(&image, Some("v1")).as_slice())
        .expect("an image that was built");
    let again = archive.files().expect("files that were built");
    assert_eq!(
        Image::build(&again, &package::read(&again).0)
            .manifest
            .digest,
        image.manifest.digest
    );
}
