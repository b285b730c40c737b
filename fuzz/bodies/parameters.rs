//! What a fuzzer does with bytes: takes them for a template with parameters and processes it.
//! Nothing may panic, a result has as many objects as its template, and an error names something.

use serde_json::Value;
use templates::{Dialect, Given, process};

const BUDGET: usize = 1 << 16;

/// The first byte chooses how, the rest is the template.
pub fn parameters(bytes: &[u8]) {
    let [choice, rest @ ..] = bytes else { return };
    let Ok(value) = yaml::parse(&String::from_utf8_lossy(rest)) else {
        return;
    };
    let objects = value["objects"].as_array().map_or(0, Vec::len);
    let given = Given {
        strict: choice & 1 != 0,
        keep_selectors: choice & 2 != 0,
        ignore_unknown: choice & 4 != 0,
        dialect: [None, Some(Dialect::Braces), Some(Dialect::Parentheses)]
            [usize::from(choice >> 3) % 3],
        budget: BUDGET,
        ..Given::values([("A", "$(B)"), ("B", "7"), ("name", "x")])
    };
    let mut bits = u64::from(*choice);
    let mut random = || {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        Ok(bits)
    };
    match process(value, &given, &mut random) {
        Ok(processed) => {
            assert_eq!(
                processed.objects().len(),
                objects,
                "no object is lost or made"
            );
            let text = processed.clone().into_template().to_string();
            assert_eq!(
                text.parse::<Value>().ok(),
                Some(processed.into_template()),
                "a result is JSON"
            );
        }
        Err(problems) => {
            assert!(
                !problems.is_empty()
                    && problems
                        .iter()
                        .all(|problem: &templates::Problem| !problem.what.is_empty())
            );
        }
    }
    // What is exported is anything at all, too.
    if let Ok(value) = yaml::parse(&String::from_utf8_lossy(rest))
        && let templates::Cleaned::Kept(object) = templates::clean(value)
    {
        let mut template: Value = templates::wrap("x", vec![*object]);
        let wishes = [
            templates::Wish::Names,
            templates::Wish::Images,
            templates::Wish::Replicas,
        ];
        templates::parametrize(&mut template, &wishes);
    }
    let _ = templates::dotenv(&String::from_utf8_lossy(rest));
}
