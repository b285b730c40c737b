//! An install from wish to Ready, upgrades good and bad, and its end, on a world that is a map of
//! objects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};

use api::{Stack, StackInstall, Status};
use engine::budget::Meter;
use install::reconcile::install::{Facts, Install, InstallPlan, Refused, Settings, Verdict, plan};
use install::{Index, KindOwnership, Kinds, LiveCrd, Step, Trouble};
use package::image::Reference;
use package::{Files, Package};
use serde_json::{Value, json};

/// A cluster as far as installs see it.
struct World {
    objects: BTreeMap<(String, String), Value>,
    install: Install,
    resolved: Step<Reference>,
    package: Step<Package>,
    kinds: Kinds,
    in_use: Vec<String>,
    gone: BTreeSet<String>,
    instances: BTreeMap<String, Vec<String>>,
    tagged: Option<String>,
    index: Index,
    settings: Settings,
    claims: Vec<KindOwnership>,
    refused: Option<Refused>,
}

fn package(version: &str, fields: &[&str], scope: &str, depends_on: &str) -> Package {
    let fields: String = fields
        .iter()
        .map(|name| format!("{name}: {{type: string}}, "))
        .collect();
    let files: [(&str, String); 3] = [
        (
            "app.yaml",
            format!(
                "title: Redis\nversion: {version}\npermissionScope: {scope}\ndependsOn: [{{crd: configmap/v1}}, {depends_on}]\n"
            ),
        ),
        (
            "resources/crd.yaml",
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: redises.example.org}}\n\
                 spec:\n  group: example.org\n  scope: Namespaced\n  names: {{kind: Redis, plural: redises}}\n  versions:\n  \
                 - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
                 properties:\n          spec: {{type: object, properties: {{{fields}}}}}\n"
            ),
        ),
        (
            "templates/redis.example.org/v1/redis.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n".to_owned(),
        ),
    ];
    let files: Files = files
        .into_iter()
        .map(|(path, text)| (format!(".registry/{path}"), text.into_bytes()))
        .collect();
    let (package, problems) = package::read(&files);
    assert!(
        problems
            .iter()
            .all(|problem| problem.severity != package::Severity::Error),
        "{problems:?}"
    );
    package
}

impl World {
    fn new() -> Self {
        let install: StackInstall = serde_json::from_value(json!({
            "apiVersion": api::API_VERSION, "kind": "StackInstall",
            "metadata": { "name": "redis", "namespace": "team", "uid": "install-uid", "generation": 1 },
            "spec": { "package": "team/redis:1.0.0", "source": "registry.example.org" },
        }))
        .unwrap();
        Self {
            objects: BTreeMap::new(),
            install: install.into(),
            resolved: Step::Pending("asking the registry".into()),
            package: Step::Pending("pulling".into()),
            kinds: Kinds::of_every_cluster(),
            in_use: Vec::new(),
            gone: BTreeSet::new(),
            instances: BTreeMap::new(),
            tagged: None,
            index: Index::default(),
            claims: Vec::new(),
            refused: None,
            settings: Settings {
                own_namespace: "cairn".into(),
                cluster_namespace: "cairn-stacks".into(),
                source: String::new(),
                policy: install::Policy::default(),
                own_image: "example.org/cairn:1".into(),
                namespaced_crds: install::NamespacedCrds::Allow,
                instance_limits: Default::default(),
                budgets: Default::default(),
            },
        }
    }

    fn object(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind.to_owned(), name.to_owned()))
    }

    /// Plans, and does what the plan says.
    fn pass(&mut self) -> InstallPlan {
        let crds: Vec<LiveCrd> = self.objects.values().filter_map(LiveCrd::read).collect();
        let stack = self
            .object("Stack", "redis")
            .map(|stack| serde_json::from_value::<Stack>(stack.clone()).unwrap());
        let package = match &self.package {
            Step::Done(package) => Step::Done(package),
            Step::Pending(what) => Step::Pending(what.clone()),
            Step::Failed(trouble) => Step::Failed(trouble.clone()),
        };
        let verdict = match &self.package {
            Step::Done(package) => {
                let metadata = &self.install.metadata;
                Verdict::of(
                    package,
                    &metadata.name,
                    &metadata.namespace,
                    &Meter::new(engine::budget::COMPILE),
                )
            }
            _ => Verdict::default(),
        };
        let made = plan(&Facts {
            install: &self.install,
            settings: &self.settings,
            resolved: self.resolved.clone(),
            tagged: self.tagged.as_deref(),
            package,
            verdict: Step::Done(&verdict),
            crds: &crds,
            in_use: &self.in_use,
            gone: &self.gone,
            instances: &self.instances,
            reserved: &BTreeMap::new(),
            kinds: &self.kinds,
            index: &self.index,
            stack: stack.as_ref(),
            claims: &self.claims,
            refused: self.refused.as_ref(),
            now: "2020-01-01T00:00:00Z",
        });
        for object in &made.applies {
            let key = (
                object["kind"].as_str().unwrap().to_owned(),
                object["metadata"]["name"].as_str().unwrap().to_owned(),
            );
            let mut object = object.clone();
            if let Some(old) = self.objects.get(&key) {
                object["status"] = old["status"].clone();
            }
            object["metadata"]["uid"] = json!(format!("{}-uid", key.1));
            object["metadata"]["generation"] = json!(1);
            self.objects.insert(key, object);
        }
        for target in &made.deletes {
            let gone = self
                .objects
                .remove(&(target.kind.clone(), target.name.clone()));
            assert_eq!(gone.unwrap()["metadata"]["uid"], target.uid.as_str());
        }
        self.install.status = made.status.clone();
        made
    }

    /// What the API server does about CRDs.
    fn establish(&mut self) {
        for object in self
            .objects
            .values_mut()
            .filter(|object| object["kind"] == "CustomResourceDefinition")
        {
            object["status"] = json!({
                "storedVersions": ["v1"], "conditions": [{ "type": "Established", "status": "True" }],
            });
        }
    }

    /// What the reconciler of Stacks says.
    fn run_stack(&mut self) {
        let ready = |kind: &str| json!({ "type": kind, "status": "True", "reason": "Available", "message": "it runs", "observedGeneration": 1 });
        let stack = self
            .objects
            .get_mut(&("Stack".to_owned(), "redis".to_owned()))
            .unwrap();
        stack["status"] = json!({ "conditions": [ready("ControllerAvailable"), ready("Ready")] });
    }

    fn fetched(&mut self, package: Package) {
        let digest = format!("sha256:{}", "0".repeat(64));
        let reference = Reference::resolve("team/redis", "registry.example.org").unwrap();
        self.resolved = Step::Done(Reference {
            tag: Some(package.app.version.clone()),
            digest: Some(digest),
            ..reference
        });
        self.package = Step::Done(package);
    }

    fn installed() -> Self {
        let mut world = Self::new();
        world.fetched(package("1.0.0", &["a"], "Namespaced", ""));
        world.pass();
        world.establish();
        world.pass();
        world.run_stack();
        assert!(world.pass().settled);
        world
    }

    /// The conditions, in short.
    fn state(&self) -> String {
        let mut said = Vec::new();
        for condition in &self.install.status.conditions {
            said.push(format!(
                "{}={:?}/{}",
                condition.r#type, condition.status, condition.reason
            ));
        }
        said.join(" ")
    }

    fn message(&self, kind: &str) -> &str {
        let found = self
            .install
            .status
            .conditions
            .iter()
            .find(|condition| condition.r#type == kind);
        found.map_or("", |condition| condition.message.as_str())
    }
}

#[test]
fn an_install_goes_step_by_step_and_is_ready_when_its_stack_is() {
    let mut world = World::new();
    assert!(!world.pass().settled);
    assert_eq!(
        world.state(),
        "PackageResolved=False/Pulling Ready=False/Pulling UpToDate=False/Pulling"
    );
    world.fetched(package("1.0.0", &["a"], "Namespaced", ""));
    world.pass();
    let until = "PackageResolved=True/Resolved Ready=False/Waiting UpToDate=False/Waiting Unpacked=True/Unpacked DependenciesSatisfied=True/Satisfied";
    assert_eq!(
        world.state(),
        format!("{until} CRDsEstablished=False/Waiting")
    );
    assert!(
        world.object("Stack", "redis").is_none(),
        "no Stack before its kinds are served"
    );
    world.establish();
    world.pass();
    let stack = world.object("Stack", "redis").unwrap();
    assert_eq!(stack["metadata"]["namespace"], "team");
    assert_eq!(
        stack["metadata"]["labels"]["core.crossplane.io/parent-kind"],
        "StackInstall"
    );
    assert_eq!(stack["spec"]["title"], "Redis");
    world.run_stack();
    let last = world.pass();
    assert!(last.settled && last.finalizer);
    assert_eq!(world.install.status.version, "1.0.0");
    assert_eq!(
        world.install.status.stack_record.as_ref().unwrap().uid,
        "redis-uid"
    );
    assert!(
        world
            .install
            .status
            .conditions
            .iter()
            .all(|condition| condition.status == Status::True)
    );
    // Nothing new is said when nothing is new.
    assert_eq!(world.pass().notices, []);
}

#[test]
fn every_trouble_is_a_condition_and_writes_nothing() {
    let unreachable = Trouble::new(
        "RegistryUnreachable",
        "registry.example.org: connection refused",
    );
    let broken = Trouble::new("PackageInvalid", ".registry/app.yaml:1:1: error: no title");
    type Change = Box<dyn Fn(&mut World)>;
    let table: Vec<(&str, Change, &str)> = vec![
        (
            "unreachable",
            Box::new(move |world| world.resolved = Step::Failed(unreachable.clone())),
            "PackageResolved=False/RegistryUnreachable",
        ),
        (
            "broken",
            Box::new(move |world| {
                world.fetched(package("1.0.0", &[], "Namespaced", ""));
                world.package = Step::Failed(broken.clone());
            }),
            "Unpacked=False/PackageInvalid",
        ),
        (
            "scope",
            Box::new(|world| world.fetched(package("1.0.0", &[], "Cluster", ""))),
            "Unpacked=False/ScopeMismatch",
        ),
        (
            "policy",
            Box::new(|world| {
                world.fetched(package("1.0.0", &[], "Namespaced", "{crd: limitrange/v1}"));
            }),
            "DependenciesSatisfied=False/NotAllowed",
        ),
        (
            "missing",
            Box::new(|world| {
                world.fetched(package(
                    "1.0.0",
                    &[],
                    "Namespaced",
                    "{crd: mysql.later.org/v1}",
                ));
            }),
            "DependenciesSatisfied=False/Waiting",
        ),
        (
            "reserved",
            Box::new(|world| world.install.metadata.namespace = "cairn-stacks".into()),
            "PackageResolved=False/NamespaceReserved",
        ),
        (
            "reserved for a cluster stack",
            Box::new(|world| world.install.metadata.namespace = "cairn-stacks-redis".into()),
            "PackageResolved=False/NamespaceReserved",
        ),
        (
            "paused",
            Box::new(|world| world.install.spec.paused = true),
            "Ready=False/Paused",
        ),
    ];
    for (name, change, expected) in table {
        let mut world = World::new();
        change(&mut world);
        let made = world.pass();
        assert!(
            world.state().contains(expected),
            "{name}: {}",
            world.state()
        );
        assert_eq!(
            (made.applies.len(), made.deletes.len(), made.settled),
            (0, 0, false),
            "{name}"
        );
        // It heals by itself when the cause goes away.
        let mut healed = World {
            install: world.install.clone(),
            ..World::new()
        };
        healed.install.metadata.namespace = "team".into();
        healed.install.spec.paused = false;
        healed.fetched(package("1.0.0", &["a"], "Namespaced", ""));
        healed.pass();
        healed.establish();
        healed.pass();
        healed.run_stack();
        assert!(healed.pass().settled, "{name}: {}", healed.state());
    }
}

#[test]
fn a_bad_upgrade_leaves_what_runs_and_says_so() {
    let mut world = World::installed();
    let before = world.objects.clone();
    world.fetched(package("2.0.0", &["b"], "Namespaced", ""));
    let made = world.pass();
    assert!(!made.settled);
    assert_eq!(world.objects, before);
    assert!(
        world.state().contains("CRDsEstablished=False/CRDConflict"),
        "{}",
        world.state()
    );
    assert!(
        world.state().contains("Ready=True/CRDConflict"),
        "{}",
        world.state()
    );
    assert!(
        world
            .message("Ready")
            .starts_with("version 1.0.0 runs; the CRD redises.example.org would change")
    );
    assert!(
        world
            .message("CRDsEstablished")
            .contains("v1: `spec.a` would be gone")
    );
    assert_eq!(world.install.status.version, "1.0.0");
    // Whoever means it says so.
    let key = api::annotations::ALLOW_BREAKING_CHANGES.to_owned();
    world
        .install
        .metadata
        .annotations
        .insert(key, "true".into());
    world.pass();
    assert_eq!(world.install.status.version, "2.0.0");
}

#[test]
fn what_is_installed_is_up_to_date_when_it_is_what_was_asked_for() {
    let mut world = World::installed();
    assert!(
        world.state().contains("UpToDate=True/Installed"),
        "{}",
        world.state()
    );
    world.fetched(package("1.1.0", &["a", "b"], "Namespaced", ""));
    world.install.metadata.generation = Some(2);
    world.pass();
    assert!(
        world.state().contains("UpToDate=False/Starting"),
        "its Stack is only being changed: {}",
        world.state()
    );
    assert!(
        world.pass().notices.is_empty(),
        "that is no news beside the steps"
    );
    let found = world
        .install
        .status
        .conditions
        .iter()
        .find(|condition| condition.r#type == "UpToDate")
        .unwrap();
    assert_eq!(
        (found.status, found.observed_generation),
        (Status::True, Some(2))
    );
    assert!(
        found
            .message
            .starts_with("version 1.1.0 is in place, as sha256:"),
        "{}",
        found.message
    );
    world.install.spec.paused = true;
    world.pass();
    assert!(
        world.state().contains("UpToDate=False/Paused"),
        "{}",
        world.state()
    );
}

#[test]
fn what_the_server_refuses_is_a_condition_and_what_was_installed_is_told() {
    for (kind, expected) in [
        ("CustomResourceDefinition", "CRDsEstablished=False/Refused"),
        ("Stack", "ControllerAvailable=False/Refused"),
    ] {
        let mut world = World::installed();
        let before = (
            world.install.status.version.clone(),
            world.install.status.digest.clone(),
        );
        world.fetched(package("1.1.0", &["a", "b"], "Namespaced", ""));
        let why = "spec: Invalid value".to_owned();
        world.refused = Some(Refused {
            kind: kind.into(),
            name: "it".into(),
            why,
        });
        let made = world.pass();
        assert_eq!(
            (made.applies.len(), made.deletes.len(), made.settled),
            (0, 0, false),
            "{kind}"
        );
        let state = world.state();
        assert!(
            state.contains(expected) && state.contains("UpToDate=False/Refused"),
            "{state}"
        );
        assert!(
            state.contains("Ready=True/Refused"),
            "what runs goes on: {state}"
        );
        assert_eq!(
            (
                world.install.status.version.clone(),
                world.install.status.digest.clone()
            ),
            before,
            "{kind}"
        );
        assert!(
            world
                .message("UpToDate")
                .contains(&format!("refuses the {kind} it: spec: Invalid value"))
        );
        assert!(world.pass().notices.is_empty(), "it is told once");
        world.refused = None;
        world.pass();
        assert_eq!(world.install.status.version, "1.1.0");
    }
}

#[test]
fn a_kind_that_another_install_serves_is_not_served_twice() {
    let mut world = World::new();
    world.fetched(package("1.0.0", &["a"], "Namespaced", ""));
    let Step::Done(package) = &world.package else {
        panic!("it is there")
    };
    let mut other = serde_json::to_value(&package.stack).unwrap();
    other["metadata"] = json!({ "namespace": "team", "name": "other", "creationTimestamp": "2020-01-01T00:00:00Z" });
    let crds: Vec<api::Crd> = package.crds.iter().map(|file| file.crd.clone()).collect();
    world.claims = vec![KindOwnership::of(&other, false, &crds)];
    let made = world.pass();
    assert_eq!((made.applies.len(), made.settled), (0, false));
    assert!(
        world
            .state()
            .contains("DependenciesSatisfied=False/KindTaken"),
        "{}",
        world.state()
    );
    assert!(
        world.message("Ready").contains("by the Stack team/other"),
        "{}",
        world.message("Ready")
    );
    world.claims.clear();
    world.pass();
    assert!(
        world
            .object("CustomResourceDefinition", "redises.example.org")
            .is_some(),
        "it goes on by itself"
    );
}

#[test]
fn what_runs_is_not_refused_for_rights_that_it_got_by_hand() {
    let claiming = |version: &str| {
        let mut package = package(version, &["a"], "Namespaced", "");
        let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n".to_owned();
        package
            .templates
            .values_mut()
            .flat_map(|all| all.values_mut())
            .for_each(|file| file.text.clone_from(&text));
        package
    };
    let mut world = World::new();
    world.fetched(claiming("1.0.0"));
    world.pass();
    assert!(
        world.state().contains("Unpacked=False/TemplatesInvalid"),
        "{}",
        world.state()
    );
    // One that an older manager installed goes on being looked after.
    let mut world = World::installed();
    world.fetched(claiming("1.0.0"));
    assert!(world.pass().settled, "{}", world.state());
    world.fetched(claiming("1.0.1"));
    world.pass();
    assert!(
        world.state().contains("Unpacked=False/TemplatesInvalid"),
        "{}",
        world.state()
    );
}

#[test]
fn a_crd_that_somebody_made_their_own_holds_up_no_uninstall() {
    let mut world = World::installed();
    let key = (
        "CustomResourceDefinition".to_owned(),
        "redises.example.org".to_owned(),
    );
    let labels = &mut world.objects.get_mut(&key).unwrap()["metadata"]["labels"];
    labels
        .as_object_mut()
        .unwrap()
        .remove("app.kubernetes.io/managed-by");
    world
        .install
        .metadata
        .rest
        .insert("deletionTimestamp".into(), json!("2020-01-01T00:00:00Z"));
    world.pass();
    let last = world.pass();
    assert!(!last.finalizer && last.settled, "{}", world.state());
    assert!(world.objects.contains_key(&key), "and is left alone");
}

#[test]
fn an_upgrade_changes_the_crd_and_the_stack() {
    let mut world = World::installed();
    world.fetched(package("1.1.0", &["a", "b"], "Namespaced", ""));
    assert!(world.pass().settled);
    assert_eq!(world.install.status.version, "1.1.0");
    assert_eq!(
        world.object("Stack", "redis").unwrap()["spec"]["version"],
        "1.1.0"
    );
    let crd = world
        .object("CustomResourceDefinition", "redises.example.org")
        .unwrap();
    assert_eq!(
        crd["metadata"]["annotations"]["stacks.crossplane.io/spec-version"],
        "1.1.0"
    );
}

#[test]
fn what_an_install_says_of_its_account_is_on_the_account_and_nowhere_else() {
    let mut world = World::new();
    world.install.spec.service_account = Some(
        serde_json::from_value(json!({ "annotations": { "cloud.example.org/role": "redis" } }))
            .unwrap(),
    );
    world.fetched(package("1.0.0", &["a"], "Namespaced", ""));
    world.pass();
    world.establish();
    world.pass();
    let mut stack: Stack =
        serde_json::from_value(world.object("Stack", "redis").unwrap().clone()).unwrap();
    stack.metadata.uid = "stack-uid".into();
    let crds: Vec<api::Crd> = world
        .objects
        .values()
        .filter_map(|object| api::Crd::read(object).0)
        .collect();
    let mut kinds = Kinds::of_every_cluster();
    crds.iter().for_each(|crd| kinds.add(crd));
    let facts = install::reconcile::stack::Facts {
        stack: &stack,
        cluster_wide: false,
        crds: &crds,
        kinds: &kinds,
        policy: &world.settings.policy,
        own_image: &world.settings.own_image,
        claims: &[],
        manager: "cairn",
        namespaces: &[],
    };
    let install::reconcile::stack::Decision::Run(run) = install::reconcile::stack::decide(&facts)
    else {
        panic!("it does not run")
    };
    let said: Vec<&str> = run
        .access
        .iter()
        .filter(|object| object["metadata"]["annotations"]["cloud.example.org/role"] == "redis")
        .filter_map(|object| object["kind"].as_str())
        .collect();
    assert_eq!(said, ["ServiceAccount"]);
}

#[test]
fn a_stack_of_somebody_else_is_not_taken_over() {
    let mut world = World::new();
    let foreign = json!({
        "apiVersion": api::API_VERSION, "kind": "Stack", "metadata": { "name": "redis", "namespace": "team", "uid": "x" },
        "spec": { "title": "Mine" },
    });
    world
        .objects
        .insert(("Stack".into(), "redis".into()), foreign.clone());
    world.fetched(package("1.0.0", &["a"], "Namespaced", ""));
    world.pass();
    world.establish();
    world.pass();
    assert!(
        world.state().contains("Ready=False/StackExists"),
        "{}",
        world.state()
    );
    assert_eq!(world.object("Stack", "redis"), Some(&foreign));
}

#[test]
fn an_install_goes_after_its_stack_and_takes_crds_that_nobody_uses() {
    for (in_use, keep, stays) in [
        (false, false, false),
        (true, false, true),
        (false, true, true),
    ] {
        let mut world = World::installed();
        world
            .install
            .metadata
            .rest
            .insert("deletionTimestamp".into(), json!("2020-01-01T00:00:00Z"));
        if in_use {
            world.in_use = vec!["redises.example.org".into()];
        }
        if keep {
            world
                .install
                .metadata
                .annotations
                .insert(api::annotations::KEEP_CRDS.into(), "true".into());
        }
        let first = world.pass();
        assert_eq!(first.deletes.len(), 1, "the Stack goes first");
        assert!(
            first.finalizer
                && world
                    .object("CustomResourceDefinition", "redises.example.org")
                    .is_some()
        );
        assert!(world.pass().finalizer);
        let last = world.pass();
        assert!(!last.finalizer && last.settled);
        let crd = world.object("CustomResourceDefinition", "redises.example.org");
        assert_eq!(crd.is_some(), stays);
        if let Some(crd) = crd {
            let labels = crd["metadata"]["labels"].to_string();
            assert!(
                !labels.contains("parent.stacks") && labels.contains("stack-manager"),
                "{labels}"
            );
        }
    }
}

#[test]
fn a_tag_that_moved_is_told_with_both_digests_and_changes_nothing() {
    let mut world = World::installed();
    let objects = world.objects.clone();
    let installed = world.install.status.digest.clone();
    world.tagged = Some(installed.clone());
    assert!(world.pass().notices.is_empty());
    assert!(
        !world.state().contains("PackageCurrent"),
        "nothing has moved: {}",
        world.state()
    );
    let new = format!("sha256:{}", "9".repeat(64));
    world.tagged = Some(new.clone());
    let told = world.pass();
    assert!(
        world.state().contains("PackageCurrent=False/TagMoved"),
        "{}",
        world.state()
    );
    assert!(world.state().contains("Ready=True"), "{}", world.state());
    let [notice] = told.notices.as_slice() else {
        panic!("{:?}", told.notices)
    };
    assert!(
        notice.warning
            && notice.message.contains(&installed)
            && notice.message.contains(&format!("@{new}"))
    );
    assert_eq!(world.objects, objects);
    assert!(world.pass().notices.is_empty(), "it is told once");
    world.tagged = Some(installed);
    world.pass();
    assert!(
        world.state().contains("PackageCurrent=True/Current"),
        "{}",
        world.state()
    );
}

#[test]
fn an_upgrade_that_drops_a_crd_waits_while_it_has_objects_or_leaves_them_if_that_is_meant() {
    let mut world = World::installed();
    let mut upgraded = package("1.1.0", &["a"], "Namespaced", "");
    // The same kind in another group takes the place of the first.
    let text = serde_json::to_string(&upgraded.crds[0].crd.object)
        .unwrap()
        .replace("example.org", "example.com");
    upgraded.crds[0].crd = api::Crd::read(&serde_json::from_str(&text).unwrap())
        .0
        .unwrap();
    let text = serde_json::to_string(&upgraded.stack)
        .unwrap()
        .replace("example.org", "example.com");
    upgraded.stack = serde_json::from_str(&text).unwrap();
    upgraded.templates.clear();
    world.in_use = vec!["redises.example.org".into()];
    world.fetched(upgraded);
    let before = (world.objects.clone(), world.install.status.version.clone());
    let held = world.pass();
    assert!(held.soon && held.deletes.is_empty(), "{held:?}");
    assert!(
        world.state().contains("CRDsEstablished=False/InUse"),
        "{}",
        world.state()
    );
    assert_eq!(
        (world.objects.clone(), world.install.status.version.clone()),
        before,
        "what is there goes on"
    );
    let annotations = &mut world.install.metadata.annotations;
    annotations.insert(
        api::annotations::ALLOW_BREAKING_CHANGES.to_owned(),
        "true".to_owned(),
    );
    world.pass();
    world.establish();
    let held = world.pass();
    assert!(held.soon && held.deletes.is_empty(), "{held:?}");
    assert!(
        world.state().contains("DroppedCRDsGone=False/InUse"),
        "{}",
        world.state()
    );
    assert_eq!(world.install.status.version, "1.1.0", "the rest goes on");
    let crds: Vec<LiveCrd> = world.objects.values().filter_map(LiveCrd::read).collect();
    let Step::Done(package) = &world.package else {
        panic!("it is there")
    };
    let asked: Vec<_> = world
        .install
        .endangers(Some(package), &crds)
        .iter()
        .map(|live| &live.crd.name)
        .collect();
    assert_eq!(asked, ["redises.example.org"], "it is asked about again");
    world.in_use.clear();
    let gone = world.pass();
    assert_eq!(gone.deletes.len(), 1);
    assert!(
        world
            .object("CustomResourceDefinition", "redises.example.org")
            .is_none()
    );
    world.pass();
    assert!(
        world.state().contains("DroppedCRDsGone=True/Gone"),
        "{}",
        world.state()
    );
}

#[test]
fn a_crd_that_cannot_become_what_it_should_be_is_made_anew_if_it_has_no_objects() {
    for (why, changed) in [
        (
            "another kind under the same plural",
            [(r#""Redis""#, r#""Store""#), ("none", "none")],
        ),
        (
            "another version for the stored one",
            [(r#""v1""#, r#""v2""#), ("example.org/v1", "example.org/v2")],
        ),
    ] {
        let change = |text: String| {
            changed
                .iter()
                .fold(text, |text, (from, to)| text.replace(from, to))
        };
        let mut world = World::installed();
        let name = "redises.example.org";
        let key = ("CustomResourceDefinition".to_owned(), name.to_owned());
        world.objects.get_mut(&key).unwrap()["status"]["storedVersions"] = json!(["v1"]);
        let mut upgraded = package("1.1.0", &["a"], "Namespaced", "");
        let text = change(upgraded.crds[0].crd.object.to_string());
        upgraded.crds[0].crd = api::Crd::read(&serde_json::from_str(&text).unwrap())
            .0
            .unwrap();
        let text = change(serde_json::to_string(&upgraded.stack).unwrap());
        upgraded.stack = serde_json::from_str(&text).unwrap();
        upgraded.templates.clear();
        world.fetched(upgraded);
        world.pass();
        assert!(
            world.state().contains("CRDsEstablished=False/CRDConflict"),
            "{why}: {}",
            world.state()
        );
        let annotations = &mut world.install.metadata.annotations;
        annotations.insert(
            api::annotations::ALLOW_BREAKING_CHANGES.to_owned(),
            "true".to_owned(),
        );
        world.in_use = vec![name.to_owned()];
        let held = world.pass();
        assert!(held.soon && held.deletes.is_empty(), "{why}: {held:?}");
        assert!(
            world
                .message("CRDsEstablished")
                .contains("delete them first"),
            "{why}: {}",
            world.state()
        );
        world.in_use.clear();
        let gone = world.pass();
        assert_eq!(
            gone.deletes
                .iter()
                .map(|crd| crd.name.as_str())
                .collect::<Vec<_>>(),
            [name],
            "{why}"
        );
        world.pass();
        assert!(
            world
                .object("CustomResourceDefinition", name)
                .unwrap()
                .to_string()
                .contains(changed[0].1),
            "{why}"
        );
    }
}

#[test]
fn an_install_by_kind_gets_the_newest_and_stays_with_it() {
    let entry = |version: &str| {
        json!({
            "image": format!("registry.example.org/team/redis:{version}"), "version": version,
            "owns": [{ "kind": "Redis", "plural": "redises", "group": "example.org", "version": "v1" }],
        })
    };
    let index = |versions: &[&str]| -> Index {
        let packages: Vec<Value> = versions.iter().map(|version| entry(version)).collect();
        serde_json::from_value(json!({ "packages": packages })).unwrap()
    };
    let mut world = World::new();
    world.install.spec.package.clear();
    world.install.spec.crd = "redis.example.org/v1".into();
    let wanted = |world: &World, index: &Index| world.settings.reference(&world.install, index);
    assert_eq!(
        wanted(&world, &Index::default()).unwrap_err().reason,
        "NoIndex"
    );
    let found = wanted(&world, &index(&["0.9.0", "1.0.0"])).unwrap();
    assert_eq!(found.to_string(), "registry.example.org/team/redis:1.0.0");
    world.fetched(package("1.0.0", &["a"], "Namespaced", ""));
    world.pass();
    for (index, why) in [
        (index(&["1.0.0", "2.0.0"]), "a newer one"),
        (Index::default(), "no index at all"),
    ] {
        let kept = wanted(&world, &index).unwrap();
        assert_eq!(kept.tag.as_deref(), Some("1.0.0"), "{why}");
        assert_eq!(world.install.installed(&kept), Some(kept), "{why}");
    }
    world.install.metadata.generation = Some(2);
    assert_eq!(
        wanted(&world, &index(&["1.0.0", "2.0.0"]))
            .unwrap()
            .tag
            .as_deref(),
        Some("1.0.0")
    );
    assert_eq!(
        wanted(&world, &index(&["2.0.0"])).unwrap().tag.as_deref(),
        Some("2.0.0"),
        "1.0.0 is no longer known"
    );
}

#[test]
fn a_missing_dependency_says_what_would_satisfy_it() {
    let mut world = World::new();
    world.index = serde_json::from_value(json!({ "packages": [{
        "image": "registry.example.org/mysql:2.0.0", "version": "2.0.0",
        "owns": [{ "kind": "Mysql", "plural": "mysqls", "group": "db.org", "version": "v1" }],
    }] }))
    .unwrap();
    world.fetched(package(
        "1.0.0",
        &["a"],
        "Namespaced",
        "{crd: mysql.db.org/v1}",
    ));
    world.pass();
    let conditions = &world.install.status.conditions;
    let waits = conditions
        .iter()
        .find(|condition| condition.r#type == "DependenciesSatisfied")
        .unwrap();
    let says =
        "waiting for mysql.db.org/v1: registry.example.org/mysql:2.0.0 brings mysql.db.org/v1";
    assert_eq!(
        (waits.status, waits.message.as_str()),
        (Status::False, says)
    );
}
