//! `cairn demo` from outside: plain lines for a pipe, a tree that is drawn in place for a terminal.

use std::io::Read;
use std::process::Stdio;

use crate::{Outcome, cairn};

/// Parts that follow each other in a text.
fn assert_in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest
            .find(part)
            .unwrap_or_else(|| panic!("{part:?} does not follow in:\n{text}"));
        rest = &rest[at..];
    }
}

#[test]
fn the_demo_installs_a_stack_and_tells_in_plain_lines_what_waits_for_what_until_all_is_ready() {
    let short = Outcome::from(cairn(&["demo", "--exit"]).output().expect("cairn runs"));
    assert_eq!((short.code, short.stderr.as_str()), (Some(0), ""));
    let parts = [
        "cachingwebservice.v1.crd.yaml",
        "Unpacked",
        "CRDsEstablished",
        "stack-caching-web-service",
        "kind: CachingWebService",
        "waits for cache.status.endpoint (web.yaml:18:27)",
        "Deployment/cacheme-cache-redis",
        "Deployment/cacheme-web",
        "CachingWebService/cacheme",
        "cache: cacheme-cache-redis.default.svc:6379",
        "ready: true",
    ];
    assert_in_order(&short.stdout, &parts);
    assert!(
        !short.stdout.contains('\u{1b}') && !short.stdout.contains("Next:"),
        "{}",
        short.stdout
    );
    let long = Outcome::from(cairn(&["demo"]).output().expect("cairn runs"));
    assert_eq!(long.code, Some(0));
    let (_, next) = long.stdout.split_once("Next:\n").expect("what to do next");
    let commands: Vec<&str> = next
        .lines()
        .filter(|line| line.trim_start().starts_with("cairn "))
        .collect();
    assert_eq!(commands.len(), 3, "{next}");
    assert!(
        next.lines().all(|line| line.chars().count() <= 80),
        "{next}"
    );
}

/// Runs the program with its output on a terminal of this size, and answers all that it wrote
/// there.
fn on_a_terminal(args: &[&str], columns: u16) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("it may be used");
    unlockpt(&master).expect("it may be opened");
    let name = ptsname(&master, Vec::new())
        .expect("its name")
        .into_string()
        .expect("plain letters");
    let slave = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name)
        .expect("the other end");
    let size = rustix::termios::Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    rustix::termios::tcsetwinsize(&slave, size).expect("a size");
    let mut command = cairn(args);
    command.stdout(Stdio::from(slave)).stderr(Stdio::inherit());
    let mut child = command.spawn().expect("cairn starts");
    // Our own copy of the other end would keep the terminal open.
    drop(command);
    let mut seen = Vec::new();
    let mut master = std::fs::File::from(master);
    let mut buffer = [0; 4096];
    // A terminal that nobody writes to any more answers with an error.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        seen.extend_from_slice(&buffer[..count]);
    }
    assert!(child.wait().expect("cairn ends").success());
    String::from_utf8(seen).expect("UTF-8")
}

/// What a terminal shows in the end: lines are written over when the cursor goes up.
fn screen(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut at = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(code) = rest.strip_prefix("\u{1b}[") {
            let end = code
                .find(|letter: char| letter.is_ascii_alphabetic())
                .expect("a code ends");
            let count: usize = code[..end].parse().unwrap_or(1);
            match &code[end..=end] {
                "A" => at -= count,
                "J" => lines.truncate(at + 1),
                "K" => lines[at].clear(),
                _ => {}
            }
            rest = &code[end + 1..];
            continue;
        }
        match first {
            '\n' => {
                at += 1;
                if at == lines.len() {
                    lines.push(String::new());
                }
            }
            '\r' => {}
            letter => lines[at].push(letter),
        }
        rest = &rest[first.len_utf8()..];
    }
    lines
}

#[test]
fn on_a_terminal_the_tree_is_drawn_in_place_and_no_line_is_longer_than_the_terminal() {
    for columns in [100, 60, 30] {
        let text = on_a_terminal(&["demo", "--exit"], columns);
        assert!(text.contains("\u{1b}[32m"), "it is coloured: {text}");
        if columns == 100 {
            assert!(text.contains("waits for cache.status.endpoint"), "{text}");
        }
        let lines = screen(&text);
        let tree = lines
            .iter()
            .position(|line| line.trim_start().starts_with("CachingWebService/cacheme"));
        let tree: Vec<&String> = lines[tree.expect("a tree")..]
            .iter()
            .take_while(|line| !line.is_empty())
            .collect();
        assert_eq!(
            tree.len(),
            5,
            "one line for each object, at {columns}: {tree:#?}"
        );
        for line in tree {
            assert!(
                line.chars().count() < usize::from(columns),
                "{line:?} is too long for {columns}"
            );
            assert!(columns < 60 || line.ends_with("✓ ready"), "{line:?}");
        }
    }
}
