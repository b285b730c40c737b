//! Registries as the command line sees them: a client from its options, and a package from wherever
//! it is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use package::Files;
use package::image::{Archive, Reference};
use registry::{Client, Credentials, HostPattern, Options, Progress, Pulled, Reach, Store};

use crate::cli::Registries;
use crate::project::Project;
use crate::terminal::env::{places, proxies};
use crate::terminal::error::Failure;
use crate::terminal::printer::Printer;

/// The longest that a pull of somebody who waits for it may take.
const PATIENCE: Duration = Duration::from_secs(1800);

/// What tenants may have of registries.
pub(crate) struct TenantBounds {
    /// The registries that they may use; none means all.
    pub allow: Vec<HostPattern>,
    /// The hosts for which they get the credentials of whoever runs this program.
    pub config_hosts: Vec<HostPattern>,
    /// The most bytes of a layer.
    pub layer_bytes: u64,
    /// The most bytes of the store.
    pub store_bytes: u64,
    /// The longest that a pull may take.
    pub timeout: Duration,
}

impl Registries {
    /// A client for whoever runs this program, with these options.
    pub fn client(&self) -> Result<Client, Failure> {
        let options = self.options()?;
        Ok(Client::new(Options {
            reach: Reach::own(),
            timeout: PATIENCE,
            ..options
        }))
    }

    /// A client for tenants: it goes only to registries that `allow` names, or to all if it names
    /// none, and uses the credentials of whoever runs this program only for the hosts in `own`.
    pub fn client_of_tenants(&self, bounds: &TenantBounds) -> Result<Client, Failure> {
        let options = self.options()?;
        let credentials = options.credentials.clone().only_for(&bounds.config_hosts);
        let store = options.store.clone().limited(bounds.store_bytes);
        let reach = Reach::of(bounds.allow.clone());
        let (layer_bytes, timeout) = (bounds.layer_bytes, bounds.timeout);
        Ok(Client::new(Options {
            credentials,
            store,
            reach,
            layer_bytes,
            timeout,
            ..options
        }))
    }

    fn options(&self) -> Result<Options, Failure> {
        let places = places();
        let config = self.docker_config.clone().or(places.docker_config);
        let credentials = match &config {
            Some(path) => Credentials::from_file(path).map_err(|error| failure(&error))?,
            None => Credentials::default(),
        };
        let cache = places
            .cache
            .unwrap_or_else(std::env::temp_dir)
            .join("cairn");
        let directory = cache.join("images");
        for place in [&cache, &directory] {
            crate::files::private::directory(place).map_err(|error| {
                Failure::new(format!(
                    "cannot keep images in {}: {error}",
                    place.display()
                ))
                .hint("name a directory of your own with XDG_CACHE_HOME")
            })?;
        }
        let store = Store::open(directory).map_err(|error| failure(&error))?;
        let proxies = proxies().map_err(Failure::usage)?;
        Ok(Options {
            credentials,
            plain_http: self.plain_http.clone(),
            proxies,
            ..Options::new(store)
        })
    }

    /// Pulls a package, with a line that tells how far it is.
    pub fn pull(&self, reference: &Reference, printer: &Printer) -> Result<Pulled, Failure> {
        let client = self.client()?;
        let shown = reference.to_string();
        let progress = |step: Progress| printer.progress("pulling", &shown, step.done, step.total);
        let pulled = block_on(client.pull(reference, &progress))?;
        printer.clear();
        pulled.map_err(|error| failure(&error))
    }

    /// The package that a text means, with its tag if it has one: a directory, a file, or an image.
    pub fn open(
        &self,
        text: &str,
        printer: &Printer,
    ) -> Result<(Files, Option<String>, PathBuf), Failure> {
        let path = Path::new(text);
        if path.is_dir() {
            return Ok((Project::read(path)?.files, None, path.to_path_buf()));
        }
        if path.is_file() {
            let archive = archive(path)?;
            let files = archive
                .files()
                .map_err(|why| Failure::new(format!("{text}: {why}")))?;
            return Ok((files, archive.tag, path.to_path_buf()));
        }
        let reference = parse(text).map_err(|bad| {
            // Most names of images are also good names of files.
            bad.hint(format!("or is there no file or directory `{text}` here?"))
        })?;
        if !text.contains([':', '@']) && (text.starts_with(['.', '/']) || !text.contains('.')) {
            return Err(Failure::new(format!(
                "there is no file or directory `{text}`"
            )));
        }
        let pulled = self.pull(&reference, printer)?;
        Ok((pulled.files, reference.tag, PathBuf::from(text)))
    }
}

/// The image in a file.
pub(crate) fn archive(path: &Path) -> Result<Archive, Failure> {
    let bad = |why: String| {
        let hint = "it reads files that `cairn build` or `skopeo copy ... oci-archive:FILE` wrote";
        Failure::new(format!("{}: {why}", path.display())).hint(hint)
    };
    let file = std::fs::File::open(path).map_err(|error| bad(error.to_string()))?;
    Archive::read(std::io::BufReader::new(file)).map_err(bad)
}

/// Reads the name of an image.
pub(crate) fn parse(text: &str) -> Result<Reference, Failure> {
    Reference::parse(text).map_err(|bad| Failure::usage(bad.what).hint(bad.hint))
}

/// Waits for something that talks to others.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(future))
}

/// The same with several threads, for a controller.
pub(crate) fn block_on_many<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(future);
    // A thread that is still busy ends with the process.
    runtime.shutdown_background();
    Ok(outcome)
}

/// An error of a registry, with what to do about it.
pub(crate) fn failure(error: &registry::Error) -> Failure {
    let failure = Failure::new(error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
