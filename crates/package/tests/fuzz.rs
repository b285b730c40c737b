//! A bounded fuzz run on stable: layers of images and files of packages, cut up and mixed.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[path = "../../../fuzz/bodies/layers.rs"]
mod layers;
#[path = "../../../fuzz/bodies/package.rs"]
mod package;

#[test]
fn no_layer_breaks_its_reader() {
    mutate::run("layers", 1500, layers::layers);
}

#[test]
fn no_package_breaks_its_reader() {
    mutate::run("package", 1500, package::package);
}
