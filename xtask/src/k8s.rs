//! `cargo xtask k8s`: provides the Kubernetes binaries the cluster suites run on, built once per
//! pin and cached outside the clone. It does not start them; `testkit` does.

mod build;
mod pins;
mod space;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail};

use crate::{
    cache,
    toolchain::{Purpose, Toolchain},
};
use build::{Binary, Workshop};
use pins::Pins;

/// The variable by which a directory of ready-made binaries takes the place of ours.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

const PURPOSE: Purpose = Purpose {
    what: "Kubernetes",
    otherwise: ", or set KUBEBUILDER_ASSETS to a directory that has the binaries",
};

/// Options of `cargo xtask k8s`.
#[derive(clap::Args)]
pub struct Args {
    /// Also build what a node needs: kubelet, kube-scheduler and kube-proxy
    #[arg(long)]
    node: bool,
    /// Only print where the binaries are or would be; build nothing
    #[arg(long)]
    print_dir: bool,
}

/// Which binaries are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// The control plane and `kubectl`.
    Control,
    /// The control plane, `kubectl` and what a node runs.
    Node,
}

impl Set {
    fn binaries(self) -> &'static [Binary] {
        match self {
            Self::Control => &build::BINARIES[..build::CONTROL],
            Self::Node => &build::BINARIES,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Control => "",
            Self::Node => "-node",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Control => Self::Node,
            Self::Node => Self::Control,
        }
    }
}

/// Runs the verb.
pub fn run(args: &Args) -> Result<ExitCode> {
    let set = if args.node { Set::Node } else { Set::Control };
    let dir = if args.print_dir {
        place(set)?
    } else {
        provide(set)?
    };
    println!("{}", dir.display());
    Ok(ExitCode::SUCCESS)
}

/// The directory with all binaries of the set, which are built first if need be.
pub fn provide(set: Set) -> Result<PathBuf> {
    if let Some(dir) = given()? {
        let missing = missing(&dir, set);
        if !missing.is_empty() {
            bail!(
                "{ASSETS} is {}, which lacks {}\nhint: add them, or unset {ASSETS} to have them built",
                dir.display(),
                missing.join(", ")
            );
        }
        return Ok(dir);
    }
    let toolchain = Toolchain::find(&module(), &PURPOSE)?;
    let pins = Pins::read(&module())?;
    let shelf = cache::root()?.join("k8s");
    let key = pins.key(&toolchain);
    let target = shelf.join(format!("{key}{}", set.suffix()));
    if target.is_dir() {
        return Ok(target);
    }
    fs::create_dir_all(&shelf)
        .with_context(|| format!("cannot create the cache {}", shelf.display()))?;
    let _lock = cache::lock(&shelf.join("build.lock"))?;
    if target.is_dir() {
        // Another process built it while this one waited.
        return Ok(target);
    }
    space::check(&shelf, &toolchain)?;
    let workshop = Workshop {
        module: module(),
        bench: shelf.join(format!("{key}{}.partial", set.suffix())),
        twin: shelf.join(format!("{key}{}", set.other().suffix())),
        log: shelf.join(format!("{key}{}.log", set.suffix())),
        ldflags: pins.ldflags(),
    };
    let begin = Instant::now();
    workshop.build(set.binaries())?;
    fs::rename(&workshop.bench, &target).with_context(|| {
        format!(
            "cannot move {} to {}",
            workshop.bench.display(),
            target.display()
        )
    })?;
    eprintln!(
        "built Kubernetes {} in {}",
        pins.kubernetes,
        build::clock(begin.elapsed())
    );
    Ok(target)
}

/// Where the set is or would be, without building it.
fn place(set: Set) -> Result<PathBuf> {
    if let Some(dir) = given()? {
        return Ok(dir);
    }
    let key = Pins::read(&module())?.key(&Toolchain::find(&module(), &PURPOSE)?);
    Ok(cache::root()?
        .join("k8s")
        .join(format!("{key}{}", set.suffix())))
}

/// The directory that the user gave, as a path that is good from every directory.
fn given() -> Result<Option<PathBuf>> {
    let given = std::env::var_os(ASSETS).filter(|value| !value.is_empty());
    given
        .map(std::path::absolute)
        .transpose()
        .with_context(|| format!("{ASSETS} is no path"))
}

fn missing(dir: &Path, set: Set) -> Vec<&'static str> {
    set.binaries()
        .iter()
        .map(|binary| binary.name)
        .filter(|name| !dir.join(name).is_file())
        .collect()
}

fn module() -> PathBuf {
    cache::repository().join("tools/k8s")
}
