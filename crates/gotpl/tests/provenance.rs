//! No function loses where its text comes from, be the run watched or not.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use gotpl::{Draw, Host, Input, Library, Param, Path, Presence, Run, Set, Watch};
use serde_json::{Value, json};

/// Draws something that is never the same twice.
struct Counting;

impl Host for Counting {
    fn random(&self, draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        (1..)
            .zip(bytes.iter_mut())
            .for_each(|(next, byte)| *byte = (next as u8).wrapping_mul(37) ^ draw.occurrence as u8);
        Ok(())
    }

    fn now(&self) -> Result<i128, String> {
        Ok(0)
    }
}

/// Functions whose answer is not made of their arguments, or is one of few words: chosen by them, a
/// truth, a type.
const OTHER: &[&str] = &[
    "fail", "hello", "now", "lookup", "include", "plural", "ternary", "empty", "typeOf", "kindOf",
];

/// Functions that take long, and are tried once.
const SLOW: &[&str] = &["derivePassword", "bcrypt", "htpasswd", "gen"];

/// An argument of a type, out of data.
fn argument(param: Param) -> &'static str {
    match param {
        Param::Int => "(int .i)",
        Param::Int64 | Param::Uint32 | Param::Float => ".i",
        Param::Bool => ".b",
        Param::List => ".l",
        Param::Map => ".m",
        _ => ".t",
    }
}

/// A call of a function with data for each argument, and with data for the last only.
fn calls(func: &gotpl::Func) -> Vec<String> {
    let mut words: Vec<&str> = func.params.iter().map(|param| argument(*param)).collect();
    words.extend(func.rest.map(argument));
    let all = format!("{} {}", func.name, words.join(" "));
    let as_list: Vec<&str> = words
        .iter()
        .map(|word| if *word == ".t" { ".l" } else { *word })
        .collect();
    let as_map: Vec<&str> = words
        .iter()
        .map(|word| if *word == ".t" { ".m" } else { *word })
        .collect();
    vec![
        all,
        format!("{} {}", func.name, as_list.join(" ")),
        format!("{} {}", func.name, as_map.join(" ")),
    ]
}

#[test]
fn every_function_passes_on_where_its_text_comes_from() {
    let mut tried = 0;
    for text in [
        "x\ny: z",
        "eAp5OiB6",
        "{\"a\": \"x\\ny\"}",
        "x",
        "- x\n- y",
        "1.2.3",
        "2026-01-02",
        "/a/b.c",
    ] {
        let data: Value = json!({
            "t": text, "i": 3, "b": true, "l": [text, "q\nr"], "m": { "k": text, "x\ny": "z" },
        });
        for func in gotpl::functions(Library::Helm).filter(|func| !OTHER.contains(&func.name)) {
            let is_slow = SLOW.iter().any(|slow| func.name.starts_with(slow));
            if is_slow && text != "x" {
                continue;
            }
            for call in calls(func).into_iter().take(if is_slow { 1 } else { 3 }) {
                for shape in [
                    format!("{{{{ {call} }}}}"),
                    format!("{{{{ range ({call}) }}}}{{{{ . }}}}{{{{ end }}}}"),
                    format!("{{{{ range $k, $v := ({call}) }}}}{{{{ $k }}}}{{{{ end }}}}"),
                    format!("{{{{ $x := {call} }}}}{{{{ printf \"%v\" $x }}}}"),
                    format!("{{{{ index (list ({call})) 0 }}}}"),
                    format!(
                        "{{{{ $d := dict }}}}{{{{ $_ := set $d \"k\" ({call}) }}}}{{{{ toString $d.k }}}}"
                    ),
                ] {
                    tried += usize::from(agrees(&shape, &data));
                }
            }
        }
    }
    assert!(tried > 2000, "only {tried} printed anything");
}

/// Runs a template watched and not; answers whether it printed a text of data.
fn agrees(template: &str, data: &Value) -> bool {
    let mut set = Set::new();
    if set.parse("main", template).is_err() {
        return false;
    }
    let secret = |path: &Path| path.to_string().starts_with(['t', 'l', 'm']);
    let run = |watch| Run {
        watch,
        host: &Counting,
        secret: Some(&secret),
        ..Run::new(&set)
    };
    let input = Input::new(data);
    let (Ok(plain), Ok(watched)) = (
        run(Watch::Lightly).execute("main", &input),
        run(Watch::Closely).execute("main", &input),
    ) else {
        return false;
    };
    assert_eq!(
        String::from_utf8_lossy(&plain.text),
        String::from_utf8_lossy(&watched.text),
        "{template}"
    );
    let trace = watched.trace.unwrap();
    let mut of_data = false;
    for span in trace.spans.iter().filter(|span| span.start < span.end) {
        let printed = &watched.text[span.start..span.end];
        let is_data = trace
            .reads_of(&span.reads)
            .any(|read| read.presence != Presence::Missing);
        let is_word = matches!(printed, b"true" | b"false")
            || printed
                .iter()
                .all(|byte| b"0123456789.+-e[] \n\"'".contains(byte));
        let chosen = !span.under.is_empty();
        assert!(
            is_data || is_word || chosen,
            "{template} prints {:?} of nothing",
            String::from_utf8_lossy(printed)
        );
        of_data |= is_data;
        if is_data && !span.written && printed.contains(&b'\n') {
            assert!(
                plain.risky,
                "{template} prints {:?}",
                String::from_utf8_lossy(printed)
            );
        }
        let is_secret = trace.reads_of(&span.reads).any(|read| read.secret);
        if is_secret && !is_word {
            let kept = trace.secrets.iter().any(|secret| secret == printed);
            assert!(
                kept,
                "{template} prints {:?}, which is not kept",
                String::from_utf8_lossy(printed)
            );
        }
    }
    of_data
}
