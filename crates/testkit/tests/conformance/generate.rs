//! Bodies that nobody would write down: too deep, too large, no text at all.

use anyhow::{Context, Result, bail};

/// A body by its name and number: `deep-map 20000`.
pub fn body(what: &str) -> Result<Vec<u8>> {
    let (name, rest) = what.split_once(' ').unwrap_or((what, ""));
    let number = || {
        rest.split(' ')
            .next()
            .unwrap_or_default()
            .parse::<usize>()
            .context("how much")
    };
    Ok(match name {
        "deep-map" => {
            let depth = number()?;
            let (open, close) = (r#"{"a":"#.repeat(depth), "}".repeat(depth));
            config_map(&format!("{open}1{close}"))
        }
        "deep-list" => {
            let depth = number()?;
            config_map(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)))
        }
        // A ConfigMap with one value of so many bytes.
        "large" => config_map(&format!(r#"{{"k":"{}"}}"#, "x".repeat(number()?))),
        "bad-utf8" => b"{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xff\xfe\"}}".to_vec(),
        "annotations" => {
            let text = "x".repeat(number()?);
            format!(r#"{{"metadata":{{"name":"a","annotations":{{"k":"{text}"}}}}}}"#).into_bytes()
        }
        "json-patch" => {
            let operation = r#"{"op":"add","path":"/data/k","value":"v"}"#;
            format!("[{}]", vec![operation; number()?].join(",")).into_bytes()
        }
        other => bail!("there is no such body: {other}"),
    })
}

fn config_map(data: &str) -> Vec<u8> {
    format!(r#"{{"metadata":{{"name":"a"}},"data":{data}}}"#).into_bytes()
}
