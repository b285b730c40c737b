//! Which line of a text that is no YAML is to blame, and how that is said.

/// The line of the mistake, from 1, which is not always the one where the reader gave up: a key
/// without its colon is noticed only when the next line begins, or the text ends.
pub(crate) fn line(text: &str, error: &yaml::Error) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let told = error.line().clamp(1, lines.len().max(1));
    let is_blank = |line: &usize| {
        lines
            .get(*line - 1)
            .is_none_or(|text| text.trim().is_empty())
    };
    let lacks_colon = |line: &usize| lines.get(*line - 1).is_some_and(|text| !text.contains(':'));
    let lacking = (1..=told)
        .rev()
        .filter(|line| !is_blank(line))
        .take(2)
        .find(|line| is_colon(error) && lacks_colon(line));
    lacking
        .or_else(|| (1..=told).rev().find(|line| !is_blank(line)))
        .unwrap_or(told)
}

/// Where a line begins, in bytes.
pub(crate) fn start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum()
}

/// The byte to blame: the one where the reader gave up, if that is in the line of the mistake, or
/// where the line begins.
pub(crate) fn offset(text: &str, error: &yaml::Error) -> usize {
    let line = line(text, error);
    let start = start(text, line);
    let rest = text
        .get(start..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    let column = error.column().saturating_sub(1);
    let inside = column < rest.len()
        && rest.is_char_boundary(column)
        && line == error.line()
        && !is_colon(error);
    start + if inside { column } else { 0 }
}

fn is_colon(error: &yaml::Error) -> bool {
    error.problem().contains("could not find expected ':'")
}

/// What is wrong, with the line as it is printed.
pub(crate) fn told(what: &str, text: &str, error: &yaml::Error) -> String {
    let printed = text
        .lines()
        .nth(line(text, error) - 1)
        .unwrap_or_default()
        .trim_end();
    let problem = error.problem();
    if printed.is_empty() {
        format!("{what}: {problem}")
    } else {
        format!("{what}: {problem}, in the line {printed:?}")
    }
}

/// What to do about it.
pub(crate) fn hint(text: &str, error: &yaml::Error) -> &'static str {
    let blamed = text.lines().nth(line(text, error) - 1).unwrap_or_default();
    if blamed.trim_start_matches(' ').starts_with('\t') {
        return "indent with spaces, not with tabs";
    }
    if error.problem().contains("unexpected end of stream") {
        return "close the quotes that are opened here";
    }
    "check the indentation, the quotes and the colons of this line and the one before"
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_line_to_blame_is_the_one_that_was_written_wrongly() {
        for (text, expected) in [
            ("a: 1\nkind Redis\nb: 2\n", 2),
            ("a: 1\ncount 1\n", 2),
            ("a: 1\ncount 1\n\n\n", 2),
            ("a: b: c\n", 1),
            ("a: 1\n   b: 2\n", 2),
            ("a:\n\t- b\n", 2),
            ("a: [1,\nb: 2\n", 2),
        ] {
            let found = yaml::parse(text).map_err(|error| line(text, &error));
            assert_eq!(found, Err(expected), "{text}");
        }
    }
}
