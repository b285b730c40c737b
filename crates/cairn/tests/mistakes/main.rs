//! Mistakes that authors of packages make, each in a copy of an example: what the program prints
//! names the place, says what is wrong and what to do. The words of a message may change; its place
//! and what it has to mention may not.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod decoded;
mod given;
mod package;
mod rules;
#[path = "../support/mod.rs"]
mod support;

use std::fs;

use support::{cairn, example, told};

/// A replacement in one file, what is run after it, and what has to be printed.
pub struct Mistake {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    args: &'static [&'static str],
    says: &'static [&'static str],
}

/// What the program says of a mistake, if it misses something of what it has to say.
fn missed(mistake: &Mistake) -> Option<String> {
    let Mistake {
        name,
        file,
        from,
        to,
        args,
        says,
    } = mistake;
    let place = example("caching-web-service");
    let path = place.path().join(file);
    let text = fs::read_to_string(&path).expect("the file");
    assert!(text.contains(from), "{name}: {file} has no {from:?}");
    fs::write(&path, text.replacen(from, to, 1)).expect("the file is written");
    let output = cairn(place.path(), args);
    let told = told(args, &output);
    // A warning does not fail; everything else ends with 1, and nothing ends in a panic.
    let code = i32::from(!says.contains(&"warning"));
    let lacks: Vec<_> = says
        .iter()
        .filter(|words| !told.contains(**words))
        .collect();
    (output.status.code() != Some(code) || !lacks.is_empty()).then(|| {
        format!(
            "{name}: {:?}, lacks {lacks:?} in\n{told}",
            output.status.code()
        )
    })
}

#[test]
fn every_mistake_is_told_with_its_place_and_what_to_do() {
    let missed: Vec<String> = [
        package::MISTAKES,
        given::MISTAKES,
        decoded::MISTAKES,
        rules::MISTAKES,
    ]
    .into_iter()
    .flatten()
    .filter_map(missed)
    .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
#[cfg(unix)]
fn a_link_in_a_package_is_told_of() {
    let place = example("caching-web-service");
    let folder = place
        .path()
        .join(".registry/templates/cachingwebservice.example.org/v1");
    std::os::unix::fs::symlink("cache.yaml", folder.join("other.yaml")).expect("a link");
    let output = cairn(place.path(), &["validate", "."]);
    let told = told(&["validate"], &output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains(".registry/templates/cachingwebservice.example.org/v1/other.yaml: this is a symbolic link"),
        "{told}"
    );
}

#[test]
fn a_status_that_is_refused_is_not_shown_as_if_it_were_set() {
    for (status, shown) in [
        ("cache: x\nready: \"{{ .spec.replicas }}\"\n", false),
        ("cache: x\n", true),
        ("{{/* none */}}", false),
    ] {
        let place = example("caching-web-service");
        let file = ".registry/templates/cachingwebservice.example.org/v1/status.yaml";
        fs::write(place.path().join(file), status).expect("the file is written");
        let output = cairn(place.path(), &["render", ".", "-f", "cacheme.yaml"]);
        let told = told(&[status], &output);
        assert_eq!(told.contains("# status\n"), shown, "{told}");
    }
}

#[test]
fn an_instance_that_is_refused_is_not_the_one_to_begin_with() {
    let place = example("caching-web-service");
    let refused =
        "apiVersion: example.org/v1\nkind: CachingWebService\nmetadata: {name: bad}\nspec: {}\n";
    fs::write(place.path().join("bad.yaml"), refused).expect("the file is written");
    let output = cairn(place.path(), &["render", "."]);
    let told = told(&["render"], &output);
    assert!(
        output.status.success() && told.contains("with the instance ./cacheme.yaml"),
        "{told}"
    );
}
