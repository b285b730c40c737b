//! The same work for any API server: creations, applies, lists and a watch, with what each costs.
//! Prints one object of JSON.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::{
    connection::Connection,
    processes::{self, Group},
    target::Target,
};

/// How long nothing is asked before memory is looked at.
const REST: Duration = Duration::from_secs(3);
/// How many objects are listed.
const LISTED: usize = 1000;
/// How many events are waited for.
const EVENTS: usize = 1000;

/// Measures a server; what goes on for a time goes on for so many seconds.
pub fn run(kubeconfig: &str, group: u32, seconds: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let target = Target::read(kubeconfig);
    let load = Load {
        target,
        group,
        time: Duration::from_secs(seconds),
    };
    let measured = LocalSet::new().block_on(&runtime, load.measure());
    println!("{measured}");
}

struct Load {
    target: Target,
    group: u32,
    time: Duration,
}

#[derive(Clone, Copy)]
enum Write {
    Create,
    Apply,
}

impl Load {
    async fn measure(&self) -> Value {
        let mut admin = Connection::open(&self.target).await;
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        assert_eq!(
            admin.call("GET", account, "").await,
            200,
            "it is ready, and so is its first account"
        );
        tokio::time::sleep(REST).await;
        let idle = Group::look(self.group).resident;
        let mut measured = json!({"idle_bytes": idle});
        let mut objects = 0.0;
        for (name, write, clients) in [
            ("create_1", Write::Create, 1),
            ("create_16", Write::Create, 16),
            ("apply_16", Write::Apply, 16),
        ] {
            let space = name.replace('_', "-");
            let body = json!({"metadata": {"name": space}}).to_string();
            assert_eq!(admin.call("POST", "/api/v1/namespaces", &body).await, 201);
            let warm = self
                .writes(write, 1, Duration::from_millis(300), &space, "warm")
                .await;
            measured[name] = self
                .writes(write, clients, self.time, &space, "object")
                .await;
            if let Write::Create = write {
                objects += [&warm, &measured[name]]
                    .map(|written| written["count"].as_f64().unwrap())
                    .iter()
                    .sum::<f64>();
                measured["created"] =
                    json!({"objects": objects, "bytes": Group::look(self.group).resident});
            }
        }
        measured["list_1000"] = self.lists(&mut admin).await;
        measured["watch"] = self.events(&mut admin).await;
        measured["end_bytes"] = json!(Group::look(self.group).resident);
        measured
    }

    /// Writes objects for some time.
    async fn writes(
        &self,
        write: Write,
        clients: usize,
        time: Duration,
        space: &str,
        prefix: &str,
    ) -> Value {
        let mut connections = Vec::new();
        for _ in 0..clients {
            connections.push(Connection::open(&self.target).await);
        }
        let next = Rc::new(Cell::new(0_usize));
        let (server, client, begin) = (
            Group::look(self.group).processor,
            processes::own(),
            Instant::now(),
        );
        let mut tasks = Vec::new();
        for (number, mut connection) in connections.into_iter().enumerate() {
            let (next, maps) = (
                next.clone(),
                format!("/api/v1/namespaces/{space}/configmaps"),
            );
            let prefix = prefix.to_owned();
            tasks.push(tokio::task::spawn_local(async move {
                let mut times = Vec::new();
                while begin.elapsed() < time {
                    let turn = next.replace(next.get() + 1);
                    let start = Instant::now();
                    let code = match write {
                        Write::Create => {
                            let body = config_map(&format!("{prefix}-{turn}"), turn);
                            connection.call("POST", &maps, &body).await
                        }
                        Write::Apply => {
                            let name = format!("{prefix}-{number}");
                            let path = format!("{maps}/{name}?fieldManager=bench&force=true");
                            connection
                                .call("PATCH", &path, &config_map(&name, turn))
                                .await
                        }
                    };
                    assert!((200..=201).contains(&code), "{code}");
                    times.push(start.elapsed());
                }
                times
            }));
        }
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await.unwrap());
        }
        let elapsed = begin.elapsed().as_secs_f64();
        let (server, client) = (
            Group::look(self.group).processor - server,
            processes::own() - client,
        );
        let count = times.len() as f64;
        times.sort_unstable();
        json!({
            "count": count,
            "per_second": count / elapsed,
            "median_us": micros(times[times.len() / 2]),
            "p99_us": micros(times[times.len() * 99 / 100]),
            "server_us": micros(server) / count,
            "client_us": micros(client) / count,
        })
    }

    /// Lists the same objects again and again.
    async fn lists(&self, admin: &mut Connection) -> Value {
        let body = json!({"metadata": {"name": "listed"}}).to_string();
        assert_eq!(admin.call("POST", "/api/v1/namespaces", &body).await, 201);
        let maps = "/api/v1/namespaces/listed/configmaps";
        for number in 0..LISTED {
            let body = config_map(&format!("object-{number}"), number);
            assert_eq!(admin.call("POST", maps, &body).await, 201);
        }
        let (server, begin) = (Group::look(self.group).processor, Instant::now());
        let (mut times, mut bytes) = (Vec::new(), 0);
        while begin.elapsed() < self.time || times.len() < 10 {
            let start = Instant::now();
            admin.send("GET", maps, "").await;
            let (code, size) = admin.answer().await;
            assert_eq!(code, 200);
            times.push(start.elapsed());
            bytes = size;
        }
        let server = Group::look(self.group).processor - server;
        times.sort_unstable();
        json!({
            "median_us": micros(times[times.len() / 2]),
            "server_us": micros(server) / times.len() as f64,
            "bytes": bytes,
        })
    }

    /// From sending a creation to having its event.
    async fn events(&self, admin: &mut Connection) -> Value {
        let mut watch = Connection::open(&self.target).await;
        watch
            .watch("/api/v1/namespaces/default/secrets?watch=1")
            .await;
        let mut times = Vec::new();
        for number in 0..EVENTS {
            let name = format!("event-{number}");
            let body =
                json!({"metadata": {"name": name}, "stringData": {"key": "value"}}).to_string();
            let wanted = format!("\"name\":\"{name}\"");
            let start = Instant::now();
            admin
                .send("POST", "/api/v1/namespaces/default/secrets", &body)
                .await;
            let mut seen = Vec::new();
            while !contains(&seen, wanted.as_bytes()) {
                seen.extend(watch.chunk().await);
            }
            times.push(start.elapsed());
            assert_eq!(admin.answer().await.0, 201);
        }
        times.sort_unstable();
        json!({"median_us": micros(times[EVENTS / 2]), "p99_us": micros(times[EVENTS * 99 / 100])})
    }
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|part| part == wanted)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

pub fn config_map(name: &str, turn: usize) -> String {
    let line = "x".repeat(40);
    let mut data: serde_json::Map<String, Value> = (0..7)
        .map(|number| (format!("key-{number}"), line.clone().into()))
        .collect();
    data.insert("turn".to_owned(), turn.to_string().into());
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "bench"}}, "data": data,
    })
    .to_string()
}
