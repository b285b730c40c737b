//! A bounded fuzz run on stable: CRDs, objects and changes to them, cut up and mixed.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "../../../fuzz/bodies/mutate.rs"]
mod mutate;

#[path = "../../../fuzz/bodies/patches.rs"]
mod patches;
#[path = "../../../fuzz/bodies/schema.rs"]
mod schema;

#[test]
fn no_schema_breaks_what_reads_objects_by_it() {
    mutate::run("schema", 800, schema::schema);
}

#[test]
fn no_patch_breaks_an_object() {
    mutate::run("patches", 1500, patches::patches);
}
