//! One child process: started, given its credentials on its standard input, told to end by the end
//! of it, and restarted when it ends by itself, each time later.

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::Shared;
use crate::credentials::Handover;
use objects::{Key, Resource};

/// How a child is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// It was started, and has not said yet that it is ready.
    Starting,
    /// It is ready; this is its id.
    Ready(u32),
    /// It does not stay, for this reason, and is tried again.
    Failing(String),
}

/// A child that is kept running until it is told to end; dropping it kills it.
pub(super) struct Child {
    account_uid: String,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// What a child says on standard output once it works.
const READY: &str = "ready";
/// How long a child may take to end after it was told.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first and the longest wait before a child that ended is started anew.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
/// A child that ran for so long begins anew with its waits.
const WELL: Duration = Duration::from_secs(120);
/// How long a child may take to read its credentials.
const HEARING: Duration = Duration::from_secs(10);
/// How soon a token that could not be renewed is asked for again.
const RENEW_AGAIN: Duration = Duration::from_secs(15);
/// More of a line is no use to anybody.
const LINE: usize = 16 << 10;

impl Child {
    /// Starts a child of a stack, as its account.
    pub(super) fn start(shared: Arc<Shared>, stack: Key, account: Key, account_uid: &str) -> Self {
        let state = Arc::new(Mutex::new(State::Starting));
        let (stop, stopped) = oneshot::channel();
        let life = Life {
            shared,
            stack,
            account,
            state: state.clone(),
        };
        let task = tokio::spawn(async move { life.lead(stopped).await });
        Self {
            account_uid: account_uid.to_owned(),
            state,
            stop: Some(stop),
            task,
        }
    }

    /// The account that its token is of.
    pub(super) fn account_uid(&self) -> &str {
        &self.account_uid
    }

    pub(super) fn state(&self) -> State {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends it, and waits until it is gone.
    pub(super) async fn end(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let _ = (&mut self.task).await;
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Life {
    shared: Arc<Shared>,
    stack: Key,
    account: Key,
    state: Arc<Mutex<State>>,
}

/// A process that runs.
struct Process {
    child: tokio::process::Child,
    /// Where its credentials go; while this is open, the child goes on.
    line: ChildStdin,
    id: u32,
    log: JoinHandle<String>,
    ready: oneshot::Receiver<()>,
}

impl Life {
    async fn lead(self, mut stopped: oneshot::Receiver<()>) {
        let mut failures = 0;
        loop {
            let begin = Instant::now();
            let why = match self.once(&mut stopped).await {
                Ok(()) => return,
                Err(why) => why,
            };
            failures = if begin.elapsed() > WELL {
                1
            } else {
                failures + 1
            };
            tracing::warn!(stack = %self.stack, failures, "{why}");
            self.set(State::Failing(why));
            tokio::select! {
                () = tokio::time::sleep(pause(failures)) => {}
                _ = &mut stopped => return,
            }
        }
    }

    /// From start to end; an error is why it ended by itself.
    async fn once(&self, stopped: &mut oneshot::Receiver<()>) -> Result<(), String> {
        let (handover, wait) = tokio::select! {
            asked = self.credentials() => asked?,
            _ = &mut *stopped => return Ok(()),
        };
        let mut renewed = Instant::now() + wait;
        let mut process = self.spawn()?;
        // One that ended already says so below.
        let _ = hand_over(&mut process.line, &handover).await;
        let mut waits = true;
        loop {
            tokio::select! {
                ended = process.child.wait() => return Err(obituary(ended, &process.log.await.unwrap_or_default())),
                ready = &mut process.ready, if waits => {
                    waits = false;
                    if ready.is_ok() {
                        tracing::info!(stack = %self.stack, process = process.id, "its controller is ready");
                        self.set(State::Ready(process.id));
                    }
                }
                () = tokio::time::sleep_until(renewed) => {
                    let wait = match self.credentials().await {
                        Ok((handover, wait)) => {
                            hand_over(&mut process.line, &handover).await?;
                            wait
                        }
                        Err(why) => {
                            // The old one is good for a while.
                            tracing::warn!(stack = %self.stack, "{why}");
                            RENEW_AGAIN
                        }
                    };
                    renewed = Instant::now() + wait;
                }
                _ = &mut *stopped => {
                    dismiss(process).await;
                    return Ok(());
                }
            }
        }
    }

    /// New credentials, and when to ask for the next.
    async fn credentials(&self) -> Result<(Handover, Duration), String> {
        let accounts = Resource::namespaced("", "v1", "ServiceAccount", "serviceaccounts");
        let asked = self.shared.options.token_lifetime;
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "expirationSeconds": asked.as_secs() },
        });
        let answer = self
            .shared
            .options
            .tenant
            .create_part(&accounts, &self.account, "token", &request)
            .await;
        let answer = answer
            .map_err(|error| format!("the account {} gets no token: {error}", self.account))?;
        let token = answer["status"]["token"].as_str().unwrap_or_default();
        let handover = self.shared.options.endpoint.with(token);
        let handover = handover
            .map_err(|error| format!("cannot hand over the API server's address: {error}"))?;
        let expires = answer["status"]["expirationTimestamp"]
            .as_str()
            .unwrap_or_default();
        Ok((handover, renewal(expires, Timestamp::now(), asked)))
    }

    fn spawn(&self) -> Result<Process, String> {
        let options = &self.shared.options;
        let mut command = Command::new(&options.program);
        command
            .args([
                "template-stack-manager",
                "--supervised",
                "--log-json",
                "--listen",
                "127.0.0.1:0",
            ])
            .args(["--instance-limits", &options.instance_limits.to_string()])
            .args(options.budgets.options())
            .args([
                "--stack",
                &self.stack.name,
                "--namespace",
                &self.stack.namespace,
            ])
            // An interrupt from the keyboard is for this process, which then ends its children.
            .process_group(0)
            .env_clear()
            .envs(options.environment.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let bad = |what: &dyn std::fmt::Display| {
            format!("{} cannot be started: {what}", options.program.display())
        };
        let mut child = command.spawn().map_err(|error| bad(&error))?;
        let (Some(line), Some(said), Some(log), Some(id)) = (
            child.stdin.take(),
            child.stdout.take(),
            child.stderr.take(),
            child.id(),
        ) else {
            return Err(bad(&"it was gone at once"));
        };
        tracing::info!(stack = %self.stack, process = id, "starting its controller");
        let (tell, ready) = oneshot::channel();
        tokio::spawn(listen(said, tell));
        let log = tokio::spawn(pass_on(log, self.stack.to_string()));
        Ok(Process {
            child,
            line,
            id,
            log,
            ready,
        })
    }

    fn set(&self, state: State) {
        let changed = {
            let mut known = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let changed = *known != state;
            *known = state;
            changed
        };
        if changed {
            self.shared.tell(&self.stack);
        }
    }
}

/// Writes credentials to a child. One that does not read them within a while is of no use.
async fn hand_over(line: &mut ChildStdin, handover: &Handover) -> Result<(), String> {
    let text = handover.line();
    let written = tokio::time::timeout(HEARING, line.write_all(&text)).await;
    match written {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("its process does not take credentials: {error}")),
        Err(_) => Err(format!(
            "its process did not read its credentials within {} s",
            HEARING.as_secs()
        )),
    }
}

/// Tells a child to end, and makes it.
async fn dismiss(process: Process) {
    let Process {
        mut child, line, ..
    } = process;
    drop(line);
    if tokio::time::timeout(PATIENCE, child.wait()).await.is_err() {
        // One that hangs is not asked again.
        let _ = child.kill().await;
    }
}

/// When to ask for the next token: after three quarters of the time that this one is good, which
/// leaves the rest to whatever keeps the API server from answering.
fn renewal(expires: &str, now: Timestamp, asked: Duration) -> Duration {
    let left = expires
        .parse::<Timestamp>()
        .ok()
        .and_then(|end| Duration::try_from(end.duration_since(now)).ok());
    // A clock that is far off does not make us ask all the time, nor never.
    left.unwrap_or(asked)
        .min(asked.saturating_mul(2))
        .max(Duration::from_secs(20))
        * 3
        / 4
}

/// How long to wait before a start, after so many that did not last.
fn pause(failures: u32) -> Duration {
    FIRST
        .saturating_mul(1 << failures.saturating_sub(1).min(20))
        .min(LONGEST)
}

/// How a process ended, in the words of its own log if it left any.
fn obituary(ended: std::io::Result<ExitStatus>, last: &str) -> String {
    let how = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
    if last.is_empty() {
        format!("its process ended ({how})")
    } else {
        format!("its process ended ({how}): {last}")
    }
}

/// Reads what a child says until it says no more.
async fn listen(said: impl AsyncRead + Unpin, ready: oneshot::Sender<()>) {
    let mut ready = Some(ready);
    let mut lines = Lines::new(said);
    while let Some(line) = lines.next().await {
        if line == READY
            && let Some(ready) = ready.take()
        {
            let _ = ready.send(());
        }
    }
}

/// Passes a child's log on with the name of its stack; answers the last thing that was wrong.
async fn pass_on(log: impl AsyncRead + Unpin, stack: String) -> String {
    let mut last = String::new();
    let mut lines = Lines::new(log);
    while let Some(line) = lines.next().await {
        let (level, text) = entry(&line);
        match level {
            Level::Error => tracing::error!(stack, "{text}"),
            Level::Warn => tracing::warn!(stack, "{text}"),
            Level::Info => tracing::info!(stack, "{text}"),
            Level::Debug => tracing::debug!(stack, "{text}"),
        }
        if matches!(level, Level::Error | Level::Warn) {
            last = text;
        }
    }
    last
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// A line of a child's log: JSON as a rule, and plain text when it was in trouble before it had a
/// log.
fn entry(line: &str) -> (Level, String) {
    let Ok(Value::Object(mut entry)) = serde_json::from_str(line) else {
        return (
            Level::Error,
            line.strip_prefix("error: ").unwrap_or(line).to_owned(),
        );
    };
    let level = match entry.get("level").and_then(Value::as_str) {
        Some("ERROR") => Level::Error,
        Some("WARN") => Level::Warn,
        Some("DEBUG" | "TRACE") => Level::Debug,
        _ => Level::Info,
    };
    let Some(Value::Object(mut fields)) = entry.remove("fields") else {
        return (level, line.to_owned());
    };
    let mut text = match fields.remove("message") {
        Some(Value::String(message)) => message,
        _ => String::new(),
    };
    for (name, value) in fields {
        text.push_str(&format!(" {name}={value}"));
    }
    (level, text)
}

/// Lines of bounded length, whatever is written.
struct Lines<R> {
    reader: BufReader<R>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(reader: R) -> Self {
        Self {
            reader: BufReader::new(reader),
        }
    }

    /// The next line without its end, cut where it is too long; none at the end, or when nothing
    /// can be read.
    async fn next(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let mut any = false;
        loop {
            let bytes = self.reader.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return any.then(|| String::from_utf8_lossy(&line).into_owned());
            }
            any = true;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            line.extend(part.iter().take(LINE.saturating_sub(line.len())));
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Some(String::from_utf8_lossy(&line).into_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::{LINE, Level, Lines, entry, pause, renewal};

    #[test]
    fn a_child_that_does_not_stay_is_started_later_and_later() {
        let waits: Vec<_> = [1, 2, 3, 7, 8, 1000]
            .map(pause)
            .iter()
            .map(Duration::as_millis)
            .collect();
        assert_eq!(waits, [500, 1000, 2000, 32_000, 60_000, 60_000]);
    }

    #[test]
    fn a_token_is_renewed_well_before_it_ends() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let hour = Duration::from_secs(3600);
        for (expires, expected) in [
            ("2026-01-01T01:00:00Z", 2700),
            ("2026-01-01T00:10:00Z", 450),
            ("2026-01-01T00:00:01Z", 15),
            ("2025-01-01T00:00:00Z", 2700),
            ("2030-01-01T00:00:00Z", 5400),
            ("soon", 2700),
        ] {
            assert_eq!(
                renewal(expires, now, hour),
                Duration::from_secs(expected),
                "{expires}"
            );
        }
    }

    #[test]
    fn a_line_of_a_log_keeps_its_level_and_fields() {
        for (line, expected) in [
            (
                r#"{"level":"WARN","fields":{"message":"no","name":"a","n":1}}"#,
                (Level::Warn, "no n=1 name=\"a\""),
            ),
            (
                r#"{"level":"INFO","fields":{"message":"yes"}}"#,
                (Level::Info, "yes"),
            ),
            (
                r#"{"level":"TRACE"}"#,
                (Level::Debug, r#"{"level":"TRACE"}"#),
            ),
            ("error: cannot connect", (Level::Error, "cannot connect")),
            ("[1]", (Level::Error, "[1]")),
        ] {
            let (level, text) = entry(line);
            assert_eq!((level, text.as_str()), expected, "{line}");
        }
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut() {
        let long = "x".repeat(LINE * 3);
        let text = format!("one\n\n{long}\n{long}");
        let mut lines = Lines::new(text.as_bytes());
        let mut lengths = Vec::new();
        while let Some(line) = lines.next().await {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [3, 0, LINE, LINE]);
    }
}
