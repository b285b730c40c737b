//! Quantities in the one way in which they are written: `1024Mi` is `1Gi`, `1000m` is `1`.

/// The decimal suffixes, from the smallest, in steps of a thousand; the fourth is none.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The binary suffixes, in steps of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The place of no suffix in [`DECIMAL`].
const ONE: usize = 3;

/// A quantity as the API server writes it; none if it is left as it is: no quantity, too large, or
/// a number that needs no suffix.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let thousands =
        number.ends_with("000") && number.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    if suffix.is_empty() && !number.contains('.') && !thousands {
        return None;
    }
    let negative = number.starts_with('-');
    let (whole, fraction) = number
        .trim_start_matches(['+', '-'])
        .split_once('.')
        .unwrap_or((number.trim_start_matches(['+', '-']), ""));
    let fraction = fraction.trim_end_matches('0');
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len())
        .ok()
        .filter(|places| *places <= 18)?;
    let text = match BINARY.iter().skip(1).position(|known| *known == suffix) {
        Some(power) => {
            let scale = 1024_i128.checked_pow(u32::try_from(power + 1).ok()?)?;
            let value = mantissa.checked_mul(scale)?;
            let unit = 10_i128.checked_pow(places)?;
            if value % unit == 0 {
                binary(value / unit)
            } else {
                decimal(value.checked_mul(10_i128.pow(9))? / unit, 0)?
            }
        }
        None => {
            let power = DECIMAL.iter().position(|known| *known == suffix)?;
            // In billionths, of the step that the suffix names.
            let billionths =
                mantissa.checked_mul(10_i128.checked_pow(9)?)? / 10_i128.checked_pow(places)?;
            decimal(billionths, power)?
        }
    };
    Some(if negative && text != "0" {
        format!("-{text}")
    } else {
        text
    })
}

fn binary(mut value: i128) -> String {
    if value == 0 {
        return "0".to_owned();
    }
    let mut power = 0;
    while value % 1024 == 0 && power + 1 < BINARY.len() {
        value /= 1024;
        power += 1;
    }
    format!("{value}{}", BINARY[power])
}

/// From billionths of a unit: of one if `power` is zero or that of no suffix, else of the suffix.
fn decimal(billionths: i128, power: usize) -> Option<String> {
    let power = if power == 0 && billionths % 1_000_000_000 != 0 {
        ONE
    } else {
        power
    };
    // In thousandths of thousandths, down to where the smallest suffix is.
    let mut value = billionths;
    let mut place = power as isize - 3;
    if value == 0 {
        return Some("0".to_owned());
    }
    while place < 0 {
        // Nothing is smaller than a billionth: it is rounded up.
        value = value / 1000 + i128::from(value % 1000 != 0);
        place += 1;
    }
    let mut place = usize::try_from(place).ok()?;
    while value % 1000 == 0 && place + 1 < DECIMAL.len() {
        value /= 1000;
        place += 1;
    }
    Some(format!("{value}{}", DECIMAL.get(place)?))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn a_quantity_is_written_in_one_way() {
        for (text, expected) in [
            ("1024Mi", Some("1Gi")),
            ("1Gi", Some("1Gi")),
            ("1000m", Some("1")),
            ("100m", Some("100m")),
            ("0.1", Some("100m")),
            ("1.5", Some("1500m")),
            ("0.5Gi", Some("512Mi")),
            ("1000k", Some("1M")),
            ("100Ki", Some("100Ki")),
            ("2000M", Some("2G")),
            ("0m", Some("0")),
            ("-500m", Some("-500m")),
            ("1000", Some("1k")),
            ("128000000", Some("128M")),
            ("+2000", Some("2k")),
            ("1500", None),
            ("0000", None),
            ("010", None),
            ("1", None),
            ("many", None),
            ("1e3", None),
            ("", None),
            ("99999999999999999999999999999999999999Ei", None),
        ] {
            assert_eq!(canonical(text).as_deref(), expected, "{text}");
        }
    }
}
