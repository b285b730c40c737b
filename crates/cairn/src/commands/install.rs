//! `cairn install`, `cairn uninstall` and `cairn list`: packages in a cluster.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use api::{ClusterStackInstall, Stack, StackInstall};
use futures::StreamExt;
use install::LiveCrd;
use install::reconcile::install as manage;
use install::reconcile::install::Taken;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{self, Event, watcher};
use objects::Resource;
use serde_json::{Value, json};

use crate::cli::{Install, List, Uninstall};
use crate::cluster::connect::{Connected, unanswered};
use crate::cluster::registries::{block_on, parse};
use crate::dev::is_kept_out;
use crate::diff::Reader;
use crate::inspect::resource;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn install(args: &Install, printer: &Printer) -> Result<Code, Failure> {
    if Path::new(&args.reference).join(".registry").is_dir() {
        let failure = Failure::new(format!(
            "{} is a directory, and images are installed",
            args.reference
        ));
        return Err(failure.hint(
            "`cairn build` and `cairn push` make an image of it; `cairn up` installs it as it is",
        ));
    }
    let reference = parse(&args.reference)?;
    let last = reference.repository.rsplit('/').next().unwrap_or_default();
    let name = args.name.clone().unwrap_or_else(|| last.to_owned());
    block_on(async {
        let connected = args.connection.connect().await?;
        let api = installs(&connected, args.cluster, false);
        let mut spec = json!({ "package": args.reference });
        if let Some(source) = &args.source {
            spec["source"] = json!(source);
        }
        if !args.pull_secrets.is_empty() {
            let secrets = args.pull_secrets.iter().map(|name| json!({ "name": name }));
            spec["imagePullSecrets"] = secrets.collect();
        }
        let kind = kind(args.cluster);
        let object = json!({
            "apiVersion": api::API_VERSION, "kind": kind, "metadata": { "name": name }, "spec": spec,
        });
        let object =
            serde_json::from_value(object).map_err(|error| Failure::new(error.to_string()))?;
        let created = api
            .create(&PostParams::default(), &object)
            .await
            .map_err(|error| told(&error))?;
        let mut install = written(&created, args.cluster);
        // What is for programs stands alone on standard output, and what happens beside it.
        let tell = |line: &str| match args.outcome.output {
            Some(_) => {
                printer.say(line);
                Ok(())
            }
            None => printer.line(line),
        };
        tell(&format!("{}/{name} created", kind.to_lowercase()))?;
        if args.waiting.wait {
            let limit = Duration::from_secs(args.waiting.timeout);
            install = written(&wait(&api, &name, limit, tell).await?, args.cluster);
        }
        if let Some(format) = args.outcome.output {
            printer.object(&install, format)?;
        }
        Ok(Code::Ok)
    })?
}

pub(crate) fn uninstall(args: &Uninstall, printer: &Printer) -> Result<Code, Failure> {
    block_on(async {
        let connected = args.connection.connect().await?;
        let api = installs(&connected, args.cluster, false);
        let object = api.get(&args.name).await.map_err(|error| match &error {
            kube::Error::Api(status) if status.code == 404 => told(&error).hint(match args.cluster {
                true => "`cairn list` shows what is installed; without `--cluster` it is looked for in a namespace",
                false => {
                    "`cairn list -A` shows what is installed, and where: `-n` names a namespace, `--cluster` the whole"
                }
            }),
            _ => told(&error),
        })?;
        let data = data(&connected, &object, args.cluster)
            .await
            .unwrap_or_default();
        api.delete(&args.name, &DeleteParams::default())
            .await
            .map_err(|error| told(&error))?;
        let install = written(&object, args.cluster);
        let kind = kind(args.cluster).to_lowercase();
        if args.waiting.wait {
            let uid = object.metadata.uid.unwrap_or_default();
            let gone = kube::runtime::wait::await_condition(
                api,
                &args.name,
                kube::runtime::wait::conditions::is_deleted(&uid),
            );
            let limit = Duration::from_secs(args.waiting.timeout);
            if tokio::time::timeout(limit, gone).await.is_err() {
                let what = format!(
                    "{kind}/{} is still there after {} s",
                    args.name, args.waiting.timeout
                );
                return Err(Failure::new(what)
                    .hint("its Ready condition says what it waits for: `cairn list`"));
            }
        }
        match args.outcome.output {
            Some(format) => printer.object(&install, format)?,
            None if args.waiting.wait => {
                printer.line(&format!("{kind}/{} deleted{data}", args.name))?;
            }
            None => {
                printer.line(&format!(
                    "{kind}/{} is being deleted{data}; `--wait` waits for the end",
                    args.name
                ))?;
            }
        }
        Ok(Code::Ok)
    })?
}

/// What goes with an install. None if that cannot be seen.
async fn data(connected: &Connected, install: &DynamicObject, wide: bool) -> Option<String> {
    let reader = Reader::new(connected.client.clone());
    let object = json!(install);
    let install = match wide {
        true => serde_json::from_value::<ClusterStackInstall>(object)
            .ok()?
            .into(),
        false => serde_json::from_value::<StackInstall>(object).ok()?.into(),
    };
    let (stacks, crds) = (reader.stacks("").await.ok()?, reader.crds().await.ok()?);
    let live: Vec<LiveCrd> = crds
        .iter()
        .filter_map(|crd| LiveCrd::read(&crd.object))
        .collect();
    let uninstall = manage::Uninstall {
        install: &install,
        stacks: &stacks,
        crds: &live,
    };
    let mut objects = BTreeMap::new();
    for live in uninstall.owned() {
        let served = live.crd.versions.iter().find(|version| version.served)?;
        let all = reader
            .list(&resource(&live.crd.gvk(&served.name), &crds)?, "", "")
            .await
            .ok()?;
        let place = |object: &Value| {
            object["metadata"]["namespace"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        objects.insert(live.crd.name.clone(), all.iter().map(place).collect());
    }
    Some(along(&uninstall.takes(&objects)))
}

/// What goes with an install, in words that go on a sentence.
fn along(taken: &Taken) -> String {
    let instances = match taken.instances {
        1 => "1 instance".to_owned(),
        count => format!("{count} instances"),
    };
    let kinds = match (taken.kinds.split_last(), taken.instances) {
        (None, 0) if taken.kept => return "; its kinds and their instances stay".to_owned(),
        (None, 0) => return String::new(),
        (None, _) => return format!(", with {instances}"),
        (Some((last, [])), _) => format!("its kind {last}"),
        (Some((last, others)), 0) => format!("its kinds {} and {last}", others.join(", ")),
        (Some((last, others)), _) => format!("its kinds {}, {last}", others.join(", ")),
    };
    if taken.instances == 0 {
        format!(", with {kinds}")
    } else {
        format!(", with {kinds} and {instances}")
    }
}

pub(crate) fn list(args: &List, printer: &Printer) -> Result<Code, Failure> {
    block_on(async {
        let connected = args.listing.connection.connect().await?;
        let mut found = Vec::new();
        for cluster in [false, true] {
            let api = installs(&connected, cluster, args.listing.all_namespaces);
            let list = api
                .list(&ListParams::default())
                .await
                .map_err(|error| told(&error))?;
            found.extend(list.items.iter().map(|object| written(object, cluster)));
        }
        found.extend(hand_made(&connected, args.listing.all_namespaces).await);
        match args.listing.output {
            Some(format) => printer.objects(&found, format)?,
            None if found.is_empty() && args.listing.all_namespaces => {
                printer.result(b"nothing is installed\n")?;
            }
            None if found.is_empty() => {
                let place = &connected.namespace;
                printer.line(&format!(
                    "nothing is installed in the namespace {place}; `-A` looks into all"
                ))?;
            }
            None => {
                let head = ["NAMESPACE", "NAME", "PACKAGE", "VERSION", "READY", "REASON"];
                let mut rows = vec![head.map(str::to_owned).to_vec()];
                rows.extend(found.iter().map(row));
                printer.table(&rows)?;
            }
        }
        Ok(Code::Ok)
    })?
}

/// The Stacks that no install made. Who may not list them still sees installs.
async fn hand_made(connected: &Connected, everywhere: bool) -> Vec<Value> {
    let namespace = if everywhere { "" } else { &connected.namespace };
    let kind = Resource::namespaced(api::GROUP, api::VERSION, Stack::KIND, Stack::PLURAL);
    let reader = Reader::new(connected.client.clone());
    let found = reader.list(&kind, namespace, "").await.unwrap_or_default();
    found.into_iter().filter(is_hand_made).collect()
}

/// Whether a Stack was made by a person: the stack manager notes on each of its own which install
/// it is of.
fn is_hand_made(stack: &Value) -> bool {
    let owners = stack["metadata"]["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let installs = [StackInstall::KIND, ClusterStackInstall::KIND];
    let of_install = |owner: &Value| {
        let group = owner["apiVersion"]
            .as_str()
            .unwrap_or_default()
            .split('/')
            .next();
        group == Some(api::GROUP) && installs.iter().any(|kind| owner["kind"] == *kind)
    };
    !owners.iter().any(of_install)
}

/// An install with its kind, which the items of a list do not say.
fn written(object: &DynamicObject, cluster: bool) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    value["apiVersion"] = json!(api::API_VERSION);
    value["kind"] = json!(kind(cluster));
    value
}

fn row(install: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let ready = condition(install, "Ready");
    if install["kind"] == Stack::KIND {
        return vec![
            text(&install["metadata"]["namespace"]),
            text(&install["metadata"]["name"]),
            "(Stack)".to_owned(),
            text(&install["spec"]["version"]),
            text(&ready["status"]),
            text(&ready["reason"]),
        ];
    }
    let what = if install["spec"]["package"].is_string() {
        &install["spec"]["package"]
    } else {
        &install["spec"]["crd"]
    };
    vec![
        text(&install["metadata"]["namespace"]),
        text(&install["metadata"]["name"]),
        short(&in_place(
            &text(what),
            install["status"]["digest"].as_str().unwrap_or_default(),
        )),
        if is_kept_out(install) {
            "-".to_owned()
        } else {
            text(&install["status"]["version"])
        },
        text(&ready["status"]),
        text(&ready["reason"]),
    ]
}

/// A package that is named by digest, with that of what is installed: another may have been asked
/// for, and refused.
fn in_place(package: &str, installed: &str) -> String {
    match package.split_once('@') {
        Some((name, _)) if !installed.is_empty() => format!("{name}@{installed}"),
        _ => package.to_owned(),
    }
}

/// A package without most of its digest, which nobody reads.
fn short(package: &str) -> String {
    match package.split_once("@sha256:") {
        Some((name, digest)) => format!(
            "{name}@sha256:{}",
            digest.chars().take(12).collect::<String>()
        ),
        None => package.to_owned(),
    }
}

fn condition<'v>(object: &'v Value, kind: &str) -> &'v Value {
    let all = object["status"]["conditions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    all.iter()
        .find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

/// Tells each step of an install as it is taken, until it is ready; answers it as it is then.
async fn wait(
    api: &Api<DynamicObject>,
    name: &str,
    limit: Duration,
    tell: impl Fn(&str) -> Result<(), Failure>,
) -> Result<DynamicObject, Failure> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = watcher(api.clone(), config).boxed();
    let mut told: Vec<(String, String)> = Vec::new();
    let mut last = Value::Null;
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        let event = tokio::time::timeout_at(deadline, events.next()).await;
        let Ok(Some(event)) = event else {
            let ready = condition(&last, "Ready");
            let why = ready["message"]
                .as_str()
                .unwrap_or("no controller has looked at it: is the stack manager running?");
            return Err(Failure::new(format!(
                "{name} is not ready after {} s: {why}",
                limit.as_secs()
            )));
        };
        let (Event::Apply(object) | Event::InitApply(object)) =
            event.map_err(|error| Failure::new(error.to_string()))?
        else {
            continue;
        };
        last = serde_json::to_value(&object).unwrap_or_default();
        let mut conditions = last["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        // That it is not up to date is said by the step that it waits for.
        conditions.retain(|condition| condition["type"] != api::conditions::UP_TO_DATE);
        // What all comes to is said last, and while it is not ready, the step that it waits for has
        // said why.
        let is_ready = |condition: &&Value| condition["type"] == "Ready";
        let whole = conditions.iter().filter(is_ready).filter(|ready| {
            ready["status"] == "True"
                || !conditions
                    .iter()
                    .any(|step| !is_ready(&step) && step["message"] == ready["message"])
        });
        for condition in conditions
            .iter()
            .filter(|condition| !is_ready(condition))
            .chain(whole)
        {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            let line = format!(
                "{}={} {}: {}",
                text("type"),
                text("status"),
                text("reason"),
                text("message")
            );
            let known = told.iter_mut().find(|(kind, _)| *kind == text("type"));
            match known {
                Some((_, before)) if *before == line => continue,
                Some((_, before)) => before.clone_from(&line),
                None => told.push((text("type"), line.clone())),
            }
            tell(&line)?;
        }
        if condition(&last, "Ready")["status"] == "True" {
            return Ok(object);
        }
    }
}

fn kind(cluster: bool) -> &'static str {
    if cluster {
        ClusterStackInstall::KIND
    } else {
        StackInstall::KIND
    }
}

fn installs(connected: &Connected, cluster: bool, everywhere: bool) -> Api<DynamicObject> {
    let plural = if cluster {
        ClusterStackInstall::PLURAL
    } else {
        StackInstall::PLURAL
    };
    let kind = GroupVersionKind::gvk(api::GROUP, api::VERSION, kind(cluster));
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    if cluster || everywhere {
        Api::all_with(connected.client.clone(), &resource)
    } else {
        Api::namespaced_with(connected.client.clone(), &connected.namespace, &resource)
    }
}

/// An error of the API server, with what to do about the usual ones.
fn told(error: &kube::Error) -> Failure {
    let kube::Error::Api(status) = error else {
        return unanswered(error);
    };
    let failure = Failure::new(status.message.clone());
    let unknown = [
        "could not find the requested resource",
        "404 page not found",
    ];
    match status.code {
        404 if unknown.iter().any(|words| status.message.contains(words)) => {
            Failure::new("the cluster knows no installs")
                .hint("is the stack manager running? See `cairn stack-manager --help`")
        }
        403 => failure.hint("you may not do this here: ask whoever administers the cluster"),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Taken, along, row};

    #[test]
    fn what_is_listed_is_what_is_installed() {
        let (old, new) = (
            format!("sha256:{}", "0".repeat(64)),
            format!("sha256:{}", "1".repeat(64)),
        );
        for (package, status, expected) in [
            (
                format!("a/b@{new}"),
                json!({ "digest": old, "version": "1.0.0" }),
                "a/b@sha256:000000000000",
            ),
            (format!("a/b@{new}"), json!({}), "a/b@sha256:111111111111"),
            (
                "a/b:1.0.0".to_owned(),
                json!({ "digest": old }),
                "a/b:1.0.0",
            ),
        ] {
            let install = json!({ "metadata": { "name": "b" }, "spec": { "package": package }, "status": status });
            assert_eq!(row(&install)[2], expected, "{install}");
        }
        // One that was kept out by another has nothing in place; one of which only a change was,
        // has.
        for (ready, expected) in [("False", "-"), ("True", "1.0.0")] {
            let condition = json!({ "type": "Ready", "status": ready, "reason": "KindTaken" });
            let status = json!({ "version": "1.0.0", "conditions": [condition] });
            let install = json!({ "metadata": { "name": "b" }, "spec": { "package": "a/b:1.0.0" }, "status": status });
            assert_eq!(row(&install)[3], expected, "{install}");
        }
    }

    #[test]
    fn what_goes_with_an_install_is_told_as_a_part_of_a_sentence() {
        let taken = |kinds: &[&str], instances: usize, kept: bool| {
            let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
            along(&Taken {
                kinds,
                instances,
                kept,
            })
        };
        for (told, expected) in [
            (taken(&[], 0, false), ""),
            (taken(&[], 0, true), "; its kinds and their instances stay"),
            (taken(&[], 1, false), ", with 1 instance"),
            (taken(&["Shop"], 0, true), ", with its kind Shop"),
            (
                taken(&["Shop"], 1, false),
                ", with its kind Shop and 1 instance",
            ),
            (
                taken(&["Shop", "Till"], 0, false),
                ", with its kinds Shop and Till",
            ),
            (
                taken(&["Shop", "Till"], 3, false),
                ", with its kinds Shop, Till and 3 instances",
            ),
        ] {
            assert_eq!(told, expected);
        }
    }
}
