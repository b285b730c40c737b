//! What an install does with a CRD costs as much as the CRD is large, however deep its schema is.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

#[path = "../../objects/tests/support/deep.rs"]
mod deep;

use api::Crd;
use deep::{WAYS, assert_linear, definition, pods};
use install::{LiveCrd, breakages, can_become, covers};
use objects::Schema;
use serde_json::{Value, json};

type Work = fn(&Value);

/// Everything that decides about a CRD, by name.
const WORK: [(&str, Work); 5] = [
    ("reading", |object| drop(Crd::read(object))),
    ("breakages", |object| {
        let crd = read(object);
        assert!(breakages(&crd, &crd, &["v1".to_owned()]).is_empty());
        assert!(can_become(&crd, &crd, &["v1".to_owned()]));
    }),
    ("likeness", |object| {
        let live = LiveCrd::read(object).expect("a CRD");
        assert!(live.is_like(object));
    }),
    ("covering", |object| assert!(covers(object, object))),
    ("paths", |object| {
        let (schema, _) = Schema::read(&object["spec"]["versions"][0]["schema"]["openAPIV3Schema"]);
        let steps: Vec<&str> = std::iter::once("spec")
            .chain(std::iter::repeat_n("a", 60))
            .collect();
        schema.lookup(&objects::Path::fields(&steps));
    }),
];

fn read(object: &Value) -> Crd {
    let (crd, problems) = Crd::read(object);
    assert!(
        problems
            .iter()
            .all(|problem| problem.severity != api::Severity::Error),
        "{problems:?}"
    );
    crd.expect("a CRD")
}

#[test]
fn work_on_a_crd_grows_with_its_size_and_not_with_the_power_of_its_depth() {
    for (way, grow) in WAYS {
        let (once, twice) = (
            definition("a", &deep::deep(grow, 15)),
            definition("a", &deep::deep(grow, 30)),
        );
        for (what, work) in WORK {
            assert_linear(&format!("{what} of {way}"), || work(&once), || work(&twice));
        }
    }
}

#[test]
fn work_on_a_wide_crd_grows_with_its_size() {
    let (once, twice) = (definition("a", &pods(8)), definition("a", &pods(16)));
    for (what, work) in WORK {
        assert_linear(&format!("{what} of pods"), || work(&once), || work(&twice));
    }
    let versions = |count: usize| {
        let mut object = definition("a", &json!({"type": "object"}));
        let first = object["spec"]["versions"][0].clone();
        let many = (0..count).map(|index| {
            let mut version = first.clone();
            version["name"] = json!(format!("v{index}"));
            version["storage"] = json!(index == 0);
            version
        });
        object["spec"]["versions"] = many.collect();
        object
    };
    let (once, twice) = (versions(400), versions(800));
    for (what, work) in WORK
        .iter()
        .filter(|(what, _)| ["reading", "likeness", "covering"].contains(what))
    {
        assert_linear(
            &format!("{what} of versions"),
            || work(&once),
            || work(&twice),
        );
    }
}

#[test]
fn a_schema_over_the_limit_is_refused_with_its_place() {
    for (way, grow) in WAYS {
        let (_, problems) = Crd::read(&definition("a", &deep::deep(grow, 120)));
        let told = problems
            .iter()
            .any(|problem| problem.what.contains("is nested more than 100 levels deep"));
        assert!(told, "{way}: {problems:?}");
    }
}
