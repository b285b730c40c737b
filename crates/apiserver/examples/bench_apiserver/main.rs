//! Two programs for `cargo xtask bench apiserver`: `serve [DIRECTORY]` is the server, `load
//! KUBECONFIG GROUP` measures whatever API server a kubeconfig leads to, together with the
//! processes of a group. It compares nothing. A third, `inside COUNT`, creates objects without a
//! socket, for those who count instructions.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a program for the terminal that may panic"
)]

mod connection;
mod inside;
mod load;
mod processes;
mod target;

use std::io::Read;

use apiserver::{Options, Server, User};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match &*words {
        ["serve"] => serve(None),
        ["serve", directory] => serve(Some(directory)),
        ["load", kubeconfig, group, seconds] => {
            load::run(kubeconfig, group.parse().unwrap(), seconds.parse().unwrap());
        }
        ["inside", count] => inside::run(count.parse().unwrap()),
        _ => panic!(
            "usage: bench serve [DIRECTORY] | bench load KUBECONFIG GROUP SECONDS | bench inside COUNT"
        ),
    }
}

/// Serves until its input ends; prints where its kubeconfig is, and its process group, once it is
/// ready.
fn serve(directory: Option<&str>) {
    let scratch = tempfile::tempdir().unwrap();
    let kubeconfig = scratch.path().join("kubeconfig");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let serving = runtime.block_on(async {
        let server = Server::start(Options {
            data: directory.map(Into::into),
            ..Options::default()
        })
        .await
        .unwrap();
        let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
        std::fs::write(&kubeconfig, server.kubeconfig(&listener, &User::admin())).unwrap();
        (server, listener)
    });
    println!("{} {}", kubeconfig.display(), std::process::id());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    drop(serving);
}
