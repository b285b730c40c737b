//! Names of objects.

/// The most bytes that the annotations of an object may take together.
pub const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Whether a name is a DNS-1123 subdomain, as the API server wants it of most objects.
pub fn is_subdomain(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let label =
        |label: &str| label.starts_with(fits) && label.ends_with(fits) && label.chars().all(|c| fits(c) || c == '-');
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::is_subdomain;

    #[test]
    fn names_are_lower_case_labels_with_dots_between() {
        for (name, valid) in [
            ("web", true),
            ("web-1.example", true),
            ("Web", false),
            ("a_b", false),
            ("-a", false),
            ("a.", false),
            ("", false),
        ] {
            assert_eq!(is_subdomain(name), valid, "{name:?}");
        }
    }
}
