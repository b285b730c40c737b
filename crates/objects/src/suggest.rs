//! The name that was probably meant, for hints in errors.

/// Names longer than this are not compared: no hint is worth the time they would take.
const LONGEST: usize = 256;

/// The candidate with the fewest edits, if they are few; of equals the first in the alphabet. Case
/// does not count.
///
/// ```
/// assert_eq!(objects::nearest("replcas", ["replicas", "image"]), Some("replicas"));
/// assert_eq!(objects::nearest("colour", ["replicas", "image"]), None);
/// ```
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.len() > LONGEST {
        return None;
    }
    let name = name.to_lowercase();
    let limit = 1 + name.chars().count() / 4;
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= LONGEST)
        .map(|candidate| (edits(&name, &candidate.to_lowercase()), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many characters have to be added, taken away or replaced, or changed places with their
/// neighbours.
fn edits(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (index, left) in one.iter().enumerate() {
        let mut row = vec![index + 1];
        for (column, right) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(left != right);
            let mut fewest = replaced.min(last[column + 1] + 1).min(row[column] + 1);
            if index > 0 && column > 0 && *left == other[column - 1] && one[index - 1] == *right {
                fewest = fewest.min(before[column - 1] + 1);
            }
            row.push(fewest);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_name_finds_its_neighbour_and_nonsense_none() {
        let names = ["upper", "lower", "toYaml", "nindent", "b64enc"];
        for (name, expected) in [
            ("uper", Some("upper")),
            ("toYAML", Some("toYaml")),
            ("nident", Some("nindent")),
            ("frobnicate", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), expected, "{name}");
        }
        assert_eq!(nearest("ulr", ["url", "count"]), Some("url"));
        assert_eq!(nearest(&"x".repeat(1_000_000), names), None);
        assert_eq!(nearest("größe", ["grösse", "breite"]), Some("grösse"));
    }

    #[test]
    fn of_equally_near_names_the_first_in_the_alphabet_is_taken() {
        assert_eq!(nearest("cat", ["hat", "bat"]), Some("bat"));
    }
}
