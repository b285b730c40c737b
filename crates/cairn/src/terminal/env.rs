//! Everything the command takes from its environment, read once.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use controller::template_stack_manager::INSTANCE_LOG;

use crate::files::private;

/// Where `cairn up` writes its kubeconfig, from the directory that it is started in.
const UP_KUBECONFIG: &str = ".cairn/kubeconfig";

/// What libraries tell of in their own words is told by us in ours, or does not matter.
pub(crate) const QUIET_LIBRARIES: &str = "kube=error";

/// The environment of this run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env {
    /// Whether errors may be coloured.
    pub colour: bool,
    /// Whether somebody watches, who wants to see how far it is.
    pub watched: bool,
    /// The width of the terminal that results go to; none if they go elsewhere.
    pub screen: Option<usize>,
    /// Whether results may be coloured.
    pub paint: bool,
    /// Whether somebody can be asked, and answer.
    pub answers: bool,
}

/// Where things are kept, as far as the environment says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// Where to keep what can be had again.
    pub cache: Option<PathBuf>,
    /// Names and passwords for registries.
    pub docker_config: Option<PathBuf>,
    /// Which cluster.
    pub kubeconfig: Option<PathBuf>,
    /// A kubeconfig of `cairn up` in this directory that another user wrote, and that is therefore
    /// not used.
    pub foreign_kubeconfig: Option<PathBuf>,
    /// Which cluster, as the variable KUBECONFIG says; the files in it are one.
    pub kubeconfigs: Vec<PathBuf>,
    /// Where to keep what nobody needs after this run.
    pub runtime: PathBuf,
}

/// Looks up where things are kept.
pub(crate) fn places() -> Places {
    let path = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let home = path("HOME");
    Places {
        runtime: path("XDG_RUNTIME_DIR").unwrap_or_else(std::env::temp_dir),
        cache: path("XDG_CACHE_HOME").or_else(|| Some(home.as_ref()?.join(".cache"))),
        kubeconfigs: path("KUBECONFIG")
            .map(|all| std::env::split_paths(&all).collect())
            .unwrap_or_default(),
        foreign_kubeconfig: foreign_kubeconfig(),
        // Beside a control plane of one's own, that is meant rather than whatever cluster was used
        // last.
        kubeconfig: own_kubeconfig().or_else(|| Some(home.as_ref()?.join(".kube/config"))),
        docker_config: path("DOCKER_CONFIG")
            .or_else(|| Some(home?.join(".docker")))
            .map(|dir| dir.join("config.json")),
    }
}

/// The proxies that the environment names, as curl and Go read it: small letters count first.
pub(crate) fn proxies() -> Result<registry::Proxies, String> {
    let value = |name: &str| {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        set(&name.to_ascii_lowercase())
            .or_else(|| set(name))
            .unwrap_or_default()
    };
    registry::Proxies::new(
        &value("HTTPS_PROXY"),
        &value("HTTP_PROXY"),
        &value("NO_PROXY"),
    )
}

/// The kubeconfig of `cairn up` in this directory, or in the nearest one above. A kubeconfig may
/// name programs to run, so that only one of the same user counts.
fn own_kubeconfig() -> Option<PathBuf> {
    let here = PathBuf::from(UP_KUBECONFIG);
    if private::is_own(&here) {
        return Some(here);
    }
    let above = |path: &PathBuf| private::is_own(path);
    std::env::current_dir()
        .ok()?
        .ancestors()
        .skip(1)
        .map(|above| above.join(UP_KUBECONFIG))
        .find(above)
}

/// The kubeconfig of `cairn up` in this directory, if it is another user's.
fn foreign_kubeconfig() -> Option<PathBuf> {
    let here = PathBuf::from(UP_KUBECONFIG);
    (here.symlink_metadata().is_ok() && !private::is_own(&here)).then_some(here)
}

/// What processes that this one starts get of its environment: how much they tell, and nothing
/// else.
pub(crate) fn passed_on() -> Vec<(OsString, OsString)> {
    let names = ["RUST_LOG", "RUST_BACKTRACE"];
    names
        .into_iter()
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
        .collect()
}

/// The same for children of a program that tells itself how instances get on: they need not, unless
/// RUST_LOG says so.
pub(crate) fn passed_on_quietly() -> Vec<(OsString, OsString)> {
    let mut environment = passed_on();
    if !environment.iter().any(|(name, _)| name == "RUST_LOG") {
        let filter = format!("warn,{QUIET_LIBRARIES},{INSTANCE_LOG}=off");
        environment.push(("RUST_LOG".into(), filter.into()));
    }
    environment
}

impl Env {
    pub fn read() -> Env {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let watched = std::io::stderr().is_terminal();
        let terminal = std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
        // A terminal without a size is no smaller than most.
        let screen = terminal.then_some(if width == 0 { 80 } else { width });
        let answers = watched && std::io::stdin().is_terminal();
        Env {
            colour: !refused && watched,
            watched,
            screen,
            paint: !refused && terminal,
            answers,
        }
    }
}
