//! A page of the documentation as steps: the files that its reader writes, and the commands with
//! what they print.

/// Something that a page tells its reader to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A block with `file=PATH` after its language: the reader writes it.
    File { path: String, text: String },
    /// A `$ ` line of a `console` block, those that begin with `> ` below it, and what it prints.
    Command(Command),
}

/// A command of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub line: usize,
    pub command: String,
    /// What it prints.
    pub shown: String,
    /// Its block says `background`: it runs until the page ends.
    pub background: bool,
    /// It is kubectl's, or its block says `after-kubectl`: without what kubectl did before, it
    /// would fail.
    pub kubectl: bool,
}

/// The steps of a page in their order.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut fence: Option<Vec<&str>> = None;
    for (index, line) in page.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            fence = match fence {
                None => {
                    let words: Vec<&str> = info.split_whitespace().collect();
                    if let Some(path) = words.iter().find_map(|word| word.strip_prefix("file=")) {
                        steps.push(Step::File {
                            path: path.to_owned(),
                            text: String::new(),
                        });
                    }
                    Some(words)
                }
                Some(_) => None,
            };
            continue;
        }
        let Some(words) = &fence else { continue };
        if words.iter().any(|word| word.starts_with("file=")) {
            if let Some(Step::File { text, .. }) = steps.last_mut() {
                text.push_str(&format!("{line}\n"));
            }
        } else if words.first() == Some(&"console") {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step::Command(Command {
                    line: index + 1,
                    command: command.to_owned(),
                    shown: String::new(),
                    background: words.contains(&"background"),
                    kubectl: command.contains("kubectl") || words.contains(&"after-kubectl"),
                })),
                (None, Some(Step::Command(command))) => match line.strip_prefix("> ") {
                    Some(more) if command.shown.is_empty() => {
                        command.command.push_str(&format!("\n{more}"));
                    }
                    _ => command.shown.push_str(&format!("{line}\n")),
                },
                _ => {}
            }
        }
    }
    steps
}

/// Whether a text is what a page shows: `...` alone stands for any lines, inside of a line for any
/// words.
pub fn fits(shown: &str, text: &str) -> bool {
    let shown: Vec<&str> = shown.lines().collect();
    let text: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines_fit(&shown, &text)
}

fn lines_fit(shown: &[&str], text: &[&str]) -> bool {
    match shown.split_first() {
        None => text.is_empty(),
        Some((&"...", rest)) => (0..=text.len()).any(|skip| lines_fit(rest, &text[skip..])),
        Some((first, rest)) => text
            .split_first()
            .is_some_and(|(line, text)| line_fits(first, line) && lines_fit(rest, text)),
    }
}

fn line_fits(shown: &str, line: &str) -> bool {
    let mut parts = shown.split("...");
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn a_page_is_read_as_its_reader_would() {
    let page = "```console\n$ a\nb\n$ cat <<E\n> x\n> E\nx\n```\n```yaml file=d/e.yaml\nf: 1\n```\n```console background\n$ up\n```\n```sh\n$ no\n```\n```console after-kubectl\n$ c\n```\n";
    let command = |line, command: &str, shown: &str| Command {
        line,
        command: command.into(),
        shown: shown.into(),
        ..Command::default()
    };
    let expected = [
        Step::Command(command(2, "a", "b\n")),
        Step::Command(command(4, "cat <<E\nx\nE", "x\n")),
        Step::File {
            path: "d/e.yaml".into(),
            text: "f: 1\n".into(),
        },
        Step::Command(Command {
            background: true,
            ..command(13, "up", "")
        }),
        Step::Command(Command {
            kubectl: true,
            ..command(19, "c", "")
        }),
    ];
    assert_eq!(steps(page), expected);
}

#[test]
fn three_dots_stand_for_anything_and_nothing_else_does() {
    for (shown, text, fit) in [
        ("a\n", "a\n", true),
        ("a\n", "b\n", false),
        ("a\n", "a\nb\n", false),
        ("a\n...\n", "a\nb\nc\n", true),
        ("...\nc\n", "a\nb\nc\n", true),
        ("...\nd\n", "a\nb\nc\n", false),
        ("took ... s\n", "took 12 s\n", true),
        ("took ... s\n", "took 12 ms!\n", false),
        ("a...b...c\n", "a-b--c\n", true),
        ("", "", true),
        ("", "a\n", false),
    ] {
        assert_eq!(fits(shown, text), fit, "{shown:?} {text:?}");
    }
}
