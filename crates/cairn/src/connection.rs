//! The cluster that a command talks to: by kubeconfig and context as kubectl finds them, or from inside a pod.

use std::path::{Path, PathBuf};

use controller::stack_manager::Endpoint;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::args::Connection;
use crate::env::places;
use crate::failure::Failure;

/// A client, the namespace that commands without `-n` mean, and where other programs find the same cluster.
pub(crate) struct Connected {
    pub client: Client,
    pub namespace: String,
    /// The namespace that kubectl means without `-n`.
    pub context: String,
    pub endpoint: Endpoint,
}

/// What is told of an API server that does not answer.
pub(crate) fn unanswered(error: &kube::Error) -> Failure {
    Failure::new(controller::unanswered(error)).hint(IS_IT_RUNNING)
}

/// What to do where no API server answers.
pub(crate) const IS_IT_RUNNING: &str = "is it running? `cairn up` starts one here, `--kubeconfig FILE` names another";

fn bad(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Kubeconfig, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| bad(path, &error))?;
    let value = yaml::parse(&text).map_err(|error| bad(path, &error))?;
    serde_json::from_value(value).map_err(|error| bad(path, &error))
}

/// The files of the variable KUBECONFIG that are there; as for kubectl, not all have to be.
fn existing(named: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let names: Vec<String> = named.iter().map(|path| path.display().to_string()).collect();
    let found: Vec<PathBuf> = named.into_iter().filter(|path| path.exists()).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let which = if names.len() == 1 { "which is not" } else { "none of which is" };
    let names = names.join(", ");
    Err(Failure::new(format!("the variable KUBECONFIG names {names}, {which} there"))
        .hint("`unset KUBECONFIG`, and that of `cairn up` is found, or name another: `--kubeconfig FILE`"))
}

impl Connection {
    /// Connects; nothing is asked of the cluster yet.
    pub async fn connect(&self) -> Result<Connected, Failure> {
        // One provider for all of TLS; a second call finds it in place.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = self.config().await?;
        let context = config.default_namespace.clone();
        let namespace = self.namespace.clone().unwrap_or_else(|| context.clone());
        let endpoint = Endpoint::of(&config);
        let client = Client::try_from(config).map_err(|error| Failure::new(format!("cannot connect: {error}")))?;
        Ok(Connected { client, namespace, context, endpoint })
    }

    async fn config(&self) -> Result<Config, Failure> {
        let places = places();
        let mut paths = match &self.kubeconfig {
            Some(path) => vec![path.clone()],
            None if places.kubeconfigs.is_empty() => {
                places.kubeconfig.into_iter().filter(|path| path.exists()).collect()
            }
            None => existing(places.kubeconfigs)?,
        }
        .into_iter();
        let Some(first) = paths.next() else { return self.in_cluster() };
        let mut kubeconfig = read(&first)?;
        for path in paths {
            kubeconfig = kubeconfig.merge(read(&path)?).map_err(|error| bad(&path, &error))?;
        }
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| bad(&first, &error))
    }

    fn in_cluster(&self) -> Result<Config, Failure> {
        Config::incluster().map_err(|_| {
            Failure::new("there is no kubeconfig, and this is no pod of a cluster")
                .hint("name one with `--kubeconfig FILE` or KUBECONFIG, or start a cluster on this machine: `cairn up`")
        })
    }
}
