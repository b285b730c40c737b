//! A stack made of one text of manifests.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use scaffold::{Manifest, Names, Started, from_manifests};

pub fn started(name: &str, text: &str) -> Started {
    let names = Names::new(name, "example.org").expect("a good name");
    let manifests = [Manifest {
        file: "m.yaml".to_string(),
        text: text.to_string(),
    }];
    from_manifests(&names, &manifests).unwrap_or_else(|problems| panic!("{text}: {problems:#?}"))
}

/// The file whose path ends so.
pub fn text(started: &Started, end: &str) -> String {
    let (_, bytes) = started
        .files
        .iter()
        .find(|(path, _)| path.ends_with(end))
        .unwrap_or_else(|| panic!("no {end}"));
    String::from_utf8(bytes.clone()).expect("a text")
}
