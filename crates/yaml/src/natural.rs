//! The order in which go-yaml writes keys: numbers inside them count as numbers, and letters come
//! last.

use std::cmp::Ordering;

use crate::letters::{DIGITS, LETTERS};

/// The two generations of go-yaml, which differ in where a letter goes that follows digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    V2,
    V3,
}

/// Sorts entries by their keys.
///
/// Go's comparison is not a total order for every set of keys, and the standard sort may panic on
/// such; merging halves cannot.
pub(crate) fn sort<T: Copy>(entries: &mut Vec<(&str, T)>, generation: Generation) {
    // Maps hand out their keys in byte order, which is nearly always the natural order already.
    if entries
        .windows(2)
        .all(|pair| !less(pair[1].0, pair[0].0, generation))
    {
        return;
    }
    let mut width = 1;
    let mut other = Vec::with_capacity(entries.len());
    while width < entries.len() {
        other.clear();
        for pair in entries.chunks(width * 2) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                if less(b.0, a.0, generation) {
                    other.push(*b);
                    right = &right[1..];
                } else {
                    other.push(*a);
                    left = &left[1..];
                }
            }
            other.extend_from_slice(left);
            other.extend_from_slice(right);
        }
        std::mem::swap(entries, &mut other);
        width *= 2;
    }
}

/// Whether key `a` comes before key `b`.
fn less(a: &str, b: &str, generation: Generation) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    // Both have the same bytes up to here, so a boundary of one is a boundary of the other.
    let same = a.floor_char_boundary(same);
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    let (first_a, first_b) = match (rest_a.chars().next(), rest_b.chars().next()) {
        (Some(first_a), Some(first_b)) => (first_a, first_b),
        (first_a, first_b) => return first_a.is_none() && first_b.is_some(),
    };
    match (is_letter(first_a), is_letter(first_b)) {
        (true, true) => return first_a < first_b,
        (false, false) => {}
        (letter_a, letter_b) => {
            let after_digit =
                generation == Generation::V3 && a[..same].chars().next_back().is_some_and(is_digit);
            return if after_digit { letter_a } else { letter_b };
        }
    }
    // A zero counts only when the number has begun before it.
    let begun = (first_a == '0' || first_b == '0')
        && a[..same]
            .chars()
            .rev()
            .take_while(|c| is_digit(*c))
            .any(|c| c != '0');
    let (number_a, length_a) = number(rest_a, begun);
    let (number_b, length_b) = number(rest_b, begun);
    number_a
        .cmp(&number_b)
        .then(length_a.cmp(&length_b))
        .then(first_a.cmp(&first_b))
        == Ordering::Less
}

/// The number that the text begins with, and how many digits it has.
fn number(text: &str, begun: bool) -> (i64, usize) {
    text.chars().take_while(|c| is_digit(*c)).fold(
        (i64::from(begun), 0),
        |(value, length), digit| {
            let digit = i64::from(digit as u32) - i64::from(b'0');
            (value.wrapping_mul(10).wrapping_add(digit), length + 1)
        },
    )
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        contains(LETTERS, c)
    }
}

fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_digit()
    } else {
        contains(DIGITS, c)
    }
}

fn contains(ranges: &[(u32, u32)], c: char) -> bool {
    let code = c as u32;
    ranges
        .binary_search_by(|(first, last)| match code {
            _ if code < *first => Ordering::Greater,
            _ if code > *last => Ordering::Less,
            _ => Ordering::Equal,
        })
        .is_ok()
}
