//! Whose CRD it is: several installs may need one, the highest version of them says what it looks like, and it goes with
//! the last of them. A CRD that the stack manager did not make is never touched.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use api::annotations::{SPEC_HASH, SPEC_OWNER, SPEC_VERSION};
use api::{Crd, labels, names};
use package::image::Digest;
use serde_json::{Map, Value, json};

use super::drift::same_versions;
use super::{breakages, can_become};

/// A CRD of the cluster.
#[derive(Debug, Clone)]
pub struct LiveCrd {
    /// The definition.
    pub crd: Crd,
    /// Tells it from others of the same name, before and after it.
    pub uid: String,
    /// Tells it from itself before and after any change.
    pub revision: String,
    /// Whether its kind is served.
    pub established: bool,
    /// Why its names were not accepted, if they were not.
    pub rejected: Option<String>,
    /// The versions that objects are stored in.
    pub stored: Vec<String>,
    /// Whether it is going.
    pub deleting: bool,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

impl LiveCrd {
    /// Reads a CRD as the cluster has it; none if it cannot be one.
    pub fn read(object: &Value) -> Option<Self> {
        let (crd, _) = Crd::read(object);
        let condition = |kind: &str| {
            let all = object["status"]["conditions"].as_array()?;
            all.iter().find(|condition| condition["type"] == kind)
        };
        let texts = |part: &str| -> BTreeMap<String, String> {
            let part = object["metadata"][part].as_object();
            let texts = part.into_iter().flatten().filter_map(|(key, text)| Some((key.clone(), text.as_str()?.into())));
            texts.collect()
        };
        let text = |part: &str| object["metadata"][part].as_str().unwrap_or_default().to_owned();
        let rejected = condition("NamesAccepted").filter(|condition| condition["status"] == "False");
        Some(Self {
            crd: crd?,
            uid: text("uid"),
            revision: text("resourceVersion"),
            established: condition("Established").is_some_and(|condition| condition["status"] == "True"),
            rejected: rejected.map(|condition| condition["message"].as_str().unwrap_or_default().to_owned()),
            stored: object["status"]["storedVersions"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|version| Some(version.as_str()?.to_owned()))
                .collect(),
            deleting: !object["metadata"]["deletionTimestamp"].is_null(),
            labels: texts("labels"),
            annotations: texts("annotations"),
        })
    }

    /// Whether it is as it would be applied: all that is wanted, no mark of an install beyond that, and just these versions
    /// with just these schemas. What the server added elsewhere is no difference.
    pub fn is_like(&self, wanted: &Value) -> bool {
        let is_mark = |key: &str| key.starts_with(labels::PARENT_PREFIX) || key.starts_with(labels::NAMESPACE_PREFIX);
        let marked =
            self.labels.keys().filter(|key| is_mark(key)).all(|key| wanted["metadata"]["labels"].get(key).is_some());
        // Versions and schemas are compared first and whole, so that the rest need not look at them.
        let (live, wanted_versions) = (&self.crd.object["spec"]["versions"], &wanted["spec"]["versions"]);
        let mut rest = wanted.clone();
        if let Some(spec) = rest["spec"].as_object_mut() {
            spec.remove("versions");
        }
        marked && same_versions(live, wanted_versions) && super::covers(&self.crd.object, &rest)
    }

    /// Whether the stack manager made it, and may so change and delete it.
    pub fn is_ours(&self) -> bool {
        self.labels.get(labels::MANAGED_BY).is_some_and(|by| by == labels::MANAGED_BY_STACK_MANAGER)
    }

    /// Whether an install needs it.
    pub fn is_needed_by(&self, parent: &Parent) -> bool {
        self.labels.contains_key(&parent.label())
    }

    /// The installs that need it, by label, with their namespaces.
    fn parents(&self) -> BTreeMap<String, String> {
        let parents = self.labels.iter().filter(|(key, _)| key.starts_with(labels::PARENT_PREFIX));
        parents.map(|(key, namespace)| (key.clone(), namespace.clone())).collect()
    }

    /// The same without what an install needs it for, or nothing if that was the last and it has no objects.
    pub fn without(&self, parent: &Parent, has_objects: bool) -> Leaving {
        let mut parents = self.parents();
        parents.remove(&parent.label());
        if !self.is_ours() {
            return Leaving::Alone;
        }
        if parents.is_empty() && !has_objects {
            return Leaving::Delete;
        }
        Leaving::Apply(desired(&self.crd, &parents, &self.origin()))
    }

    fn origin(&self) -> Origin {
        let noted = |key: &str| self.annotations.get(key).cloned().unwrap_or_default();
        Origin { owner: noted(SPEC_OWNER), version: noted(SPEC_VERSION), hash: noted(SPEC_HASH) }
    }
}

/// Where the definition of a CRD comes from.
struct Origin {
    /// The install, by its label.
    owner: String,
    /// Of the package.
    version: String,
    /// Of what the package says.
    hash: String,
}

impl Origin {
    fn of(new: &Crd, owner: &str, version: &str) -> Self {
        let said = json!([new.object["metadata"]["labels"], new.object["metadata"]["annotations"], new.object["spec"]]);
        let hash = Digest::of(said.to_string().as_bytes()).to_string();
        Self { owner: owner.to_owned(), version: version.to_owned(), hash }
    }
}

/// What becomes of a CRD that an install no longer needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaving {
    /// It is not ours.
    Alone,
    /// It goes.
    Delete,
    /// Others need it, or it has objects: it is applied so.
    Apply(Value),
}

/// An install, as far as CRDs know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    /// Its namespace; empty for an install of the whole cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Parent {
    /// The label key by which it marks what it needs.
    pub fn label(&self) -> String {
        names::parent_label(&self.namespace, &self.name)
    }
}

/// What an install does about a CRD of its package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// It is applied so.
    Apply(Value),
    /// It is there and stays as it is.
    Keep,
    /// The API server does not let it become what it should be: if it has no objects it goes, and is made anew.
    Anew,
    /// Nothing yet.
    Wait(String),
    /// Nothing at all.
    Refuse(String),
}

/// Decides about a CRD of a package in a version. `allow_breaking` lets it change in ways that old objects trip over.
pub fn place(new: &Crd, version: &str, live: Option<&LiveCrd>, parent: &Parent, allow_breaking: bool) -> Placement {
    let name = &new.name;
    let label = parent.label();
    let Some(live) = live else {
        let parents = BTreeMap::from([(label.clone(), parent.namespace.clone())]);
        return Placement::Apply(desired(new, &parents, &Origin::of(new, &label, version)));
    };
    if live.deleting {
        return Placement::Wait(format!("the CRD {name} that was there before is still being deleted"));
    }
    if let Some(why) = &live.rejected {
        return Placement::Refuse(format!("the names of the CRD {name} were not accepted: {why}"));
    }
    let misfits = |from: &Crd, to: &Crd| {
        let all: Vec<String> = breakages(from, to, &[]).iter().map(ToString::to_string).collect();
        all.join("; ")
    };
    if !live.is_ours() {
        let misfits = misfits(new, &live.crd);
        if misfits.is_empty() {
            return Placement::Keep;
        }
        return Placement::Refuse(format!(
            "the CRD {name} is there and was not made by the stack manager, which leaves it alone; it is not what the \
             package needs: {misfits}"
        ));
    }
    let mut parents = live.parents();
    let origin = live.origin();
    let (owner, theirs) = (&origin.owner, &origin.version);
    let owned_by_other = *owner != label && parents.contains_key(owner);
    parents.insert(label.clone(), parent.namespace.clone());
    if owned_by_other && compare(theirs, version) != Ordering::Less {
        let misfits = misfits(new, &live.crd);
        if !misfits.is_empty() {
            return Placement::Refuse(format!(
                "the CRD {name} is there as version {theirs} of {} has it, which is not what version {version} needs: \
                 {misfits}",
                owner.strip_prefix(labels::PARENT_PREFIX).unwrap_or(owner)
            ));
        }
        return Placement::Apply(desired(&live.crd, &parents, &origin));
    }
    let wanted = Origin::of(new, &label, version);
    // What this very package said before is put back, whatever somebody made of it since.
    let drifted = (&origin.owner, &origin.hash) == (&wanted.owner, &wanted.hash);
    let broken = if drifted || allow_breaking { Vec::new() } else { breakages(&live.crd, new, &live.stored) };
    if !broken.is_empty() {
        let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
        return Placement::Refuse(format!(
            "the CRD {name} would change so that objects or their users break: {}; annotate the install with `{}: \
             \"true\"` if that is meant, and take that off again afterwards",
            all.join("; "),
            api::annotations::ALLOW_BREAKING_CHANGES
        ));
    }
    if parents.len() == 1 && !drifted && !can_become(&live.crd, new, &live.stored) {
        return Placement::Anew;
    }
    Placement::Apply(desired(new, &parents, &wanted))
}

/// The CRD as it is applied: its definition with what the package says of it, and who needs it.
fn desired(crd: &Crd, parents: &BTreeMap<String, String>, origin: &Origin) -> Value {
    let text = |part: &str| -> Map<String, Value> {
        let all = crd.object["metadata"][part].as_object().cloned().unwrap_or_default();
        // What marks it is said anew, so that marks of installs that are gone do not stay.
        let marks = [labels::PARENT_PREFIX, labels::NAMESPACE_PREFIX, SPEC_OWNER, SPEC_VERSION, SPEC_HASH];
        all.into_iter().filter(|(key, _)| !marks.iter().any(|mark| key.starts_with(mark))).collect()
    };
    let mut own = text("labels");
    own.insert(labels::MANAGED_BY.to_owned(), json!(labels::MANAGED_BY_STACK_MANAGER));
    for (key, namespace) in parents {
        own.insert(key.clone(), json!(namespace));
        if !namespace.is_empty() {
            own.insert(names::namespace_label(namespace), json!(labels::TRUE));
        }
    }
    let mut annotations = text("annotations");
    annotations.insert(SPEC_OWNER.to_owned(), json!(origin.owner));
    annotations.insert(SPEC_VERSION.to_owned(), json!(origin.version));
    annotations.insert(SPEC_HASH.to_owned(), json!(origin.hash));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": crd.name, "labels": own, "annotations": annotations },
        "spec": crd.object["spec"],
    })
}

/// Which of two versions of packages is the later. What is no semantic version comes before all that are.
fn compare(one: &str, other: &str) -> Ordering {
    let read = |text: &str| semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).ok();
    match (read(one), read(other)) {
        (Some(one), Some(other)) => one.cmp_precedence(&other),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use api::Crd;
    use serde_json::{Value, json};

    use super::{Leaving, LiveCrd, Parent, Placement, compare, place};

    fn parent(namespace: &str, name: &str) -> Parent {
        Parent { namespace: namespace.into(), name: name.into() }
    }

    fn crd(fields: &[&str]) -> Crd {
        let fields: Value = fields.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "as.b.c", "labels": { "team": "x" } },
            "spec": {
                "group": "b.c", "scope": "Namespaced", "names": { "kind": "A", "plural": "as" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": { "type": "object", "properties": fields } },
                } } }],
            },
        });
        Crd::read(&object).0.unwrap()
    }

    /// A CRD as the cluster has it after it was applied so.
    fn live(placement: &Placement) -> LiveCrd {
        let Placement::Apply(object) = placement else { panic!("{placement:?}") };
        let mut object = object.clone();
        object["status"] = json!({ "storedVersions": ["v1"] });
        LiveCrd::read(&object).unwrap()
    }

    fn field_names(live: &LiveCrd) -> Vec<&String> {
        let schema = &live.crd.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"].as_object().unwrap().keys().collect()
    }

    #[test]
    fn a_new_crd_is_marked_with_who_needs_it() {
        let Placement::Apply(object) = place(&crd(&["a"]), "1.0.0", None, &parent("team", "redis"), false) else {
            panic!("not applied")
        };
        let hash = &object["metadata"]["annotations"]["stacks.crossplane.io/spec-hash"];
        assert!(hash.as_str().is_some_and(|hash| hash.starts_with("sha256:")), "{hash}");
        assert_eq!(
            object["metadata"],
            json!({
                "name": "as.b.c",
                "labels": {
                    "team": "x",
                    "app.kubernetes.io/managed-by": "stack-manager",
                    "parent.stacks.crossplane.io/team.redis": "team",
                    "namespace.crossplane.io/team": "true",
                },
                "annotations": {
                    "stacks.crossplane.io/spec-owner": "parent.stacks.crossplane.io/team.redis",
                    "stacks.crossplane.io/spec-version": "1.0.0",
                    "stacks.crossplane.io/spec-hash": hash,
                },
            })
        );
    }

    #[test]
    fn what_a_package_no_longer_says_is_a_difference_and_what_the_server_added_is_none() {
        let (me, other) = (parent("one", "redis"), parent("two", "redis"));
        let wanted = |placement: &Placement| match placement {
            Placement::Apply(object) => object.clone(),
            _ => panic!("{placement:?}"),
        };
        let before = place(&crd(&["a", "b"]), "1.0.0", None, &me, true);
        let mut served = wanted(&before);
        served["spec"]["conversion"] = json!({ "strategy": "None" });
        let served = LiveCrd::read(&served).unwrap();
        let again = place(&crd(&["a", "b"]), "1.0.0", Some(&served), &me, true);
        assert!(served.is_like(&wanted(&again)));
        let less = place(&crd(&["a"]), "1.0.0", Some(&served), &me, true);
        assert!(!served.is_like(&wanted(&less)));
        // Who only uses it leaves that to whoever says what it looks like.
        let shared = live(&place(&crd(&["a"]), "1.0.0", Some(&served), &other, true));
        assert!(shared.is_like(&wanted(&place(&crd(&["a", "b"]), "1.0.0", Some(&shared), &me, true))));
        assert!(shared.is_like(&wanted(&place(&crd(&["a"]), "1.0.0", Some(&shared), &other, true))));
    }

    #[test]
    fn what_somebody_changed_by_hand_is_put_back() {
        let me = parent("one", "redis");
        let served = live(&place(&crd(&["a"]), "1.0.0", None, &me, false)).crd.object;
        let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        type Change = fn(&mut Value);
        let changes: [(&str, Change); 3] = [
            ("a limit", |fields| fields["a"]["maxLength"] = json!(3)),
            ("a field", |fields| fields["b"] = json!({ "type": "string" })),
            ("a field gone", |fields| *fields = json!({})),
        ];
        for (what, change) in changes {
            let mut drifted = served.clone();
            change(drifted.pointer_mut(field).unwrap());
            let drifted = LiveCrd::read(&drifted).unwrap();
            let Placement::Apply(wanted) = place(&crd(&["a"]), "1.0.0", Some(&drifted), &me, false) else {
                panic!("{what} is not put back")
            };
            assert!(!drifted.is_like(&wanted), "{what}");
            assert!(live(&Placement::Apply(wanted.clone())).is_like(&wanted), "{what} is put back once");
        }
    }

    #[test]
    fn the_highest_version_says_what_a_shared_crd_looks_like_and_it_goes_with_the_last() {
        let (one, two, all) = (parent("one", "redis"), parent("two", "redis"), parent("", "redis"));
        let first = live(&place(&crd(&["a"]), "1.0.0", None, &one, false));
        let second = live(&place(&crd(&["a", "b"]), "1.1.0", Some(&first), &two, false));
        assert_eq!(field_names(&second), ["a", "b"]);
        // The lower version is content with it, and does not take it back.
        let again = live(&place(&crd(&["a"]), "1.0.0", Some(&second), &one, false));
        assert_eq!(field_names(&again), ["a", "b"]);
        let third = live(&place(&crd(&["a"]), "v1.0.1", Some(&again), &all, false));
        assert!([&one, &two, &all].iter().all(|parent| third.is_needed_by(parent)));
        // Once the highest is gone, the next takes over, as far as nothing breaks.
        let Leaving::Apply(object) = third.without(&two, true) else { panic!("it is needed") };
        assert_eq!(object["metadata"]["labels"]["namespace.crossplane.io/two"], Value::Null);
        assert_eq!(object["metadata"]["labels"]["namespace.crossplane.io/one"], "true");
        let fourth = live(&Placement::Apply(object));
        let Placement::Refuse(why) = place(&crd(&["a"]), "1.0.0", Some(&fourth), &one, false) else { panic!("broken") };
        assert!(why.contains("v1: `spec.b` would be gone"), "{why}");
        assert!(matches!(place(&crd(&["a"]), "1.0.0", Some(&fourth), &one, true), Placement::Apply(_)));
        let Leaving::Apply(object) = fourth.without(&all, false) else { panic!("it is needed") };
        let fifth = live(&Placement::Apply(object));
        assert_eq!(fifth.without(&one, false), Leaving::Delete);
        assert!(matches!(fifth.without(&one, true), Leaving::Apply(_)), "objects keep it");
    }

    #[test]
    fn conflicting_packages_are_told_from_each_other() {
        let first = live(&place(&crd(&["a"]), "2.0.0", None, &parent("one", "redis"), false));
        let Placement::Refuse(why) = place(&crd(&["b"]), "1.0.0", Some(&first), &parent("two", "redis"), true) else {
            panic!("not refused")
        };
        assert_eq!(
            why,
            "the CRD as.b.c is there as version 2.0.0 of one.redis has it, which is not what version 1.0.0 needs: \
             v1: `spec.b` would be gone"
        );
    }

    #[test]
    fn a_foreign_crd_is_left_alone() {
        let foreign = LiveCrd::read(&crd(&["a", "b"]).object).unwrap();
        let me = parent("team", "redis");
        assert_eq!(place(&crd(&["a"]), "1.0.0", Some(&foreign), &me, true), Placement::Keep);
        assert!(matches!(place(&crd(&["c"]), "1.0.0", Some(&foreign), &me, true), Placement::Refuse(_)));
        assert_eq!(foreign.without(&me, false), Leaving::Alone);
    }

    #[test]
    fn a_crd_that_goes_or_has_no_good_name_is_not_written() {
        let me = parent("team", "redis");
        let mut going = crd(&["a"]).object;
        going["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
        let going = LiveCrd::read(&going).unwrap();
        assert!(matches!(place(&crd(&["a"]), "1", Some(&going), &me, true), Placement::Wait(_)));
        let mut clash = crd(&["a"]).object;
        clash["status"] = json!({ "conditions": [
            { "type": "NamesAccepted", "status": "False", "message": "\"A\" is already in use" },
        ] });
        let clash = LiveCrd::read(&clash).unwrap();
        let why = "the names of the CRD as.b.c were not accepted: \"A\" is already in use".to_owned();
        assert_eq!(place(&crd(&["a"]), "1", Some(&clash), &me, true), Placement::Refuse(why));
    }

    #[test]
    fn versions_are_compared_as_versions() {
        for (one, other, expected) in [
            ("1.10.0", "1.9.0", Ordering::Greater),
            ("v1.0.0", "1.0.0", Ordering::Equal),
            ("1.0.0-rc.1", "1.0.0", Ordering::Less),
            ("latest", "0.0.1", Ordering::Less),
            ("", "", Ordering::Equal),
        ] {
            assert_eq!(compare(one, other), expected, "{one} {other}");
        }
    }
}
