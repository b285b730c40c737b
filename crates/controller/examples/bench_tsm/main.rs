//! `bench_tsm KUBECONFIG COUNT TURNS PROGRAM [KRO CRDS]`: for `cargo xtask bench tsm`. Instances
//! with three children each, from being created to being ready: by a bare client that only makes
//! the calls, by the template stack manager in PROGRAM, and by kro if it is given. Prints one
//! object of JSON for each run; it compares nothing.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program for the terminal that may panic"
)]

mod bare;
mod kro;
mod load;
mod process;
mod stage;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use load::Load;
use process::Program;
use serde_json::json;
use stage::Stage;

/// How many instances are worked on side by side, by everybody.
const WORKERS: usize = 8;
/// How many changes of settled instances are timed one after the other.
const CHANGES: usize = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (kubeconfig, count, turns, program, kro) = match &*words {
        [kubeconfig, count, turns, program] => (kubeconfig, count, turns, program, None),
        [kubeconfig, count, turns, program, kro, crds] => {
            (kubeconfig, count, turns, program, Some((*kro, *crds)))
        }
        _ => panic!("usage: bench_tsm KUBECONFIG COUNT TURNS PROGRAM [KRO CRDS]"),
    };
    let client = connect(kubeconfig).await;
    let count: usize = count.parse().unwrap();
    stage::define(&client).await;
    for turn in 1..=turns.parse::<usize>().unwrap() {
        let stage = Stage::set(&client, &format!("bare-{turn}")).await;
        let load = Load::new(&stage, count);
        let bare = bare::Bare::new(&stage);
        let mut measured = load.run(Some(&bare)).await;
        measured["change"] = load.changes(Some(&bare)).await;
        measured["who"] = json!("bare");
        println!("{measured}");

        let stage = Stage::set(&client, &format!("cairn-{turn}")).await;
        stage.stack().await;
        let manager = Program::start(
            program,
            &[
                "template-stack-manager",
                "--stack",
                stage::STACK,
                "-n",
                &stage.namespace,
                "--kubeconfig",
                kubeconfig,
            ],
        )
        .await;
        let load = Load::new(&stage, count);
        // The first instance shows that it works; the others are counted.
        load.warm().await;
        let before = manager.look();
        let mut measured = load.run(None).await;
        let after = manager.look();
        measured["who"] = json!("cairn");
        measured["cpu_s"] = json!((after.processor - before.processor).as_secs_f64());
        measured["idle_bytes"] = json!(before.resident);
        measured["peak_bytes"] = json!(after.peak);
        measured["own"] = manager.numbers().await;
        measured["change"] = load.changes(None).await;
        println!("{measured}");
        manager.stop().await;
    }
    if let Some((kro, crds)) = kro {
        kro::define(&client, crds).await;
        println!("{}", kro::run(&client, kubeconfig, kro, count).await);
    }
}

async fn connect(path: &str) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let value = yaml::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    let kubeconfig: Kubeconfig = serde_json::from_value(value).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    Client::try_from(config).unwrap()
}
