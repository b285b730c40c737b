//! The elements of Go's reference layout, `Mon Jan 2 15:04:05 MST 2006`, found from left to right.

/// How an offset from UTC is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffsetForm {
    /// `Z` stands for UTC.
    pub(crate) z: bool,
    pub(crate) colons: bool,
    pub(crate) minutes: bool,
    pub(crate) seconds: bool,
}

/// One element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Year,
    LongYear,
    Month,
    LongMonth,
    NumMonth,
    ZeroMonth,
    WeekDay,
    LongWeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    UpperPm,
    LowerPm,
    ZoneName,
    Offset(OffsetForm),
    /// Digits after the second: how many, whether trailing zeros go, and the separator.
    Fraction {
        digits: usize,
        trim: bool,
        separator: u8,
    },
}

/// Text before the first element, the element, its own text, and what follows it.
pub(crate) struct Chunk<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) element: Option<(Element, &'a [u8])>,
    pub(crate) suffix: &'a [u8],
}

/// Splits a layout at its first element.
pub(crate) fn next_chunk(layout: &[u8]) -> Chunk<'_> {
    for at in 0..layout.len() {
        if let Some((skip, element, length)) = element_at(&layout[at..]) {
            let start = at + skip;
            let (prefix, rest) = layout.split_at(start);
            let (text, suffix) = rest.split_at(length);
            return Chunk {
                prefix,
                element: Some((element, text)),
                suffix,
            };
        }
    }
    Chunk {
        prefix: layout,
        element: None,
        suffix: b"",
    }
}

const OFFSETS: [(&[u8], bool, bool, bool); 5] = [
    (b"070000", false, true, true),
    (b"07:00:00", true, true, true),
    (b"0700", false, true, false),
    (b"07:00", true, true, false),
    (b"07", false, false, false),
];

/// The element that begins here: literal bytes before it, what it is, and its length.
fn element_at(text: &[u8]) -> Option<(usize, Element, usize)> {
    use Element as E;
    let plain = |element, length| Some((0, element, length));
    let not_a_word = |from: usize| !text.get(from).is_some_and(u8::is_ascii_lowercase);
    match text {
        [b'J', b'a', b'n', b'u', b'a', b'r', b'y', ..] => plain(E::LongMonth, 7),
        [b'J', b'a', b'n', ..] if not_a_word(3) => plain(E::Month, 3),
        [b'M', b'o', b'n', b'd', b'a', b'y', ..] => plain(E::LongWeekDay, 6),
        [b'M', b'o', b'n', ..] if not_a_word(3) => plain(E::WeekDay, 3),
        [b'M', b'S', b'T', ..] => plain(E::ZoneName, 3),
        [b'0', digit @ b'1'..=b'6', ..] => {
            const ZEROED: [Element; 6] = [
                E::ZeroMonth,
                E::ZeroDay,
                E::ZeroHour12,
                E::ZeroMinute,
                E::ZeroSecond,
                E::Year,
            ];
            plain(ZEROED[usize::from(digit - b'1')], 2)
        }
        [b'0', b'0', b'2', ..] => plain(E::ZeroYearDay, 3),
        [b'1', b'5', ..] => plain(E::Hour, 2),
        [b'1', ..] => plain(E::NumMonth, 1),
        [b'2', b'0', b'0', b'6', ..] => plain(E::LongYear, 4),
        [b'2', ..] => plain(E::Day, 1),
        // An underscore before a whole year is only itself.
        [b'_', b'2', b'0', b'0', b'6', ..] => Some((1, E::LongYear, 4)),
        [b'_', b'2', ..] => plain(E::UnderDay, 2),
        [b'_', b'_', b'2', ..] => plain(E::UnderYearDay, 3),
        [b'3', ..] => plain(E::Hour12, 1),
        [b'4', ..] => plain(E::Minute, 1),
        [b'5', ..] => plain(E::Second, 1),
        [b'P', b'M', ..] => plain(E::UpperPm, 2),
        [b'p', b'm', ..] => plain(E::LowerPm, 2),
        [sign @ (b'-' | b'Z'), rest @ ..] => {
            let &(form, colons, minutes, seconds) =
                OFFSETS.iter().find(|(form, ..)| rest.starts_with(form))?;
            plain(
                E::Offset(OffsetForm {
                    z: *sign == b'Z',
                    colons,
                    minutes,
                    seconds,
                }),
                form.len() + 1,
            )
        }
        [separator @ (b'.' | b','), digit @ (b'0' | b'9'), ..] => {
            let length = text[1..]
                .iter()
                .position(|byte| byte != digit)
                .unwrap_or(text.len() - 1);
            if text.get(1 + length).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            plain(
                E::Fraction {
                    digits: length,
                    trim: *digit == b'9',
                    separator: *separator,
                },
                length + 1,
            )
        }
        _ => None,
    }
}
