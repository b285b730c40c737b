//! Whoever follows a page: a directory of their own, a shell, and programs that run until the page
//! ends.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use crate::page::{self, Step, fits};
use crate::registry::Registry;
use crate::support::{copy, root};

/// Long enough for a busy machine; only a fault waits so long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Somebody who follows a page.
pub struct Reader {
    place: tempfile::TempDir,
    dir: PathBuf,
    variables: BTreeMap<String, String>,
    /// Variables that are this reader's own, whatever the page says.
    own: Vec<&'static str>,
    /// What runs in place of `cairn up`, and what it says when it can be used.
    instead: Option<(String, String)>,
    running: Vec<Running>,
    kubectl: Option<PathBuf>,
    /// Commands that were left out, for want of kubectl.
    pub left_out: usize,
    /// Commands that were run.
    pub run: usize,
}

/// A program in the background, ended with its reader.
struct Running {
    child: Child,
    lines: Receiver<String>,
    said: String,
}

impl Reader {
    /// A reader in a directory that has nothing but the examples.
    pub fn new() -> Reader {
        let place = tempfile::tempdir().expect("a directory");
        let dir = place.path().join("here");
        copy(&root().join("examples"), &dir.join("examples"));
        let home = place.path().display().to_string();
        // Pages call the registry of their readers so.
        let variables = [("HOME", home), ("REGISTRY", Registry::start().host)];
        Reader {
            place,
            dir,
            variables: variables
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            own: vec!["REGISTRY"],
            instead: None,
            running: Vec::new(),
            kubectl: kubectl(),
            left_out: 0,
            run: 0,
        }
    }

    /// A reader with a cluster, on which a stack manager runs in place of the control plane that a
    /// page starts.
    pub fn on(kubeconfig: &Path) -> Reader {
        let mut reader = Reader::new();
        reader
            .variables
            .insert("KUBECONFIG".to_owned(), kubeconfig.display().to_string());
        reader.own.push("KUBECONFIG");
        let manager = "cairn stack-manager --runner process --listen 127.0.0.1:0 -n cairn-system";
        reader.instead = Some((
            manager.to_owned(),
            "...\n...managing stacks...\n".to_owned(),
        ));
        reader
    }

    /// Does what a page says; what comes out has to be what it shows.
    pub fn follow(&mut self, page: &str, step: &Step) {
        match step {
            Step::File { path, text } => {
                let file = self.dir.join(path);
                fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
                fs::write(file, text).expect("a file");
            }
            Step::Command(page::Command {
                line,
                command,
                shown,
                background,
                kubectl,
            }) => {
                let at = format!("{page}:{line}: {command}");
                if *kubectl && self.kubectl.is_none() {
                    self.left_out += 1;
                    return;
                }
                self.run += 1;
                if let Some(dir) = command.strip_prefix("cd ") {
                    self.dir = self.dir.join(dir);
                } else if let Some((name, value)) = command
                    .strip_prefix("export ")
                    .and_then(|rest| rest.split_once('='))
                {
                    if !self.own.contains(&name) {
                        let value = value
                            .trim_matches('"')
                            .replace("$PWD", &self.dir.display().to_string());
                        self.variables.insert(name.to_owned(), value);
                    }
                } else if let Some(file) = command
                    .strip_prefix("cat ")
                    .filter(|file| self.is_new(file))
                {
                    // A file that the page shows, and that is not there, is one that its reader is
                    // meant to have.
                    fs::write(self.dir.join(file), shown).expect("a file");
                } else if *background {
                    match self
                        .instead
                        .clone()
                        .filter(|_| command.starts_with("cairn up"))
                    {
                        Some((command, shown)) => self.start(&at, &command, &shown),
                        None => self.start(&at, command, shown),
                    }
                } else {
                    let found = self.printed(command);
                    let running: String = self.running.iter_mut().map(Running::heard).collect();
                    assert!(
                        fits(shown, &found),
                        "{at}\n--- shown\n{shown}--- printed\n{found}--- in the background\n{running}"
                    );
                }
            }
        }
    }

    fn is_new(&self, file: &str) -> bool {
        !file.contains(' ') && !self.dir.join(file).exists()
    }

    fn shell(&self, command: &str) -> Command {
        let program = Path::new(env!("CARGO_BIN_EXE_cairn"))
            .parent()
            .expect("a directory");
        let tools = self
            .kubectl
            .iter()
            .map(|kubectl| format!("{}:", kubectl.display()))
            .collect::<String>();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", command])
            .current_dir(&self.dir)
            .env("PATH", format!("{}:{tools}{path}", program.display()))
            .env_remove("KUBECONFIG")
            .env_remove("NO_COLOR")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("RUST_LOG")
            .env("TMPDIR", self.place.path())
            .envs(&self.variables)
            .stdin(Stdio::null());
        shell
    }

    /// What a command prints, in the form of a page: trailing blanks do not show, and an exit code
    /// other than 0 does.
    fn printed(&self, command: &str) -> String {
        let command = command.replace("cargo run --release --", "cairn");
        let output = self
            .shell(&format!("exec 2>&1\n{command}"))
            .output()
            .expect("sh runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines: String = text
            .lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect();
        if !output.status.success() {
            lines.push_str(&format!("[{}]\n", output.status.code().unwrap_or(-1)));
        }
        lines
    }

    /// Starts a program and waits until it has said what the page shows.
    fn start(&mut self, at: &str, command: &str, shown: &str) {
        let mut child = self
            .shell(&format!("exec 2>&1; exec {command}"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh runs");
        let stdout = child.stdout.take().expect("a pipe");
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut running = Running {
            child,
            lines,
            said: String::new(),
        };
        let deadline = Instant::now() + PATIENCE;
        while !fits(&format!("{shown}...\n"), &running.said) {
            let left = deadline.saturating_duration_since(Instant::now());
            match running.lines.recv_timeout(left) {
                Ok(line) => running.said.push_str(&format!("{}\n", line.trim_end())),
                Err(_) => panic!("{at}\n--- shown\n{shown}--- said\n{}", running.said),
            }
        }
        self.running.push(running);
    }
}

impl Running {
    /// All that it has said.
    fn heard(&mut self) -> String {
        self.said
            .extend(self.lines.try_iter().map(|line| format!("{line}\n")));
        self.said.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        // It tells that it ends by closing its output; if it does not, it is ended.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            match self
                .lines
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            {
                Ok(_) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    break;
                }
            }
        }
        let _ = self.child.wait();
    }
}

/// Where kubectl is: beside the control plane that the tests build. Any other may print something
/// else.
pub fn kubectl() -> Option<PathBuf> {
    std::env::var_os("KUBEBUILDER_ASSETS")
        .map(PathBuf::from)
        .filter(|dir| dir.join("kubectl").is_file())
}
