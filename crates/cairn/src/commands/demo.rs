//! `cairn demo`: a whole run on a control plane in memory, from an installed package to an instance
//! that is ready.
//!
//! The API server, the stack manager, the template stack manager with its own account and the
//! templates are real. The controllers that would start containers are played, since nothing runs
//! here.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::StackInstall;
use apiserver::{Options, Server};
use controller::Cluster;
use controller::stack_manager::Runner;
use futures::StreamExt;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use package::Files;
use serde_json::{Value, json};

use super::render::emitted;
use crate::cli::Demo;
use crate::cluster::registries::block_on_many;
use crate::control_plane::{InProcess, LocalPackages, Plane, Terms, WorkloadSimulator};
use crate::inspect::{Follower, State, grow, resource, roots};
use crate::project::Project;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::{Paint, Printer};
use crate::terminal::tree_view::Shown;

macro_rules! example {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../../../examples/caching-web-service/", $file)))),*]
    };
}

const PACKAGE: &[(&str, &str)] = example![
    ".registry/app.yaml",
    ".registry/resources/example.org/cachingwebservice/v1/cachingwebservice.v1.crd.yaml",
    ".registry/resources/example.org/redis/v1/redis.v1.crd.yaml",
    ".registry/templates/cachingwebservice.example.org/v1/cache.yaml",
    ".registry/templates/cachingwebservice.example.org/v1/status.yaml",
    ".registry/templates/cachingwebservice.example.org/v1/web.yaml",
    ".registry/templates/redis.example.org/v1/deployment.yaml",
    ".registry/templates/redis.example.org/v1/service.yaml",
    ".registry/templates/redis.example.org/v1/status.yaml",
];
const INSTANCE: &str = include_str!("../../../../examples/caching-web-service/cacheme.yaml");
const NAME: &str = "caching-web-service";
const NAMESPACE: &str = "default";
/// How long containers seem to take to start: long enough to see what waits for them.
const START: Duration = Duration::from_millis(250);
/// When something has to be wrong.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &Demo, printer: &Printer) -> Result<Code, Failure> {
    block_on_many(async {
        match tokio::time::timeout(PATIENCE, show(args, printer)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::new(format!(
                "the example is not ready after {} s",
                PATIENCE.as_secs()
            ))),
        }
    })?
}

async fn show(args: &Demo, printer: &Printer) -> Result<Code, Failure> {
    let files: Files = PACKAGE
        .iter()
        .map(|(file, text)| ((*file).to_string(), text.as_bytes().to_vec()))
        .collect();
    let project = Project::of(Path::new("examples/caching-web-service"), NAME, files);
    heading(
        printer,
        "A platform team wrote a CRD and templates for each of two kinds; there is no controller to write:",
    )?;
    printer.result(listed().as_bytes())?;

    let begin = Instant::now();
    let server = Server::start(Options::default())
        .await
        .map_err(|error| Failure::new(error.to_string()))?;
    let shelf = Arc::new(LocalPackages::new(None, None));
    let inside = server.clone();
    let runner = |tenant: Cluster| -> Result<Arc<dyn Runner>, Failure> {
        Ok(Arc::new(InProcess::new(inside, tenant)))
    };
    let mut plane = Plane::start(server, shelf.clone(), Terms::default(), runner).await?;
    let took = begin.elapsed().as_millis();
    heading(
        printer,
        &format!(
            "A Kubernetes API and the stack manager, in this process and in memory: {took} ms"
        ),
    )?;

    let begin = Instant::now();
    let package = shelf.put(NAME, &project)?.to_string();
    let client = plane.admin();
    install(&client, &package, printer).await?;
    let took = begin.elapsed().as_millis();
    printer.line(&format!(
        "  its controller runs, as the account stack-{NAME} and with no more rights: {took} ms"
    ))?;

    heading(printer, "A user asks for this:")?;
    printer.result(indented(INSTANCE).as_bytes())?;
    heading(
        printer,
        "What becomes of it (the controllers that start containers are played):",
    )?;
    let status = watch(&client, &project, printer).await?;
    heading(printer, "The user's object now says:")?;
    printer.result(indented(&emitted(&json!({ "status": status }))?).as_bytes())?;
    if !args.exit {
        heading(printer, "Next:")?;
        printer.result(NEXT.as_bytes())?;
    }
    plane.rest().await;
    plane.stop().await;
    Ok(Code::Ok)
}

const NEXT: &str = "  \
  cairn init shop    a stack of your own, with a test: `cairn test shop`
  cairn up shop      it runs here, for kubectl; what you save is installed
  cairn diff shop    what your change would do to the instances there are
";

/// Creates the install, and tells each step as it is taken.
async fn install(client: &Client, package: &str, printer: &Printer) -> Result<(), Failure> {
    let bad = |error: &dyn std::fmt::Display| {
        Failure::new(format!("the example cannot be installed: {error}"))
    };
    let kind = GroupVersionKind::gvk(api::GROUP, api::VERSION, StackInstall::KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, StackInstall::PLURAL);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &resource);
    let object = json!({
        "apiVersion": api::API_VERSION, "kind": StackInstall::KIND,
        "metadata": { "name": NAME }, "spec": { "package": package },
    });
    let object = serde_json::from_value(object).map_err(|error| bad(&error))?;
    api.create(&PostParams::default(), &object)
        .await
        .map_err(|error| bad(&error))?;
    heading(
        printer,
        &format!("StackInstall/{NAME} is created, and the stack manager installs it:"),
    )?;
    let mut events = watcher(api, watcher::Config::default()).boxed();
    let mut told: Vec<String> = Vec::new();
    while let Some(event) = events.next().await {
        let (Event::Apply(object) | Event::InitApply(object)) =
            event.map_err(|error| bad(&error))?
        else {
            continue;
        };
        let conditions = object.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let done = conditions
            .iter()
            .filter(|condition| condition["status"] == "True");
        for kind in done.filter_map(|condition| condition["type"].as_str()) {
            if kind == api::conditions::READY {
                return Ok(());
            }
            if !told.iter().any(|known| known == kind) {
                printer.line(&format!("  {} {kind}", printer.painted(Paint::Good, "✓")))?;
                told.push(kind.to_owned());
            }
        }
    }
    Err(bad(&"the watch ended"))
}

/// Creates the instance, plays outside controllers, and shows the tree until all of it is ready;
/// answers its status.
async fn watch(client: &Client, project: &Project, printer: &Printer) -> Result<Value, Failure> {
    let bad = |error: &dyn std::fmt::Display| {
        Failure::new(format!("the example cannot be made: {error}"))
    };
    let compiled = project.compiled()?;
    let crds: Vec<_> = project
        .package
        .crds
        .iter()
        .map(|file| file.crd.clone())
        .collect();
    let kinds = compiled
        .kinds
        .iter()
        .map(|kind| &kind.gvk)
        .chain(compiled.rendered());
    let mut follower = Follower::start(
        client,
        kinds.filter_map(|gvk| resource(gvk, &crds)).collect(),
    )
    .await;
    let instance = yaml::parse(INSTANCE).map_err(|error| bad(&error))?;
    let kind = objects::Gvk::of(&instance).and_then(|gvk| resource(&gvk, &crds));
    let kind = kind.ok_or_else(|| bad(&"its kind is not in the package"))?;
    let _players = WorkloadSimulator::start(client, START);
    Cluster::new(client.clone(), "cairn-demo")
        .create(&kind, &instance)
        .await
        .map_err(|error| bad(&error))?;
    let begin = Instant::now();
    let mut shown = Shown::default();
    loop {
        follower.changed().await;
        let objects = follower.objects();
        let live: Vec<&Value> = objects.iter().map(|object| &**object).collect();
        let roots = roots(compiled, &live);
        let Some(root) = roots.first() else { continue };
        let tree = grow(compiled, root, &live);
        shown.tree(printer, &tree, begin.elapsed())?;
        if tree.state == State::Ready {
            return Ok(root["status"].clone());
        }
    }
}

fn heading(printer: &Printer, text: &str) -> Result<(), Failure> {
    printer.line(&format!("\n{}", printer.painted(Paint::Strong, text)))
}

fn listed() -> String {
    let named = PACKAGE
        .iter()
        .filter(|(file, _)| file.contains("crd") || file.contains("templates/"));
    named
        .map(|(file, text)| format!("  {file} ({} lines)\n", text.lines().count()))
        .collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
