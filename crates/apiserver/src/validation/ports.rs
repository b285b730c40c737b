//! Numbers and names of ports, wherever they are.

use serde_json::Value;

use crate::handlers::status::Cause;

/// A port by its number.
pub(crate) fn number(place: &str, port: &Value, faults: &mut Vec<Cause>) {
    if port
        .as_i64()
        .is_some_and(|number| !(1..=65535).contains(&number))
    {
        faults.push(Cause::invalid(
            place,
            port,
            "must be between 1 and 65535, inclusive",
        ));
    }
}

/// A port by its number, or by the name that a container gives it.
pub(crate) fn number_or_name(place: &str, port: &Value, faults: &mut Vec<Cause>) {
    match port {
        Value::String(_) => name(place, port, faults),
        _ => number(place, port, faults),
    }
}

/// The name of a port, as RFC 6335 has it.
pub(crate) fn name(place: &str, port: &Value, faults: &mut Vec<Cause>) {
    faults.extend(
        wrong(port.as_str().unwrap_or_default())
            .into_iter()
            .map(|why| Cause::invalid(place, port, why)),
    );
}

fn wrong(name: &str) -> Vec<&'static str> {
    let all = |good: fn(&u8) -> bool| name.as_bytes().iter().all(good);
    [
        (name.len() > 15, "must be no more than 15 characters"),
        (
            !all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')) || name.is_empty(),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (
            all(|byte| !byte.is_ascii_lowercase()),
            "must contain at least one letter (a-z)",
        ),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (
            name.starts_with('-') || name.ends_with('-'),
            "must not begin or end with a hyphen",
        ),
    ]
    .into_iter()
    .filter_map(|(wrong, why)| wrong.then_some(why))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::wrong;

    #[test]
    fn names_of_ports_are_short_and_have_a_letter() {
        for (name, faults) in [
            ("http", 0),
            ("http-2", 0),
            ("h", 0),
            ("a-name-of-sixteen", 1),
            ("80", 1),
            ("HTTP", 2),
            ("a--b", 1),
            ("-a", 1),
            ("", 2),
            ("höhe", 1),
        ] {
            assert_eq!(wrong(name).len(), faults, "{name}: {:?}", wrong(name));
        }
    }
}
