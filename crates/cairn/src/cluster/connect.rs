//! The cluster that a command talks to: by kubeconfig and context as kubectl finds them, or from
//! inside a pod.

use std::path::{Path, PathBuf};

use controller::stack_manager::Endpoint;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::cli::Connection;
use crate::terminal::env::places;
use crate::terminal::error::Failure;

/// A client, the namespace that commands without `-n` mean, and where other programs find the same
/// cluster.
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

/// Chooses the one provider for all of TLS; a second call finds it in place.
pub(crate) fn install_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// What to do where no API server answers.
pub(crate) const IS_IT_RUNNING: &str =
    "is it running? `cairn up` starts one here, `--kubeconfig FILE` names another";

fn bad(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Kubeconfig, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| bad(path, &error))?;
    let value = yaml::parse(&text).map_err(|error| bad(path, &error))?;
    let mut kubeconfig = serde_json::from_value(value).map_err(|error| bad(path, &error))?;
    if let Some(dir) = path.parent() {
        root(&mut kubeconfig, dir);
    }
    Ok(kubeconfig)
}

/// Takes the files that a kubeconfig names as beside it, as kubectl does, wherever the command
/// runs.
fn root(kubeconfig: &mut Kubeconfig, dir: &Path) {
    let rooted = |file: &mut Option<String>| {
        if let Some(name) = file.as_mut().filter(|name| !name.is_empty()) {
            *name = dir.join(&*name).to_string_lossy().into_owned();
        }
    };
    for cluster in kubeconfig
        .clusters
        .iter_mut()
        .filter_map(|named| named.cluster.as_mut())
    {
        rooted(&mut cluster.certificate_authority);
    }
    for user in kubeconfig
        .auth_infos
        .iter_mut()
        .filter_map(|named| named.auth_info.as_mut())
    {
        for file in [
            &mut user.client_certificate,
            &mut user.client_key,
            &mut user.token_file,
        ] {
            rooted(file);
        }
        // A program without a directory is one of the search path.
        if let Some(exec) = user.exec.as_mut()
            && exec
                .command
                .as_ref()
                .is_some_and(|command| command.contains('/'))
        {
            rooted(&mut exec.command);
        }
    }
}

/// The files of the variable KUBECONFIG that are there; as for kubectl, not all have to be.
fn existing(named: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    let names: Vec<String> = named
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let found: Vec<PathBuf> = named.into_iter().filter(|path| path.exists()).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let which = if names.len() == 1 {
        "which is not"
    } else {
        "none of which is"
    };
    let names = names.join(", ");
    Err(Failure::new(format!(
        "the variable KUBECONFIG names {names}, {which} there"
    ))
    .hint(
        "`unset KUBECONFIG`, and that of `cairn up` is found, or name another: `--kubeconfig FILE`",
    ))
}

impl Connection {
    /// Connects; nothing is asked of the cluster yet.
    pub async fn connect(&self) -> Result<Connected, Failure> {
        install_tls();
        let config = self.config().await?;
        let context = config.default_namespace.clone();
        let namespace = self.namespace.clone().unwrap_or_else(|| context.clone());
        let endpoint = Endpoint::of(&config);
        let client = Client::try_from(config)
            .map_err(|error| Failure::new(format!("cannot connect: {error}")))?;
        Ok(Connected {
            client,
            namespace,
            context,
            endpoint,
        })
    }

    async fn config(&self) -> Result<Config, Failure> {
        let places = places();
        let mut paths = match &self.kubeconfig {
            Some(path) => vec![path.clone()],
            None if places.kubeconfigs.is_empty() => {
                // To pass over it in silence would mean another cluster.
                if let Some(foreign) = places.foreign_kubeconfig {
                    let what = format!(
                        "{} belongs to another user, and a kubeconfig can run programs",
                        foreign.display()
                    );
                    return Err(
                        Failure::new(what).hint("if you trust it, name it: `--kubeconfig FILE`")
                    );
                }
                places
                    .kubeconfig
                    .into_iter()
                    .filter(|path| path.exists())
                    .collect()
            }
            None => existing(places.kubeconfigs)?,
        }
        .into_iter();
        let Some(first) = paths.next() else {
            return self.in_cluster();
        };
        let mut kubeconfig = read(&first)?;
        for path in paths {
            kubeconfig = kubeconfig
                .merge(read(&path)?)
                .map_err(|error| bad(&path, &error))?;
        }
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        Config::from_custom_kubeconfig(kubeconfig, &options)
            .await
            .map_err(|error| bad(&first, &error))
    }

    fn in_cluster(&self) -> Result<Config, Failure> {
        Config::incluster().map_err(|_| {
            Failure::new("there is no kubeconfig, and this is no pod of a cluster")
                .hint("name one with `--kubeconfig FILE` or KUBECONFIG, or start a cluster on this machine: `cairn up`")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn files_that_a_kubeconfig_names_are_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        let beside = |name: &str| place.path().join(name).display().to_string();
        for (written, expected) in [
            ("ca.crt", beside("ca.crt")),
            ("pki/ca.crt", beside("pki/ca.crt")),
            ("/etc/ca.crt", "/etc/ca.crt".to_owned()),
            ("", String::new()),
        ] {
            let text = format!(
                "clusters: [{{name: a, cluster: {{server: 'https://a', certificate-authority: '{written}'}}}}]\n\
                 users: [{{name: a, user: {{client-certificate: '{written}', client-key: '{written}', tokenFile: '{written}'}}}}]\n"
            );
            std::fs::write(&path, text).unwrap();
            let read = read(&path).unwrap();
            let user = read.auth_infos[0].auth_info.clone().unwrap();
            let authority = read.clusters[0]
                .cluster
                .clone()
                .unwrap()
                .certificate_authority;
            for found in [
                authority,
                user.client_certificate,
                user.client_key,
                user.token_file,
            ] {
                assert_eq!(found.as_ref(), Some(&expected), "{written}");
            }
        }
        for (command, expected) in [
            ("login", "login".to_owned()),
            ("bin/login", beside("bin/login")),
            ("/bin/login", "/bin/login".to_owned()),
        ] {
            let text = format!(
                "users: [{{name: a, user: {{exec: {{command: {command}, apiVersion: v1}}}}}}]\n"
            );
            std::fs::write(&path, text).unwrap();
            let user = read(&path).unwrap().auth_infos[0]
                .auth_info
                .clone()
                .unwrap();
            assert_eq!(user.exec.and_then(|exec| exec.command), Some(expected));
        }
    }
}
