//! Files of `NAME=value` lines, as they are kept beside programs and given to OpenShift's client.

/// The values of a file in its order; the last of equal names stays.
///
/// # Errors
///
/// The line, from one, and what is wrong with it.
///
/// ```
/// let values = templates::dotenv("# local\nexport A=1\nB: 'x # y'  # z\nC=\"a\\nb\"\n").unwrap();
/// let expected = [("A", "1"), ("B", "x # y"), ("C", "a\nb")];
/// assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
/// ```
pub fn dotenv(text: &str) -> Result<Vec<(String, String)>, (usize, String)> {
    let mut values: Vec<(String, String)> = Vec::new();
    for (index, line) in text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .lines()
        .enumerate()
    {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let end = line
            .find(['=', ':'])
            .ok_or_else(|| (index + 1, "a line is `NAME=value`".to_owned()))?;
        let name = line[..end].trim();
        if !crate::reference::is_name(name) {
            return Err((
                index + 1,
                format!("`{name}` cannot be the name of a parameter"),
            ));
        }
        let value = unquoted(line[end + 1..].trim()).map_err(|what| (index + 1, what))?;
        values.retain(|(other, _)| other != name);
        values.push((name.to_owned(), value));
    }
    Ok(values)
}

fn unquoted(text: &str) -> Result<String, String> {
    let Some(quote @ ('"' | '\'')) = text.chars().next() else {
        // A comment begins after a blank: `#` may be part of a password.
        let end = text
            .find(" #")
            .or_else(|| text.find("\t#"))
            .unwrap_or(text.len());
        let end = if text.starts_with('#') { 0 } else { end };
        return Ok(text[..end].trim_end().to_owned());
    };
    let mut value = String::new();
    let mut letters = text[1..].char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' if quote == '"' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
                None => break,
            },
            _ if letter == quote => {
                let rest = text[1 + at + 1..].trim();
                if rest.is_empty() || rest.starts_with('#') {
                    return Ok(value);
                }
                return Err(format!("`{rest}` follows the closing quote"));
            }
            _ => value.push(letter),
        }
    }
    Err("the quote is not closed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::dotenv;

    #[test]
    fn lines_are_read_as_people_write_them() {
        for (text, expected) in [
            ("A=1", Ok(vec![("A", "1")])),
            ("A=\n", Ok(vec![("A", "")])),
            ("A=x=y", Ok(vec![("A", "x=y")])),
            ("A=pa#ss", Ok(vec![("A", "pa#ss")])),
            ("A=x # note", Ok(vec![("A", "x")])),
            ("A=1\nA=2\n", Ok(vec![("A", "2")])),
            ("\r\nA=1\r\n", Ok(vec![("A", "1")])),
            ("A='a\\n'", Ok(vec![("A", "a\\n")])),
            ("A=\"a\\\"b\"", Ok(vec![("A", "a\"b")])),
            ("A: b", Ok(vec![("A", "b")])),
            ("export A=b", Ok(vec![("A", "b")])),
            ("A", Err((1, "a line is `NAME=value`"))),
            (
                "\nA-B=1",
                Err((2, "`A-B` cannot be the name of a parameter")),
            ),
            ("A=\"x", Err((1, "the quote is not closed"))),
            ("A='x' y", Err((1, "`y` follows the closing quote"))),
        ] {
            let values = dotenv(text);
            let values = values
                .as_ref()
                .map_err(|(line, what)| (*line, what.as_str()));
            let values = values.map(|values| {
                values
                    .iter()
                    .map(|(name, value)| (&**name, &**value))
                    .collect::<Vec<_>>()
            });
            assert_eq!(values, expected, "{text:?}");
        }
    }
}
