//! `cargo xtask bench apiserver`: the embedded API server, in memory and durable, beside
//! kube-apiserver with etcd, by the same client in the same run.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Write as _},
    os::unix::{fs::FileExt, process::CommandExt},
    process::{Child, Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{
    ours, output,
    page::{self, Place},
};
use crate::{cargo::cargo, k8s};

/// Where the table stands.
const PLACE: Place = Place::of("apiserver");

/// How long each kind of load goes on, in seconds.
const SECONDS: &str = "3";

/// The server and the client.
const BENCH: &str = "dist/examples/bench_apiserver";

/// Who is measured.
const SERVERS: [(&str, Who); 3] = [
    ("kube-apiserver + etcd", Who::Kubernetes),
    ("Cairn, durable", Who::Durable),
    ("Cairn, in memory", Who::Memory),
];

#[derive(Clone, Copy)]
enum Who {
    Kubernetes,
    Durable,
    Memory,
}

/// What is told of a server: how to find it in what the client printed, and whether more of it is
/// better.
struct Measure {
    name: &'static str,
    at: &'static str,
    show: fn(f64) -> String,
    more: bool,
}

const MEASURES: [Measure; 16] = [
    Measure {
        name: "ready after",
        at: "/ready_ms",
        show: |value| format!("{value:.0} ms"),
        more: false,
    },
    Measure {
        name: "memory at rest",
        at: "/idle_total",
        show: mebibytes,
        more: false,
    },
    Measure {
        name: "creations a second, 1 client",
        at: "/create_1/per_second",
        show: rate,
        more: true,
    },
    Measure {
        name: "creations a second, 16 clients",
        at: "/create_16/per_second",
        show: rate,
        more: true,
    },
    Measure {
        name: "... median of one",
        at: "/create_16/median_us",
        show: time,
        more: false,
    },
    Measure {
        name: "... processor time of one, server",
        at: "/create_16/server_us",
        show: time,
        more: false,
    },
    Measure {
        name: "... processor time of one, client",
        at: "/create_16/client_us",
        show: time,
        more: false,
    },
    Measure {
        name: "applies a second, 16 clients",
        at: "/apply_16/per_second",
        show: rate,
        more: true,
    },
    Measure {
        name: "... processor time of one, server",
        at: "/apply_16/server_us",
        show: time,
        more: false,
    },
    Measure {
        name: "... processor time of one, client",
        at: "/apply_16/client_us",
        show: time,
        more: false,
    },
    Measure {
        name: "list of 1,000 objects",
        at: "/list_1000/median_us",
        show: time,
        more: false,
    },
    Measure {
        name: "... processor time of one, server",
        at: "/list_1000/server_us",
        show: time,
        more: false,
    },
    Measure {
        name: "creation to event, median",
        at: "/watch/median_us",
        show: time,
        more: false,
    },
    Measure {
        name: "creation to event, 99th of 100",
        at: "/watch/p99_us",
        show: time,
        more: false,
    },
    Measure {
        name: "memory for one object",
        at: "/object_bytes",
        show: kibibytes,
        more: false,
    },
    Measure {
        name: "memory at the end",
        at: "/end_total",
        show: mebibytes,
        more: false,
    },
];

/// What was to be reached: by whom, in which measure, and how well. Against the real server where
/// it is a ratio.
struct Goal {
    name: &'static str,
    who: &'static [usize],
    at: &'static str,
    /// How many times as much as the real server's, rather than how much.
    ratio: bool,
    show: fn(f64) -> String,
}

const GOALS: [Goal; 5] = [
    Goal {
        name: "ready in under 50 ms",
        who: &[1, 2],
        at: "/ready_ms",
        ratio: false,
        show: |ms| format!("{ms:.0} ms"),
    },
    Goal {
        name: "at rest under 25 MiB",
        who: &[1, 2],
        at: "/idle_total",
        ratio: false,
        show: mebibytes,
    },
    Goal {
        name: "creations with 16 clients, durable: 3 times",
        who: &[1],
        at: "/create_16/per_second",
        ratio: true,
        show: |times| format!("{times:.1} times"),
    },
    Goal {
        name: "creations with 16 clients, in memory: 10 times",
        who: &[2],
        at: "/create_16/per_second",
        ratio: true,
        show: |times| format!("{times:.1} times"),
    },
    Goal {
        name: "an event in under 1 ms at the median",
        who: &[1, 2],
        at: "/watch/median_us",
        ratio: false,
        show: time,
    },
];

/// Measures in turns, and shows the best of each measure.
pub fn run(turns: u8, write: bool) -> Result<ExitCode> {
    let assets = k8s::provide(k8s::Set::Control)?;
    eprintln!("building the benchmark of apiserver");
    let status = ours("build", "apiserver", "bench_apiserver")
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("the benchmark of apiserver does not build ({status})");
    }
    let status = cargo()
        .args([
            "build",
            "--quiet",
            "--package",
            "testkit",
            "--bin",
            "cluster-run",
        ])
        .status();
    if !status.context("cannot run cargo")?.success() {
        bail!("cluster-run does not build");
    }
    let mut seen: [Vec<Value>; 3] = Default::default();
    for turn in 1..=turns {
        for ((name, who), seen) in SERVERS.iter().zip(&mut seen) {
            eprintln!("turn {turn} of {turns}: {name}");
            let scratch = tempfile::tempdir().context("cannot create a temporary directory")?;
            let mut command = match who {
                Who::Kubernetes => {
                    let mut command = program("debug/cluster-run");
                    command.arg("--measured");
                    command.env(k8s::ASSETS, &assets);
                    command
                }
                Who::Durable => {
                    let mut command = program(BENCH);
                    command.arg("serve").arg(scratch.path().join("data"));
                    command
                }
                Who::Memory => {
                    let mut command = program(BENCH);
                    command.arg("serve");
                    command
                }
            };
            let server = Running::start(&mut command)?;
            let line =
                output(program(BENCH).args(["load", &server.kubeconfig, &server.group, SECONDS]))?;
            let mut value: Value =
                serde_json::from_str(line.trim()).with_context(|| format!("not JSON: {line}"))?;
            let total = |name: &str| {
                value[name]
                    .as_object()
                    .into_iter()
                    .flatten()
                    .filter_map(|(_, v)| v.as_f64())
                    .sum()
            };
            let totals: [f64; 2] = [total("idle_bytes"), total("end_bytes")];
            eprintln!("{value}");
            value["ready_ms"] = server.ready_ms.into();
            value["idle_total"] = totals[0].into();
            value["end_total"] = totals[1].into();
            let created: f64 = value["created"]["bytes"]
                .as_object()
                .into_iter()
                .flatten()
                .filter_map(|(_, v)| v.as_f64())
                .sum();
            let objects = value["created"]["objects"]
                .as_f64()
                .filter(|objects| *objects > 0.0)
                .unwrap_or(1.0);
            value["object_bytes"] = ((created - totals[0]).max(0.0) / objects).into();
            seen.push(value);
        }
    }
    let table = render(&seen, turns, disk_wait()?)?;
    println!("{table}");
    if write {
        page::write(&PLACE, &table)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A program that was built above.
pub(super) fn program(path: &str) -> Command {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    Command::new(crate::cache::repository().join(target).join(path))
}

/// A server that ends with its input.
pub(super) struct Running {
    child: Child,
    pub(super) kubeconfig: String,
    group: String,
    ready_ms: f64,
}

impl Running {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let begin = Instant::now();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {command:?}"))?;
        let mut line = String::new();
        let out = child.stdout.take().context("it has an output")?;
        BufReader::new(out)
            .read_line(&mut line)
            .context("cannot read what the server prints")?;
        let ready_ms = begin.elapsed().as_secs_f64() * 1e3;
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(kubeconfig), Some(group)) = (words.first(), words.last()) else {
            bail!("the server has not started: {command:?}");
        };
        Ok(Self {
            kubeconfig: (*kubeconfig).to_owned(),
            group: (*group).to_owned(),
            child,
            ready_ms,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself, with everything it has started.
        _ = self.child.wait();
    }
}

/// How long one small write takes that waits for the disk, in microseconds at the median: less than
/// this no durable write can take.
fn disk_wait() -> Result<f64> {
    let mut file = tempfile::tempfile().context("cannot create a temporary file")?;
    file.write_all(&[0; ROUNDS * PIECE])?;
    file.sync_all()?;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let begin = Instant::now();
        file.write_all_at(&[1; PIECE], (round * PIECE) as u64)?;
        file.sync_data()?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

/// How often the disk is waited for, and for how many bytes.
const ROUNDS: usize = 200;
const PIECE: usize = 1024;

fn render(seen: &[Vec<Value>; 3], turns: u8, disk: f64) -> Result<String> {
    let mut table = String::new();
    let machine = page::machine()?;
    let _ = write!(
        table,
        "{machine}; each number is the best of {turns} turns. A kilobyte that waits for the disk: {}.",
        time(disk)
    );
    table.push_str("\n\n|");
    for (name, _) in SERVERS {
        let ratio = if name.starts_with("Cairn") {
            " | times as good"
        } else {
            ""
        };
        let _ = write!(table, " | {name}{ratio}");
    }
    table.push_str(" |\n|---|--:|--:|--:|--:|--:|\n");
    for measure in &MEASURES {
        let best: Vec<f64> = seen
            .iter()
            .map(|values| measure.best(values))
            .collect::<Result<_>>()?;
        let _ = write!(table, "| {} | {}", measure.name, (measure.show)(best[0]));
        for value in &best[1..] {
            let ratio = if measure.more {
                value / best[0]
            } else {
                best[0] / value
            };
            let _ = write!(table, " | {} | {ratio:.1}", (measure.show)(*value));
        }
        table.push_str(" |\n");
    }
    table.push_str("\n| goal | seen, turn by turn |\n|---|---|\n");
    for goal in &GOALS {
        let mut whose = Vec::new();
        for &who in goal.who {
            let mut turns = Vec::new();
            for (own, real) in seen[who].iter().zip(&seen[0]) {
                let number = |value: &Value| {
                    value
                        .pointer(goal.at)
                        .and_then(Value::as_f64)
                        .with_context(|| format!("no {}", goal.at))
                };
                let value = if goal.ratio {
                    number(own)? / number(real)?
                } else {
                    number(own)?
                };
                turns.push((goal.show)(value));
            }
            let name = SERVERS[who].0.trim_start_matches("Cairn, ");
            whose.push(if goal.who.len() > 1 {
                format!("{name}: {}", turns.join(", "))
            } else {
                turns.join(", ")
            });
        }
        let _ = writeln!(table, "| {} | {} |", goal.name, whose.join("; "));
    }
    Ok(table)
}

impl Measure {
    fn best(&self, values: &[Value]) -> Result<f64> {
        let mut numbers = Vec::new();
        for value in values {
            numbers.push(
                value
                    .pointer(self.at)
                    .and_then(Value::as_f64)
                    .with_context(|| format!("no {}", self.at))?,
            );
        }
        let best = if self.more {
            numbers.into_iter().reduce(f64::max)
        } else {
            numbers.into_iter().reduce(f64::min)
        };
        best.context("nothing was measured")
    }
}

fn rate(value: f64) -> String {
    format!("{value:.0}")
}

fn kibibytes(value: f64) -> String {
    format!("{:.1} KiB", value / 1024.0)
}

fn mebibytes(value: f64) -> String {
    format!("{:.1} MiB", value / f64::from(1 << 20))
}

fn time(micros: f64) -> String {
    if micros < 10_000.0 {
        format!("{micros:.0} µs")
    } else {
        format!("{:.1} ms", micros / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_of_all_turns_counts_and_ratios_are_of_the_real_server() {
        let seen = |rate: f64, time: f64| {
            let write = json!({"per_second": rate, "median_us": time, "server_us": time, "client_us": time});
            json!({"ready_ms": time, "idle_total": 1_048_576.0 * time, "end_total": 1.0, "object_bytes": 1024.0 * time, "create_1": write,
                "create_16": write, "apply_16": write, "list_1000": {"median_us": time, "server_us": time},
                "watch": {"median_us": time, "p99_us": time}})
        };
        let table = render(
            &[
                vec![seen(100.0, 40.0), seen(90.0, 50.0)],
                vec![seen(300.0, 20.0), seen(45.0, 30.0)],
                vec![seen(1000.0, 4.0)],
            ],
            2,
            120.4,
        )
        .unwrap();
        for row in [
            "| | kube-apiserver + etcd | Cairn, durable | times as good | Cairn, in memory | times as good |",
            "| ready after | 40 ms | 20 ms | 2.0 | 4 ms | 10.0 |",
            "| memory at rest | 40.0 MiB | 20.0 MiB | 2.0 | 4.0 MiB | 10.0 |",
            "| creations a second, 16 clients | 100 | 300 | 3.0 | 1000 | 10.0 |",
            "| memory for one object | 40.0 KiB | 20.0 KiB | 2.0 | 4.0 KiB | 10.0 |",
            "A kilobyte that waits for the disk: 120 µs.",
            "| ready in under 50 ms | durable: 20 ms, 30 ms; in memory: 4 ms |",
            "| creations with 16 clients, durable: 3 times | 3.0 times, 0.5 times |",
        ] {
            assert!(table.contains(row), "{row}\n{table}");
        }
    }
}
