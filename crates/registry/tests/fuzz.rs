//! A bounded fuzz run on stable: answers of registries, names of images and pull secrets, cut up
//! and mixed.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[path = "../../../fuzz/bodies/answers.rs"]
mod answers;

#[test]
fn no_answer_of_a_registry_breaks_its_reader() {
    mutate::run("answers", 3000, answers::answers);
}
