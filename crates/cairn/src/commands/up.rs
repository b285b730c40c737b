//! `cairn up`: a control plane on this machine, with the packages of some directories installed,
//! and installed anew whenever they are saved.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use api::{ClusterStackInstall, StackInstall};
use apiserver::{Listener, Options, Server, StartError, User};
use controller::Cluster;
use controller::stack_manager::{Endpoint, ProcessRunner, Runner};
use futures::future::LocalBoxFuture;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};

use super::stack_manager::{Registry, processes};
use crate::cli::{Registries, Up};
use crate::cluster::registries::block_on_many;
use crate::control_plane::{
    LocalPackages, Plane, Terms, WorkloadSimulator, namespace, template_api,
};
use crate::controller_main::stopped;
use crate::dev::{Ending, Installer, StateDir, Watch, names, take_back_all, tell};
use crate::terminal::env::passed_on_quietly;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::{Paint, Printer};

/// How long things seem to take to start.
const START: Duration = Duration::from_millis(300);
/// How long to wait for installs before going on without them.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &Up, printer: &Printer) -> Result<Code, Failure> {
    // What cannot work is said before anything is begun.
    names(&directories(args))?;
    printer.warnings();
    block_on_many(up(args, printer))?
}

async fn up(args: &Up, printer: &Printer) -> Result<Code, Failure> {
    let bounds = args.capacity.bounds()?;
    neighbours(args, printer);
    let mut house = StateDir::enter(&args.data, args.ephemeral, args.kubeconfig_out.as_deref())?;
    let ending = Ending::watch(house.traces())
        .map_err(|error| Failure::new(format!("cannot handle signals: {error}")))?;
    let resumed = house.data().is_some_and(|data| data.exists());
    let extensions = vec![template_api::extension()];
    let server = Server::start(Options {
        data: house.data(),
        extensions,
        ..Options::default()
    })
    .await;
    let server = server.map_err(|error| Failure::new(error.to_string()))?;
    let last = house.last_port();
    let listener = listen(&server, args.port, last).await?;
    house.settle(
        listener.address(),
        &server.kubeconfig(&listener, &User::admin()),
    )?;
    ending.clean_up(house.traces());
    let beyond = Registry::new(
        Registries {
            plain_http: Vec::new(),
            docker_config: None,
        }
        .client()?,
    );
    let shelf = Arc::new(LocalPackages::new(house.packages(), Some(Box::new(beyond))));
    let endpoint = Endpoint {
        server: format!("https://{}", listener.address()),
        certificate_authority: listener.ca_pem().to_owned(),
        ..Endpoint::default()
    };
    let mut runner: Result<Arc<ProcessRunner>, Failure> =
        Err(Failure::new("nothing runs controllers"));
    let start = |tenant: Cluster| -> Result<Arc<dyn Runner>, Failure> {
        let processes = Arc::new(processes(
            &tenant,
            endpoint,
            passed_on_quietly(),
            &args.capacity,
        )?);
        runner = Ok(processes.clone());
        Ok(processes)
    };
    let terms = Terms {
        namespaced_crds: args.namespaced_crds.into(),
        bounds,
        instance_limits: args.capacity.instance_limits,
        budgets: args.capacity.budget.budgets(),
    };
    let mut plane = Plane::start(server, shelf.clone(), terms, start).await?;
    let runner = runner?;
    let client = plane.admin();
    welcome(args, &house, &listener, resumed, printer)?;
    if let Some(last) =
        last.filter(|last| args.port.is_none() && *last != listener.address().port())
    {
        let what = "is taken by another program: whoever knows only that one has to be told";
        printer.warning(&format!("the port {last} of the last time {what}"));
    }
    take_back_all(&client).await?;
    if resumed {
        row(printer, "goes on with", &installed(&client).await?)?;
    }
    printer.line("")?;
    let players = (!args.no_play).then(|| WorkloadSimulator::start(&client, START));
    let watched = async {
        // What keeps nothing has nothing to lose.
        if !args.ephemeral {
            house.gone().await;
            printer.failure(&gone(house.dir()));
        }
        std::future::pending::<()>().await;
    };
    let outcome = tokio::select! {
        () = stopped() => Ok(()),
        () = watched => Ok(()),
        outcome = serve(args, &client, &shelf, printer) => outcome,
        failure = plane.failed(house.dir()) => Err(failure),
    };
    printer.line("\nending ...")?;
    drop(players);
    plane.rest().await;
    runner.end_all().await;
    plane.stop().await;
    drop(listener);
    if outcome.is_ok() {
        let kept = match args.ephemeral {
            true => "ended; nothing was kept".to_owned(),
            false if !house.stands() => {
                format!(
                    "ended; nothing is kept, since {} was taken away",
                    house.dir().display()
                )
            }
            false => format!(
                "ended; all is kept in {}, and `cairn up` goes on with it",
                house.dir().display()
            ),
        };
        printer.line(&kept)?;
    }
    outcome.map(|()| Code::Ok)
}

/// What is told when somebody takes away the directory that all is kept in.
fn gone(dir: &Path) -> Failure {
    Failure::new(format!("{} was taken away, and all that was kept in it", dir.display()))
        .hint("this control plane goes on until it ends, and keeps nothing: end it, and `cairn up` begins anew")
}

/// Tells of a control plane further up, which somebody in this directory may have meant.
fn neighbours(args: &Up, printer: &Printer) {
    if args.data.is_absolute() || args.data.exists() {
        return;
    }
    let Ok(here) = std::env::current_dir() else {
        return;
    };
    let above = here.ancestors().skip(1).map(|above| above.join(&args.data));
    if let Some((dir, who)) = above
        .into_iter()
        .find_map(|dir| StateDir::inhabitant(&dir).map(|who| (dir, who)))
    {
        let hint = "this starts another one, which `cairn` finds from here";
        printer.warning(&format!("{who} runs already, in {}: {hint}", dir.display()));
    }
}

/// Installs the packages, and goes on until somebody ends it.
async fn serve(
    args: &Up,
    client: &Client,
    shelf: &Arc<LocalPackages>,
    printer: &Printer,
) -> Result<(), Failure> {
    let dirs = directories(args);
    namespace(client, &args.namespace).await?;
    let installers = Installer::all(&dirs, &args.namespace, client, shelf)?;
    // Before they are read, so that nothing is missed.
    let mut watch = Watch::start(&dirs)?;
    let mut work = Work {
        installers: &installers,
        printer,
        waiting: BTreeMap::new(),
    };
    work.refresh(&(0..installers.len()).collect()).await;
    let _ = tokio::time::timeout(PATIENCE, work.settled()).await;
    if installers.is_empty() {
        printer
            .line("no package is given: name directories, `cairn up DIR...`, or use `cairn install`; Ctrl-C ends")?;
    } else {
        if let Some(specimen) = installers.iter().find_map(Installer::specimen) {
            printer.line(&format!("\ntry: kubectl apply -f {}", specimen.display()))?;
        }
        printer.line("save a file of a package, and it is installed anew; Ctrl-C ends")?;
    }
    let saving = async {
        loop {
            let saved = tokio::select! {
                saved = watch.saved() => saved,
                outcome = work.next() => {
                    outcome?;
                    continue;
                }
            };
            work.refresh(&saved).await;
        }
    };
    let leaving = futures::future::join_all(
        installers
            .iter()
            .map(|installer| installer.uninstalled(printer)),
    );
    tokio::select! {
        outcome = saving => outcome,
        outcome = tell(client, printer) => outcome,
        outcome = forever(leaving) => outcome,
    }
}

/// What ends without an error is no reason to end.
async fn forever(all: impl Future<Output = Vec<Result<(), Failure>>>) -> Result<(), Failure> {
    all.await.into_iter().collect::<Result<(), Failure>>()?;
    std::future::pending().await
}

/// Packages that are being installed.
struct Work<'w> {
    installers: &'w [Installer],
    printer: &'w Printer,
    waiting: BTreeMap<usize, LocalBoxFuture<'w, Result<(), Failure>>>,
}

impl Work<'_> {
    /// Asks for some of the packages anew; none waits for another, since one may need another.
    async fn refresh(&mut self, which: &BTreeSet<usize>) {
        for at in which {
            let Some(installer) = self.installers.get(*at) else {
                continue;
            };
            match installer.refresh(self.printer).await {
                Ok(Some(pending)) => {
                    self.waiting
                        .insert(*at, Box::pin(installer.settle(pending, self.printer)));
                }
                Ok(None) => {}
                // A file that is just being replaced cannot be read; the next save tells.
                Err(failure) => self.printer.failure(&failure),
            }
        }
    }

    /// Waits until one of them is installed.
    async fn next(&mut self) -> Result<(), Failure> {
        if self.waiting.is_empty() {
            return std::future::pending().await;
        }
        let (outcome, at, _) = futures::future::select_all(self.waiting.values_mut()).await;
        if let Some(done) = self.waiting.keys().nth(at).copied() {
            self.waiting.remove(&done);
        }
        outcome
    }

    /// Waits until all of them are, or have told why they are not.
    async fn settled(&mut self) -> Result<(), Failure> {
        while !self.waiting.is_empty() {
            let waiting = self
                .waiting
                .keys()
                .filter_map(|at| self.installers.get(*at));
            let stuck = futures::future::join_all(waiting.map(Installer::stuck));
            tokio::select! {
                outcome = self.next() => outcome?,
                _ = stuck => break,
            }
        }
        Ok(())
    }
}

/// The directories that were named, or this one if it is a package.
fn directories(args: &Up) -> Vec<PathBuf> {
    match args.dirs.as_slice() {
        [] if Path::new(".registry").is_dir() => vec![PathBuf::from(".")],
        dirs => dirs.to_vec(),
    }
}

async fn listen(
    server: &Server,
    wanted: Option<u16>,
    last: Option<u16>,
) -> Result<Listener, Failure> {
    let at = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if let Some(port) = wanted {
        return server.listen(at(port)).await.map_err(|error| match error {
            StartError::Listen(address, error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                Failure::new(format!(
                    "the port {} is taken: another program listens there",
                    address.port()
                ))
                .hint("take another, or leave `--port` out: a free one is found")
            }
            error => Failure::new(error.to_string()),
        });
    }
    // The same as last time, so that whoever knows it still finds it.
    if let Some(last) = last
        && let Ok(listener) = server.listen(at(last)).await
    {
        return Ok(listener);
    }
    server
        .listen(at(0))
        .await
        .map_err(|error| Failure::new(error.to_string()))
}

fn welcome(
    args: &Up,
    house: &StateDir,
    listener: &Listener,
    resumed: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    let full = house
        .kubeconfig()
        .canonicalize()
        .unwrap_or_else(|_| house.kubeconfig().to_path_buf());
    let kept = match (args.ephemeral, resumed) {
        (true, _) if house.dir() != args.data => {
            format!(
                "in memory, gone when it ends, beside what is in {}",
                args.data.display()
            )
        }
        (true, _) => "in memory, gone when it ends".to_owned(),
        (false, false) => format!("kept in {}", house.dir().display()),
        (false, true) => format!("resumed from {}", house.dir().display()),
    };
    let rows = [
        (
            "control plane",
            format!("https://{}, {kept}", listener.address()),
        ),
        ("kubeconfig", full.display().to_string()),
        (
            if house.dir() == args.data {
                "for kubectl"
            } else {
                "for all clients"
            },
            format!("export KUBECONFIG={}", quoted(&full)),
        ),
    ];
    for (title, text) in rows {
        row(printer, title, &text)?;
    }
    let nodes = if args.no_play {
        "none, so nothing runs: Deployments and the like are stored, and nobody reports on them"
    } else {
        "none, so nothing runs: Deployments and the like are stored and reported as if they ran (--no-play: not)"
    };
    row(printer, "nodes", nodes)
}

fn row(printer: &Printer, title: &str, text: &str) -> Result<(), Failure> {
    printer.line(&format!(
        "{} {text}",
        printer.painted(Paint::Strong, &format!("{title:<14}"))
    ))
}

/// What is installed from before, in a line.
async fn installed(client: &Client) -> Result<String, Failure> {
    let mut names = Vec::new();
    for (kind, plural) in [
        (StackInstall::KIND, StackInstall::PLURAL),
        (ClusterStackInstall::KIND, ClusterStackInstall::PLURAL),
    ] {
        let gvk = GroupVersionKind::gvk(api::GROUP, api::VERSION, kind);
        let all: Api<DynamicObject> = Api::all_with(
            client.clone(),
            &ApiResource::from_gvk_with_plural(&gvk, plural),
        );
        let found = all
            .list(&ListParams::default())
            .await
            .map_err(|error| Failure::new(error.to_string()))?;
        names.extend(found.items.into_iter().map(|install| {
            let version = install.data["status"]["version"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            format!("{} {version}", install.metadata.name.unwrap_or_default())
                .trim_end()
                .to_owned()
        }));
    }
    Ok(if names.is_empty() {
        "nothing that is installed".to_owned()
    } else {
        names.join(", ")
    })
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+".contains(letter);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
