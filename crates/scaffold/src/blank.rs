//! A small, complete stack to begin with: a page, the pods that serve it and an address, with words
//! on everything.

use package::Files;

use crate::names::Names;

/// The files by what they are called in a package; `@NAME@` and its like are filled in, in paths
/// too.
const FILES: [(&str, &str); 9] = [
    (".registry/app.yaml", include_str!("blank/app.yaml")),
    (
        ".registry/resources/@SINGULAR@.crd.yaml",
        include_str!("blank/crd.yaml"),
    ),
    (
        ".registry/templates/@KEY@/config.yaml",
        include_str!("blank/config.yaml"),
    ),
    (
        ".registry/templates/@KEY@/deployment.yaml",
        include_str!("blank/deployment.yaml"),
    ),
    (
        ".registry/templates/@KEY@/service.yaml",
        include_str!("blank/service.yaml"),
    ),
    (
        ".registry/templates/@KEY@/status.yaml",
        include_str!("blank/status.yaml"),
    ),
    (
        ".registry/templates/lib/labels.tpl",
        include_str!("blank/labels.tpl"),
    ),
    ("@NAME@.yaml", include_str!("blank/instance.yaml")),
    ("tests/@NAME@.yaml", include_str!("blank/test.yaml")),
];

/// The files of a new stack.
pub fn blank(names: &Names) -> Files {
    let filled = |text: &str| {
        [
            ("@NAME@", names.name.as_str()),
            ("@TITLE@", &names.title()),
            ("@GROUP@", &names.group),
            ("@KIND@", &names.kind),
            ("@SINGULAR@", &names.singular),
            ("@PLURAL@", &names.plural),
            ("@KEY@", &names.key()),
            ("@CONDITIONS@\n", &super::conditions(14)),
        ]
        .iter()
        .fold(text.to_string(), |text, (word, value)| {
            text.replace(word, value)
        })
    };
    FILES
        .iter()
        .map(|(path, text)| (filled(path), filled(text).into_bytes()))
        .collect()
}
