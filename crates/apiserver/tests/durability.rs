//! A server that is killed at any moment has lost nothing that it acknowledged, shows no half of
//! what it did not, and its revisions never go back.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    reason = "a test may panic, and its child reports on its output"
)]

mod support;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use apiserver::{Options, Server, User};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use support::Client;
use tower_service::Service;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Tells the child where to keep its data, the number of its first writes, and the newest revision
/// that was seen.
const TASK: [&str; 3] = [
    "CAIRN_DURABILITY_DATA",
    "CAIRN_DURABILITY_FIRST",
    "CAIRN_DURABILITY_SEEN",
];
/// How often the server is killed; another number with `CAIRN_DURABILITY_KILLS`.
const KILLS: u64 = 200;
/// How many write at the same time, each its own object.
const WRITERS: u64 = 4;
/// Every so many writes the object is deleted.
const ENDS: u64 = 7;

/// What the child runs: tells what the last one has left, then writes until it is killed and tells
/// what was acknowledged.
#[test]
#[ignore = "run by the test below, in a process that it kills"]
fn writer() {
    let [Ok(data), Ok(first), Ok(seen)] = TASK.map(std::env::var) else {
        return;
    };
    let (first, seen): (u64, u64) = (first.parse().unwrap(), seen.parse().unwrap());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let server = Server::start(Options {
            data: Some(data.into()),
            ..Options::default()
        })
        .await
        .unwrap();
        let client = Client::admin(&server);
        for writer in 0..WRITERS {
            let (code, object) = client
                .call("GET", &format!("{MAPS}/w{writer}"), &Value::Null)
                .await;
            let number = if code == 404 {
                "gone".to_owned()
            } else {
                whole(&object)
            };
            println!("\nLEFT {writer} {number}");
        }
        println!("\nWATCH {}", continued(&server, seen).await);
        println!("\nREVISION {}", server.revision());
        let writers = (0..WRITERS).map(|writer| {
            let server = server.clone();
            tokio::spawn(async move { write(&server, writer, first).await })
        });
        futures::future::join_all(writers).await;
    });
}

/// The number that an object says in two places, and before and after something long; else what is
/// wrong with it.
fn whole(object: &Value) -> String {
    let [first, last, label] = [
        &object["data"]["a"],
        &object["data"]["z"],
        &object["metadata"]["labels"]["number"],
    ]
    .map(Value::as_str);
    let is_whole = first == last
        && first == label
        && object["data"]["long"].as_str().map(str::len) == Some(LONG);
    first
        .filter(|_| is_whole)
        .map_or_else(|| format!("half:{object}"), str::to_owned)
}

/// More than a page of any disk.
const LONG: usize = 9000;

/// What a watch from the newest revision that was seen gets: the code of the answer.
async fn continued(server: &Server, seen: u64) -> u16 {
    let uri = format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={seen}");
    let request = Request::get(uri).body(Full::new(Bytes::new())).unwrap();
    let response = server
        .in_process_service(Some(User::admin()))
        .call(request)
        .await
        .unwrap();
    if server.revision() == seen {
        return response.status().as_u16();
    }
    // Something was written after it: it is either told or known to be forgotten.
    let mut body = response.into_body();
    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
    let event: Value =
        serde_json::from_slice(frame.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    if event["type"] == "ERROR" {
        u16::try_from(event["object"]["code"].as_u64().unwrap()).unwrap()
    } else {
        200
    }
}

async fn write(server: &Server, writer: u64, first: u64) {
    let client = Client::admin(server);
    for number in first.. {
        let uri = format!("{MAPS}/w{writer}");
        let (code, answer) = if number % ENDS == ENDS - 1 {
            client.call("DELETE", &uri, &Value::Null).await
        } else {
            let text = number.to_string();
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"number": text}},
                "data": {"a": text, "long": "x".repeat(LONG), "z": text}});
            client
                .patch(
                    "application/apply-patch+yaml",
                    &format!("{uri}?fieldManager=w&force=true"),
                    &body,
                )
                .await
        };
        // The first write may be a deletion of what is gone already.
        assert!(code < 300 || code == 404, "{code} {answer}");
        println!("\nACK {writer} {number} {}", server.revision());
    }
}

/// What a child has told.
enum Told {
    Left(u64, String),
    Watch(u16),
    Revision(u64),
    Ack(u64, u64, u64),
}

impl Told {
    /// Reads a line; what the test's own harness prints is none.
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse().ok();
        match &*words {
            ["LEFT", writer, left @ ..] => Some(Self::Left(number(writer)?, left.join(" "))),
            ["WATCH", code] => Some(Self::Watch(code.parse().ok()?)),
            ["REVISION", revision] => Some(Self::Revision(number(revision)?)),
            ["ACK", writer, write, revision] => Some(Self::Ack(
                number(writer)?,
                number(write)?,
                number(revision)?,
            )),
            _ => None,
        }
    }
}

/// A child, and its lines as they come.
struct Writer {
    child: Child,
    lines: Receiver<String>,
}

impl Writer {
    fn start(data: &Path, first: u64, seen: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer", "--ignored", "--nocapture"])
            .env(TASK[0], data)
            .env(TASK[1], first.to_string())
            .env(TASK[2], seen.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            // Only lines that have an end: the last one may be cut where the process died.
            for line in output.split(b'\n').map_while(Result::ok) {
                if send
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// Lets it go on until so many writes are acknowledged and then for a moment more, kills it,
    /// and returns all it told.
    fn killed(mut self, writes: u64, then: Duration) -> Vec<Told> {
        let (mut told, mut acknowledged) = (Vec::new(), 0);
        while acknowledged < writes {
            let Ok(line) = self.lines.recv() else {
                panic!("the writer has ended by itself")
            };
            let one = Told::read(&line);
            acknowledged += u64::from(matches!(one, Some(Told::Ack(..))));
            told.extend(one);
        }
        let deadline = Instant::now() + then;
        // However fast it tells, its time comes.
        while let Some(left) = deadline
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        {
            match self.lines.recv_timeout(left) {
                Ok(line) => told.extend(Told::read(&line)),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => panic!("the writer has ended by itself"),
            }
        }
        self.child.kill().unwrap();
        told.extend(self.lines.iter().filter_map(|line| Told::read(&line)));
        self.child.wait().unwrap();
        told
    }
}

/// What an object is after a write.
fn after(write: u64) -> String {
    if write % ENDS == ENDS - 1 {
        "gone".to_owned()
    } else {
        write.to_string()
    }
}

#[test]
fn a_killed_server_has_lost_nothing_that_it_acknowledged() {
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let kills = set("CAIRN_DURABILITY_KILLS").unwrap_or(KILLS);
    let seed = set("CAIRN_DURABILITY_SEED").unwrap_or(0x9e37_79b9_7f4a_7c15_u64);
    println!("CAIRN_DURABILITY_SEED={seed}");
    let mut state = seed | 1;
    let mut random = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    // What each object may be: as the last write that was acknowledged left it, or the one after
    // it.
    let mut possible: BTreeMap<u64, Vec<String>> = (0..WRITERS)
        .map(|writer| (writer, vec!["gone".into()]))
        .collect();
    let (mut seen, mut acknowledged, mut started) = (0, 0, 0);
    for kill in 0..kills {
        let first = kill * 1_000_000;
        // One in eight is killed while it starts, the others while they write.
        let (writes, then) = match random(8) {
            0 => (0, Duration::from_micros(random(60_000))),
            _ => (1 + random(40), Duration::from_micros(random(3000))),
        };
        let told = Writer::start(&data, first, seen).killed(writes, then);
        let (before, mut newest) = (seen, None);
        for one in told {
            match one {
                Told::Left(writer, left) => {
                    let fine = &possible[&writer];
                    assert!(
                        fine.contains(&left),
                        "kill {kill}: w{writer} is {left}, and may be {fine:?}"
                    );
                    // From here on it is known, and the next write of this one may already be on
                    // its way.
                    possible.insert(writer, vec![left, after(first)]);
                }
                Told::Revision(revision) => {
                    assert!(
                        revision >= before,
                        "kill {kill}: revisions went back from {before} to {revision}"
                    );
                    seen = seen.max(revision);
                    newest = Some(revision);
                    started += 1;
                }
                Told::Watch(code) => {
                    assert!(
                        matches!(code, 200 | 410),
                        "kill {kill}: a watch from {before} was answered with {code}"
                    );
                }
                Told::Ack(writer, write, revision) => {
                    possible.insert(writer, vec![after(write), after(write + 1)]);
                    assert!(
                        newest.is_some_and(|newest| revision >= newest),
                        "kill {kill}: revision {revision}"
                    );
                    seen = seen.max(revision);
                    acknowledged += 1;
                }
            }
        }
    }
    println!(
        "{kills} kills, {started} of them of a server that was ready; {acknowledged} writes acknowledged"
    );
    assert!(
        acknowledged >= kills,
        "too little was written to prove anything: {acknowledged}"
    );
}
