//! The line of a source that an error is about, with a pointer under it. Here, and only here, bytes
//! become what a person sees: columns of characters in the sentence, and columns of the terminal
//! under the line.

use unicode_width::UnicodeWidthStr;

/// A byte order mark, which nobody sees.
const MARK: char = '\u{feff}';

fn line_of(source: &str, line: usize) -> Option<&str> {
    source.lines().nth(line.checked_sub(1)?)
}

/// The line with a pointer; `line` counts from 1, `column` in bytes from 0.
pub(crate) fn of(source: &str, line: usize, column: Option<usize>) -> Option<String> {
    let text = line_of(source, line)?;
    let gutter = line.to_string();
    let blank = " ".repeat(gutter.len());
    let mut snippet = format!("  {gutter} | {}\n", shown(text));
    // One past the end is a place, too: what is missing there.
    if let Some(column) = column.filter(|column| *column <= text.len()) {
        let before = shown(&text[..text.floor_char_boundary(column)]).width();
        snippet.push_str(&format!("  {blank} | {}^\n", " ".repeat(before)));
    }
    Some(snippet)
}

/// A line as a terminal shows it: what moves its cursor about is a space.
fn shown(text: &str) -> String {
    text.chars()
        .filter(|letter| *letter != MARK)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

/// The column in characters, from 1, of a column in bytes, from 1; 0 stays 0, which is no column.
pub(crate) fn characters(source: &str, line: usize, column: usize) -> usize {
    let Some(text) = line_of(source, line) else {
        return column;
    };
    let Some(before) = column.checked_sub(1) else {
        return 0;
    };
    let beyond = before.saturating_sub(text.len());
    let inside = &text[..text.floor_char_boundary(before.min(text.len()))];
    inside.chars().filter(|letter| *letter != MARK).count() + beyond + 1
}

#[cfg(test)]
mod tests {
    use super::{characters, of};

    #[test]
    fn the_pointer_stands_under_the_character_whatever_precedes_it() {
        for (source, line, column, expected) in [
            ("a\nbc", 2, Some(1), "  2 | bc\n    |  ^\n"),
            ("é{{ x }}", 1, Some(2), "  1 | é{{ x }}\n    |  ^\n"),
            (
                "für: {{ x }}",
                1,
                Some(6),
                "  1 | für: {{ x }}\n    |      ^\n",
            ),
            // A letter of Chinese is two columns wide, as are most emoji, however many characters
            // they consist of.
            (
                "名前: {{ x }}",
                1,
                Some(8),
                "  1 | 名前: {{ x }}\n    |       ^\n",
            ),
            (
                "🚀: {{ x }}",
                1,
                Some(6),
                "  1 | 🚀: {{ x }}\n    |     ^\n",
            ),
            ("👩‍👩‍👧: x", 1, Some(20), "  1 | 👩‍👩‍👧: x\n    |     ^\n"),
            ("e\u{301}: x", 1, Some(5), "  1 | e\u{301}: x\n    |    ^\n"),
            ("\u{feff}a: x", 1, Some(6), "  1 | a: x\n    |    ^\n"),
            ("a\tb", 1, Some(2), "  1 | a b\n    |   ^\n"),
            ("a", 1, None, "  1 | a\n"),
            ("a", 1, Some(1), "  1 | a\n    |  ^\n"),
            ("a", 1, Some(9), "  1 | a\n"),
            // In the middle of a character is at it.
            ("é", 1, Some(1), "  1 | é\n    | ^\n"),
        ] {
            assert_eq!(
                of(source, line, column).as_deref(),
                Some(expected),
                "{source}"
            );
        }
        assert_eq!(of("a", 9, Some(0)), None);
    }

    #[test]
    fn columns_are_told_in_characters() {
        for (source, column, expected) in [
            ("abc", 2, 2),
            ("äöü", 3, 2),
            ("äöü", 7, 4),
            ("名前x", 7, 3),
            ("🚀x", 5, 2),
            ("\tx", 2, 2),
            ("\u{feff}x", 4, 1),
            ("x", 0, 0),
            ("é", 9, 8),
        ] {
            assert_eq!(characters(source, 1, column), expected, "{source} {column}");
        }
        assert_eq!(characters("x", 5, 7), 7, "a line that is not there");
    }
}
