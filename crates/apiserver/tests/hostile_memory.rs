//! What clients cost that stop in the middle: measured in a process of its own, so that no other
//! test is in the numbers.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use apiserver::{Options, Server, User};
use support::{connect, still_serves};
use tokio::{io::AsyncWriteExt, net::TcpStream};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Bytes in memory of this process: the server, and its clients here.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test]
async fn clients_that_stop_in_the_middle_cost_little_and_keep_nobody_out() {
    let server = Server::start(Options::default()).await.unwrap();
    let listener = server.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let token = server.token(&User::admin());
    still_serves(&listener, &token).await;
    let before = resident();
    let mut open = Vec::new();
    for number in 0..300 {
        let text = match number % 4 {
            0 => String::new(),
            1 => format!("POST {MAPS} HTTP/1.1\r\nHost: x\r\nContent-Le"),
            2 => format!(
                "POST {MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 3000000\r\n\r\n{{"
            ),
            _ => format!(
                "GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
            ),
        };
        let mut stream = connect(&listener).await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        open.push(stream);
    }
    let mut plain = Vec::new();
    for _ in 0..200 {
        plain.push(TcpStream::connect(listener.address()).await.unwrap());
    }
    still_serves(&listener, &token).await;
    let grown = resident().saturating_sub(before);
    // Some tens of kilobytes each, on both sides together; not what the lengths promise.
    assert!(grown < 100 << 20, "{} MiB for 500 connections", grown >> 20);
    drop((open, plain));
    still_serves(&listener, &token).await;
    for _ in 0..500 {
        let mut stream = connect(&listener).await;
        let request = format!(
            "GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        // Closed without a word.
        drop(stream);
    }
    still_serves(&listener, &token).await;
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 100 << 20,
        "{} MiB are left after 500 connections that were dropped",
        grown >> 20
    );
}
