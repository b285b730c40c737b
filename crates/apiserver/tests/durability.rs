//! A server that is killed at any moment has lost nothing that it acknowledged, and its revisions never go back.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and its child reports on its output")]

mod support;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use apiserver::{Options, Server};
use serde_json::{Value, json};
use support::Client;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Tells the child where to keep its data.
const DATA: &str = "CAIRN_DURABILITY_DATA";
/// How often the server is killed; more with `CAIRN_DURABILITY_KILLS`.
const KILLS: usize = 12;

/// What the child runs: writes until it is killed, and prints what was acknowledged.
#[test]
#[ignore = "run by the test below, in a process that it kills"]
fn writer() {
    let Ok(data) = std::env::var(DATA) else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let server = Server::start(Options { data: Some(data.into()), ..Options::default() }).await.unwrap();
        let client = Client::admin(&server);
        for round in 0_u64.. {
            let name = format!("m{}", round % 7);
            let uri = format!("{MAPS}/{name}");
            let stamp = format!("{}-{round}", std::process::id());
            let (code, object) = match round % 11 {
                10 => client.call("DELETE", &uri, &Value::Null).await,
                _ => {
                    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"stamp": stamp}});
                    client.patch("application/apply-patch+yaml", &format!("{uri}?fieldManager=w&force=true"), &body).await
                }
            };
            if code < 300 {
                let stamp = object["data"]["stamp"].as_str().unwrap_or("gone");
                println!("ACK {} {name} {stamp}", server.revision());
            }
        }
    });
}

/// Runs a writer until it has told so many writes, kills it, and returns what it told.
fn killed_writer(data: &Path, after: usize) -> Vec<(u64, String, String)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--ignored", "--nocapture"])
        .env(DATA, data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = Vec::new();
    let parse = |line: &str| {
        let line = line.split("ACK ").nth(1)?;
        let mut words = line.split(' ');
        Some((words.next()?.parse().ok()?, words.next()?.to_owned(), words.next()?.to_owned()))
    };
    while told.len() < after {
        let Some(Ok(line)) = lines.next() else { break };
        told.extend(parse(&line));
    }
    child.kill().unwrap();
    // What it told before it died counts too; its last line may be cut.
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    told.extend(rest.iter().rev().skip(1).rev().filter_map(|line| parse(line)));
    child.wait().unwrap();
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_has_lost_nothing_that_it_acknowledged() {
    let kills = std::env::var("CAIRN_DURABILITY_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let mut newest = 0;
    for round in 0..kills {
        // The moment differs from round to round, without chance.
        let after = 1 + round * 37 % 101;
        let told = tokio::task::spawn_blocking({
            let data = data.clone();
            move || killed_writer(&data, after)
        });
        let told = told.await.unwrap();
        assert!(!told.is_empty(), "the writer of round {round} has written nothing");
        let server = Server::start(Options { data: Some(data.clone()), ..Options::default() }).await.unwrap();
        let client = Client::admin(&server);
        let last = told.iter().map(|(revision, ..)| *revision).max().unwrap();
        assert!(
            server.revision() >= last && last > newest,
            "revisions went back: {newest} {last} {}",
            server.revision()
        );
        newest = server.revision();
        let mut expected: BTreeMap<&str, &str> = BTreeMap::new();
        for (_, name, stamp) in &told {
            expected.insert(name, stamp);
        }
        for (name, stamp) in expected {
            let (code, object) = client.call("GET", &format!("{MAPS}/{name}"), &Value::Null).await;
            let kept = object["data"]["stamp"].as_str().unwrap_or("gone").to_owned();
            let number = |stamp: &str| stamp.rsplit('-').next().and_then(|number| number.parse::<u64>().ok());
            // One more write may have been kept whose acknowledgement died with the process.
            let later = number(&kept) > number(stamp) || code == 404 || stamp == "gone";
            assert!(kept == *stamp || later, "round {round}: {name} is {kept}, and {stamp} was acknowledged");
        }
        server.shutdown().await;
    }
}
