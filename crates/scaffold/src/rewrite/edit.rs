//! Changes of a YAML text that leave everything else of it as it was: fields taken out, and
//! stretches replaced by template actions.

use serde_json::Value;
use yaml::Step;

use crate::manifests::split::Piece;

/// A stretch of text and what stands there instead.
pub(crate) struct Edit {
    pub start: usize,
    pub end: usize,
    pub with: String,
}

impl Edit {
    /// The same further on in a text.
    pub fn moved(self, by: usize) -> Edit {
        Edit {
            start: self.start + by,
            end: self.end + by,
            ..self
        }
    }
}

/// The text with its edits, which do not overlap. What is between them is printed as it is, braces
/// included.
pub(crate) fn edited(text: &str, edits: &mut Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.start);
    let mut out = String::new();
    let mut at = 0;
    for edit in edits {
        if edit.start < at {
            continue;
        }
        let literal = escaped(text.get(at..edit.start).unwrap_or_default());
        // A brace right before an action would be read as part of its opening.
        match literal
            .strip_suffix('{')
            .filter(|_| edit.with.starts_with("{{"))
        {
            Some(rest) => out.push_str(&format!("{rest}{{{{ \"{{\" }}}}")),
            None => out.push_str(&literal),
        }
        out.push_str(&edit.with);
        at = edit.end;
    }
    out + &escaped(text.get(at..).unwrap_or_default())
}

/// A text that prints itself.
pub(crate) fn escaped(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// An object without some of its fields.
pub(crate) fn without(piece: &Piece, paths: &[Vec<Step>]) -> Piece {
    let mut piece = piece.clone();
    for path in paths {
        // Nobody wants an empty list of annotations where the only one was taken out.
        let path = widest(&piece.value, path);
        let removed = yaml::parse_spanned(&piece.text)
            .ok()
            .and_then(|spanned| cut(&piece.text, &spanned, path));
        remove(&mut piece.value, path);
        let same = |text: &String| yaml::parse_written(text).is_ok_and(|read| read == piece.value);
        piece.text = removed
            .filter(same)
            .unwrap_or_else(|| Piece::emitted(&piece.value));
    }
    piece
}

/// An object with one more annotation, right behind another.
pub(crate) fn with_annotation(piece: &Piece, behind: &str, key: &str, value: &str) -> Piece {
    let mut piece = piece.clone();
    let path = ["metadata", "annotations", behind].map(Step::from);
    let added = yaml::parse_spanned(&piece.text)
        .ok()
        .and_then(|spanned| add(&piece.text, &spanned, &path, key, value));
    piece.value["metadata"]["annotations"][key] = Value::from(value);
    let same = |text: &String| yaml::parse_written(text).is_ok_and(|read| read == piece.value);
    piece.text = added
        .filter(same)
        .unwrap_or_else(|| Piece::emitted(&piece.value));
    piece
}

/// The text with a field behind another: on the next line, or inside of the same braces.
fn add(
    text: &str,
    spanned: &yaml::Spanned,
    behind: &[Step],
    key: &str,
    value: &str,
) -> Option<String> {
    let found = spanned.spans.find(behind)?;
    let line = text
        .get(..found.key?.start)?
        .rfind('\n')
        .map_or(0, |at| at + 1);
    let indent = text.get(line..found.key?.start)?;
    let (at, field) = if indent.trim().is_empty() {
        let rest = text.get(found.value.end..)?;
        (
            found.value.end + rest.find('\n').unwrap_or(rest.len()),
            format!("\n{indent}{key}: {value}"),
        )
    } else {
        (found.value.end, format!(", {key}: {value}"))
    };
    Some(format!("{}{field}{}", text.get(..at)?, text.get(at..)?))
}

/// The path of the outermost mapping that holds nothing but what is at a path.
fn widest<'p>(value: &Value, path: &'p [Step]) -> &'p [Step] {
    let mut path = path;
    while path.len() > 2 {
        let parent = &path[..path.len() - 1];
        let alone = look(value, parent)
            .and_then(Value::as_object)
            .is_some_and(|fields| fields.len() == 1);
        if !alone {
            break;
        }
        path = parent;
    }
    path
}

/// The text without the lines of a field.
fn cut(text: &str, spanned: &yaml::Spanned, path: &[Step]) -> Option<String> {
    let found = spanned.spans.find(path)?;
    let key = found.key?;
    let start = text.get(..key.start)?.rfind('\n').map_or(0, |at| at + 1);
    let end = found.value.end.max(key.end);
    if !text.get(start..key.start)?.trim().is_empty() {
        // Inside of braces a field goes with one of the commas around it.
        let (before, after) = (text.get(..key.start)?.trim_end(), text.get(end..)?);
        return match (before.strip_suffix(','), before.ends_with('{')) {
            (Some(before), _) => Some(format!("{before}{after}")),
            (None, true) => {
                let after = after.trim_start();
                Some(format!(
                    "{before}{}",
                    after.strip_prefix(',').map_or(after, str::trim_start)
                ))
            }
            (None, false) => None,
        };
    }
    let last = start + text.get(start..end)?.trim_end().len();
    let end = text
        .get(last..)?
        .find('\n')
        .map_or(text.len(), |at| last + at + 1);
    Some(format!("{}{}", &text[..start], &text[end..]))
}

fn remove(value: &mut Value, path: &[Step]) {
    let Some((last, above)) = path.split_last() else {
        return;
    };
    let holder = above.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(&**key),
        Step::Index(index) => value.get_mut(*index),
    });
    match (holder, last) {
        (Some(Value::Object(fields)), Step::Key(key)) => drop(fields.remove(&**key)),
        (Some(Value::Array(items)), Step::Index(index)) if *index < items.len() => {
            drop(items.remove(*index));
        }
        _ => {}
    }
}

/// The value at a path.
pub(crate) fn look<'v>(value: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(&**key),
        Step::Index(index) => value.get(*index),
    })
}

#[cfg(test)]
mod tests {
    use super::{Edit, edited, escaped};

    #[test]
    fn braces_of_the_text_are_printed_and_not_evaluated() {
        assert_eq!(escaped("a {{ b }}"), r#"a {{ "{{" }} b }}"#);
        let mut edits = vec![Edit {
            start: 2,
            end: 5,
            with: "{{ .x }}".into(),
        }];
        assert_eq!(edited("${web}", &mut edits), r#"${{ "{" }}{{ .x }}}"#);
    }
}
