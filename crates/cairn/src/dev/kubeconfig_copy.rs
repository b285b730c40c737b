//! The copy of the kubeconfig that somebody asked for. Whatever was in its place before was written
//! by another `cairn up`, or there is no copy; and it is there again when a control plane that
//! keeps nothing has ended.

use std::path::{Path, PathBuf};

use crate::files::private;
use crate::terminal::error::Failure;

/// Where a copy goes, and what was there.
#[derive(Clone)]
pub(crate) struct KubeconfigCopy {
    path: PathBuf,
    before: Option<String>,
    /// What this one wrote there, with a token that no other control plane has.
    written: Option<String>,
}

impl KubeconfigCopy {
    /// A copy for later. What is no kubeconfig of a control plane like this one stays as it is.
    pub fn to(path: &Path) -> Result<KubeconfigCopy, Failure> {
        let before = match private::read(path) {
            Ok(before) => before,
            Err(private::Refused::Foreign(why)) => {
                let what = format!("cannot write {}: {why}", path.display());
                return Err(Failure::new(what).hint("name another file with `--kubeconfig-out`"));
            }
            // A directory or a pipe.
            Err(private::Refused::NoFile) => Some("no kubeconfig".to_owned()),
            Err(private::Refused::Failed(error)) => {
                return Err(Failure::new(format!(
                    "cannot use {}: {error}",
                    path.display()
                )));
            }
        };
        if before.as_ref().is_some_and(|before| !is_ours(before)) {
            let what = format!(
                "{} already exists, and `cairn up` did not write it",
                path.display()
            );
            return Err(Failure::new(what)
                .hint("name another file with `--kubeconfig-out`, or move that one away"));
        }
        Ok(KubeconfigCopy {
            path: path.to_path_buf(),
            before,
            written: None,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write(&mut self, kubeconfig: &str) -> std::io::Result<()> {
        if let Some(place) = self
            .path
            .parent()
            .filter(|place| !place.as_os_str().is_empty())
        {
            std::fs::create_dir_all(place)?;
        }
        private::write(&self.path, kubeconfig.as_bytes())?;
        self.written = Some(kubeconfig.to_owned());
        Ok(())
    }

    /// Leaves the place as it was found, unless another has written there since, be it a newer
    /// control plane.
    pub fn take_back(&self) {
        let Some(written) = &self.written else { return };
        if !std::fs::read_to_string(&self.path).is_ok_and(|text| text == *written) {
            return;
        }
        // Whoever ends cannot do more about it.
        let _ = match &self.before {
            Some(before) => private::write(&self.path, before.as_bytes()),
            None => std::fs::remove_file(&self.path),
        };
    }
}

/// Whether a text is the kubeconfig of a control plane on a machine, or nothing at all.
fn is_ours(text: &str) -> bool {
    if text.trim().is_empty() {
        return true;
    }
    let Ok(value) = yaml::parse(text) else {
        return false;
    };
    let only = |list: &str| matches!(value[list].as_array().map(Vec::as_slice), Some([one]) if one["name"] == "cairn");
    value["kind"] == "Config" && only("clusters") && only("contexts")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{KubeconfigCopy, is_ours};

    const OURS: &str = "\
apiVersion: v1
kind: Config
clusters: [{name: cairn, cluster: {server: 'https://127.0.0.1:1'}}]
contexts: [{name: cairn, context: {cluster: cairn, user: admin}}]
users: [{name: admin, user: {token: t}}]
current-context: cairn
";

    #[test]
    fn a_kubeconfig_of_this_program_is_told_from_what_others_need() {
        let more = OURS.replace(
            "contexts: [",
            "contexts: [{name: work, context: {cluster: work, user: me}}, ",
        );
        for (text, expected) in [
            (OURS, true),
            ("", true),
            ("\n", true),
            (&*OURS.replace("name: cairn", "name: work"), false),
            (&*more, false),
            (&*OURS.replace("kind: Config", "kind: Secret"), false),
            ("a note", false),
            ("{", false),
        ] {
            assert_eq!(is_ours(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_there_is_there_again_and_what_was_never_written_is_never_taken_away() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        let new = OURS.replace(":1", ":2");
        for before in [None, Some(""), Some(OURS)] {
            let newer = OURS.replace(":1", ":3");
            for (write, changed) in [
                (false, None),
                (true, None),
                (true, Some("somebody's")),
                (true, Some(&*newer)),
            ] {
                match before {
                    Some(before) => fs::write(&path, before).unwrap(),
                    None => _ = fs::remove_file(&path),
                }
                let mut duplicate = KubeconfigCopy::to(&path).unwrap();
                if write {
                    duplicate.write(&new).unwrap();
                    assert_eq!(fs::read_to_string(&path).unwrap(), new);
                }
                if let Some(changed) = changed {
                    fs::write(&path, changed).unwrap();
                }
                duplicate.take_back();
                let left = fs::read_to_string(&path).ok();
                assert_eq!(
                    left.as_deref(),
                    changed.or(before),
                    "{before:?} {write} {changed:?}"
                );
            }
        }
    }

    #[test]
    fn what_others_wrote_is_not_written_over() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("config");
        fs::write(&path, "kind: Config\nclusters: [{name: work}]\n").unwrap();
        for path in [&*path, place.path()] {
            let told = KubeconfigCopy::to(path)
                .err()
                .map(|failure| failure.message)
                .unwrap_or_default();
            assert!(
                told.ends_with("already exists, and `cairn up` did not write it"),
                "{told}"
            );
        }
    }
}
