//! The line of a source that an error is about, with a pointer under it.

/// `line` counts from 1, `column` in bytes from 0.
pub(crate) fn of(source: &str, line: usize, column: Option<usize>) -> Option<String> {
    let text = source.lines().nth(line.checked_sub(1)?)?;
    let gutter = line.to_string();
    let blank = " ".repeat(gutter.len());
    let shown = text.replace('\t', " ");
    let mut snippet = format!("  {gutter} | {shown}\n");
    if let Some(column) = column.filter(|column| text.is_char_boundary(*column)) {
        let before = text[..column].chars().count();
        snippet.push_str(&format!("  {blank} | {}^\n", " ".repeat(before)));
    }
    Some(snippet)
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn the_pointer_stands_under_the_character_whatever_precedes_it() {
        for (source, line, column, expected) in [
            ("a\nbc", 2, Some(1), "  2 | bc\n    |  ^\n"),
            ("é{{ x }}", 1, Some(2), "  1 | é{{ x }}\n    |  ^\n"),
            ("a\tb", 1, Some(2), "  1 | a b\n    |   ^\n"),
            ("a", 1, None, "  1 | a\n"),
            ("é", 1, Some(1), "  1 | é\n"),
        ] {
            assert_eq!(of(source, line, column).as_deref(), Some(expected), "{source}");
        }
        assert_eq!(of("a", 9, Some(0)), None);
    }
}
