//! The scripts: files of shell commands, of which one that begins at the margin is a new one and
//! others continue it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Commands that follow one another.
pub struct Script {
    /// Its file.
    pub name: String,
    /// The commands; a here document belongs to its command.
    pub commands: Vec<String>,
}

impl Script {
    /// All scripts, in the order of their names.
    pub fn all() -> Result<Vec<Self>> {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubectl/scripts");
        let mut files: Vec<PathBuf> = fs::read_dir(&dir)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "sh"));
        files.sort();
        let read = |path: PathBuf| {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Ok(Self {
                name,
                commands: commands(&text),
            })
        };
        files.into_iter().map(read).collect()
    }
}

fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut document = false;
    for line in text.lines() {
        match commands.last_mut().filter(|_| document) {
            Some(command) => {
                command.push('\n');
                command.push_str(line);
                document = line != "EOF";
            }
            None if line.is_empty() || line.starts_with('#') => {}
            None => {
                commands.push(line.to_owned());
                document = line.ends_with("<<EOF");
            }
        }
    }
    commands
}

/// Where the commands of one cluster run: a home of their own, so that no cache is shared.
pub struct Session {
    home: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Session {
    /// A home with a copy of the kubeconfig, which commands may change.
    pub fn open(kubeconfig: &Path) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let copy = home.path().join("kubeconfig");
        fs::copy(kubeconfig, &copy).context("cannot copy the kubeconfig")?;
        Ok(Self {
            home,
            kubeconfig: copy,
        })
    }

    /// The home directory.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The kubeconfig in it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}
