//! How times, labels, selectors and lists look in cells.

use jiff::Timestamp;
use serde_json::Value;

/// A text, or none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A whole number, or zero.
pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value
        .pointer(pointer)
        .and_then(Value::as_i64)
        .unwrap_or_default()
}

/// The items of a list, or none.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// How many entries a map or a list has.
pub(super) fn count(value: &Value, pointer: &str) -> usize {
    match value.pointer(pointer) {
        Some(Value::Object(fields)) => fields.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    }
}

/// A text, or what stands for none.
pub(super) fn or_none(text: &str) -> Value {
    if text.is_empty() {
        "<none>".into()
    } else {
        text.into()
    }
}

/// How long ago a time was.
pub(super) fn age(time: &str) -> Value {
    match time.parse::<Timestamp>() {
        Ok(time) => duration(Timestamp::now().as_second() - time.as_second()).into(),
        Err(_) => "<unknown>".into(),
    }
}

/// A number of seconds as people say it: two units at most, and fewer the longer it is.
pub(super) fn duration(seconds: i64) -> String {
    const DAY: i64 = 24;
    const YEAR: i64 = 365;
    let two = |large: i64, unit: &str, small: i64, sub: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit}{small}{sub}")
        }
    };
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / DAY;
    match (seconds, minutes, hours) {
        (..120, ..) => format!("{seconds}s"),
        (_, ..10, _) => two(minutes, "m", seconds % 60, "s"),
        (_, ..180, _) => format!("{minutes}m"),
        (_, _, ..8) => two(hours, "h", minutes % 60, "m"),
        (_, _, ..48) => format!("{hours}h"),
        (_, _, ..192) => two(days, "d", hours % DAY, "h"),
        _ if days < 2 * YEAR => format!("{days}d"),
        _ if days < 8 * YEAR => two(days / YEAR, "y", days % YEAR, "d"),
        _ => format!("{}y", days / YEAR),
    }
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(value: &Value, pointer: &str) -> Value {
    let pairs: Vec<String> = match value.pointer(pointer) {
        Some(Value::Object(fields)) => fields
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect(),
        _ => Vec::new(),
    };
    or_none(&pairs.join(","))
}

/// A label selector as people write it.
pub(super) fn selector(value: &Value, pointer: &str) -> Value {
    let Some(selector) = value.pointer(pointer) else {
        return "<none>".into();
    };
    let mut parts: Vec<String> = Vec::new();
    if let Some(Value::Object(fields)) = selector.get("matchLabels") {
        parts.extend(
            fields
                .iter()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())),
        );
    }
    for rule in items(selector, "/matchExpressions") {
        let (key, mut values) = (text(rule, "/key"), texts(items(rule, "/values")));
        values.sort_unstable();
        let values = values.join(",");
        parts.push(match text(rule, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    or_none(&parts.join(","))
}

/// The texts of a list.
pub(super) fn texts(items: &[Value]) -> Vec<&str> {
    items.iter().filter_map(Value::as_str).collect()
}

/// One field of each item, joined by commas.
pub(super) fn joined(items: &[Value], field: &str) -> Value {
    let found: Vec<&str> = items
        .iter()
        .map(|item| item.get(field).and_then(Value::as_str).unwrap_or_default())
        .collect();
    found.join(",").into()
}

/// A number or a text, as it is.
pub(super) fn either(value: &Value, pointer: &str, absent: &str) -> Value {
    match value.pointer(pointer) {
        Some(Value::String(text)) => text.clone().into(),
        Some(Value::Number(number)) => number.to_string().into(),
        _ => absent.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let (minute, hour, day) = (60, 3600, 86_400);
        for (seconds, expected) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (9 * minute + 59, "9m59s"),
            (10 * minute + 5, "10m"),
            (179 * minute, "179m"),
            (3 * hour, "3h"),
            (7 * hour + 5 * minute, "7h5m"),
            (8 * hour + 5 * minute, "8h"),
            (47 * hour, "47h"),
            (2 * day + hour, "2d1h"),
            (8 * day + hour, "8d"),
            (729 * day, "729d"),
            (730 * day, "2y"),
            (800 * day, "2y70d"),
            (25 * 365 * day, "25y"),
        ] {
            assert_eq!(duration(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn selectors_are_written_as_people_do() {
        for (value, expected) in [
            (json!({}), "<none>"),
            (json!({"s": {}}), "<none>"),
            (
                json!({"s": {"matchLabels": {"b": "c", "a": "b"}}}),
                "a=b,b=c",
            ),
            (
                json!({"s": {"matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]},
                    {"key": "b", "operator": "DoesNotExist"},
                    {"key": "c", "operator": "Exists"},
                ]}}),
                "a in (x,y),!b,c",
            ),
        ] {
            assert_eq!(selector(&value, "/s"), expected);
        }
    }
}
