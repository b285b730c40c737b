//! A program that is measured: its processor time and memory from `/proc`, its own numbers from
//! `/metrics`.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// The length of a tick of `/proc/PID/stat`, on every Linux there is.
const TICK: Duration = Duration::from_millis(10);

/// A running program.
pub struct Program {
    child: Child,
    /// Where it answers.
    address: String,
}

/// What it has used.
pub struct Used {
    pub processor: Duration,
    pub resident: u64,
    pub peak: u64,
}

impl Program {
    /// Starts it, and waits until its log tells where it answers.
    pub async fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--listen", "127.0.0.1:0", "--log-json"]);
        let mut child = command
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = loop {
            let line = lines.next_line().await.unwrap().unwrap();
            let value: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(address) = value["fields"]["address"]
                .as_str()
                .or(value["address"].as_str())
            {
                break address.to_owned();
            }
        };
        // Its log is read to the end, or it would wait for us.
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                eprint_line(&line);
            }
        });
        Self { child, address }
    }

    pub fn look(&self) -> Used {
        used(self.child.id().unwrap())
    }

    /// The numbers it keeps of itself.
    pub async fn numbers(&self) -> Value {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let lines = text.lines().filter(|line| line.starts_with("cairn_"));
        lines
            .filter_map(|line| line.rsplit_once(' '))
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect()
    }

    pub async fn stop(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// What a process has used.
pub fn used(id: u32) -> Used {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..]
        .split_whitespace()
        .collect();
    let ticks = |index: usize| fields[index].parse::<u32>().unwrap();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let kilobytes = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default();
        line.split_whitespace()
            .next()
            .and_then(|number| number.parse::<u64>().ok())
            .unwrap_or_default()
            * 1024
    };
    Used {
        processor: TICK * (ticks(11) + ticks(12)),
        resident: kilobytes("VmRSS:"),
        peak: kilobytes("VmHWM:"),
    }
}

#[allow(
    clippy::print_stderr,
    reason = "the log of the program that is measured"
)]
fn eprint_line(line: &str) {
    if line.contains("WARN") || line.contains("ERROR") {
        eprintln!("{line}");
    }
}
