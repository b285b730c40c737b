//! The cluster that a command talks to: by kubeconfig and context as kubectl finds them, or from inside a pod.

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
    pub endpoint: Endpoint,
}

/// What is told of an API server that does not answer.
pub(crate) fn unanswered(error: &kube::Error) -> Failure {
    Failure::new(controller::unanswered(error)).hint(IS_IT_RUNNING)
}

/// What to do where no API server answers.
pub(crate) const IS_IT_RUNNING: &str = "is it running? `cairn up` starts one here, `--kubeconfig FILE` names another";

impl Connection {
    /// Connects; nothing is asked of the cluster yet.
    pub async fn connect(&self) -> Result<Connected, Failure> {
        // One provider for all of TLS; a second call finds it in place.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = self.config().await?;
        let namespace = self.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let endpoint = Endpoint::of(&config);
        let client = Client::try_from(config).map_err(|error| Failure::new(format!("cannot connect: {error}")))?;
        Ok(Connected { client, namespace, endpoint })
    }

    async fn config(&self) -> Result<Config, Failure> {
        let Some(path) = self.kubeconfig.clone().or_else(|| places().kubeconfig) else {
            return self.in_cluster();
        };
        if !path.exists() && self.kubeconfig.is_none() {
            return self.in_cluster();
        }
        let bad = |what: String| Failure::new(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(&path).map_err(|error| bad(error.to_string()))?;
        let value = yaml::parse(&text).map_err(|error| bad(error.to_string()))?;
        let kubeconfig: Kubeconfig = serde_json::from_value(value).map_err(|error| bad(error.to_string()))?;
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(|error| bad(error.to_string()))
    }

    fn in_cluster(&self) -> Result<Config, Failure> {
        Config::incluster().map_err(|_| {
            Failure::new("there is no kubeconfig, and this is no pod of a cluster")
                .hint("name one with `--kubeconfig FILE` or KUBECONFIG, or start a cluster on this machine: `cairn up`")
        })
    }
}
