//! Recognises what go-yaml takes for a point in time. Such text stays text, but must be quoted when
//! written.

/// Whether the text is a date, or a date and a time, in one of the notations go-yaml knows.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.iter().take_while(|b| b.is_ascii_digit()).count() != 4 || bytes.get(4) != Some(&b'-') {
        return false;
    }
    parse(text).is_some()
}

fn parse(text: &str) -> Option<()> {
    let year: u32 = text.get(..4)?.parse().ok()?;
    let (month, rest) = number(text.get(5..)?)?;
    let (day, rest) = number(rest.strip_prefix('-')?)?;
    if !(1..=12).contains(&month) || day < 1 || day > days(month, year) {
        return None;
    }
    match rest.as_bytes().first() {
        None => Some(()),
        Some(b'T' | b't') => zone(clock(&rest[1..])?),
        Some(b' ') => clock(rest.trim_start_matches(' '))?
            .is_empty()
            .then_some(()),
        Some(_) => None,
    }
}

/// Reads hours, minutes, seconds and perhaps a fraction, and gives what is left.
fn clock(text: &str) -> Option<&str> {
    let (hour, rest) = number(text)?;
    let (minute, rest) = number(rest.strip_prefix(':')?)?;
    let (second, rest) = number(rest.strip_prefix(':')?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = rest.strip_prefix(['.', ',']).unwrap_or("");
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    Some(if digits > 0 {
        &fraction[digits..]
    } else {
        rest
    })
}

/// Accepts `Z` or an offset such as `+01:00`.
fn zone(text: &str) -> Option<()> {
    if text == "Z" {
        return Some(());
    }
    let [b'+' | b'-', h1, h2, b':', m1, m2] = text.as_bytes() else {
        return None;
    };
    if ![h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let two = |high: u8, low: u8| (high - b'0') * 10 + (low - b'0');
    (two(*h1, *h2) <= 24 && two(*m1, *m2) <= 60).then_some(())
}

/// Reads one or two digits.
fn number(text: &str) -> Option<(u32, &str)> {
    let count = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    Some((text[..count].parse().ok()?, &text[count..]))
}

fn days(month: u32, year: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}
