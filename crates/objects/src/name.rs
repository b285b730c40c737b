//! Names: of objects, labels, annotations and finalizers, refused in the API server's own words.

mod meta;
mod rule;

pub use meta::{Cause, Reason, object_meta_causes, object_meta_update_causes};
pub use rule::{NameRule, is_subdomain, label_key_errors, label_value_errors};

/// The most bytes that the annotations of an object may take together.
pub const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// The letters of generated names: no vowels, and nothing that is mistaken for something else.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many letters a generated name ends with.
const GENERATED: usize = 5;
/// The longest generated name.
const LONGEST: usize = 63;

/// A name from `generateName` and random bits, of which some forty are used.
pub fn generate_name(prefix: &str, random: u64) -> String {
    let mut end = prefix.len().min(LONGEST - GENERATED);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let mut name = prefix[..end].to_owned();
    let mut rest = random;
    for _ in 0..GENERATED {
        let letters = LETTERS.len() as u64;
        name.push(char::from(LETTERS[(rest % letters) as usize]));
        rest /= letters;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::{LETTERS, generate_name};

    #[test]
    fn a_generated_name_has_five_letters_more_and_is_not_too_long() {
        for (prefix, random) in [
            ("web-", 0),
            ("web-", u64::MAX),
            (&*"x".repeat(100), 12_345),
            (&*"é".repeat(60), 1),
        ] {
            let name = generate_name(prefix, random);
            let (head, tail) = name.split_at(name.len() - 5);
            assert!(
                prefix.starts_with(head) && tail.bytes().all(|letter| LETTERS.contains(&letter)),
                "{name}"
            );
            assert!(
                name.len() <= 63 && (prefix.len() > 58 || head == prefix),
                "{name}"
            );
        }
        assert_ne!(generate_name("a", 1), generate_name("a", 2));
    }
}
