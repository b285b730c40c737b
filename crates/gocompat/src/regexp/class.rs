//! Named character classes of Go's expressions, as classes of the `regex` crate. `\d`, `\s` and
//! `\w` are ASCII here, and Unicode groups are held to the characters that Unicode 15.0 assigned.

/// The inside of a bracketed class for `\d` and its like.
pub(crate) fn perl(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'd' => "[0-9]",
        b'D' => "[^0-9]",
        b's' => r"[\t\n\x0C\r ]",
        b'S' => r"[^\t\n\x0C\r ]",
        b'w' => "[0-9A-Za-z_]",
        b'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// The class for `[:name:]` or `[:^name:]`, given what stands between the colons.
pub(crate) fn posix(name: &[u8]) -> Option<String> {
    let (negated, name) = match name.strip_prefix(b"^") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let inside = match name {
        b"alnum" => "0-9A-Za-z",
        b"alpha" => "A-Za-z",
        b"ascii" => r"\x00-\x7F",
        b"blank" => r"\t\x20",
        b"cntrl" => r"\x00-\x1F\x7F",
        b"digit" => "0-9",
        b"graph" => r"\x21-\x7E",
        b"lower" => "a-z",
        b"print" => r"\x20-\x7E",
        b"punct" => r"\x21-\x2F\x3A-\x40\x5B-\x60\x7B-\x7E",
        b"space" => r"\t\n\x0B\x0C\r\x20",
        b"upper" => "A-Z",
        b"word" => "0-9A-Za-z_",
        b"xdigit" => "0-9A-Fa-f",
        _ => return None,
    };
    Some(format!("[{}{inside}]", if negated { "^" } else { "" }))
}

/// The class for `\p{name}`; names ignore case, spaces, hyphens and underscores.
pub(crate) fn unicode(name: &str, negated: bool) -> Option<String> {
    const AGE: &str = r"\p{Age=15.0}";
    let mut canonical = String::with_capacity(name.len());
    for letter in name
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-' | ' '))
    {
        canonical.push(if canonical.is_empty() {
            letter.to_ascii_uppercase()
        } else {
            letter.to_ascii_lowercase()
        });
    }
    let category = CATEGORIES
        .iter()
        .find(|known| **known == canonical)
        .copied()
        .or_else(|| {
            CATEGORY_ALIASES
                .iter()
                .find(|(alias, _)| *alias == canonical)
                .map(|&(_, category)| category)
        });
    let (negated, inside) = match (canonical.as_str(), category) {
        ("Any", _) => (negated, r"\x00-\x{10FFFF}".to_owned()),
        ("Ascii", _) => (negated, r"\x00-\x7F".to_owned()),
        ("Assigned", _) => (!negated, format!(r"\p{{Cn}}[^{AGE}]")),
        (_, Some("Cs")) => (negated, "a&&b".to_owned()),
        // What later versions assigned is unassigned here.
        (_, Some(category @ ("C" | "Cn"))) => (negated, format!(r"\p{{{category}}}[^{AGE}]")),
        (_, Some(category)) => (negated, format!(r"\p{{{category}}}&&{AGE}")),
        _ if SCRIPTS.contains(&canonical.as_str()) => {
            (negated, format!(r"\p{{Script={canonical}}}&&{AGE}"))
        }
        _ => return None,
    };
    Some(format!("[{}{inside}]", if negated { "^" } else { "" }))
}

#[rustfmt::skip]
const CATEGORIES: [&str; 38] = [
    "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "Lc", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

#[rustfmt::skip]
const CATEGORY_ALIASES: [(&str, &str); 42] = [
    ("Casedletter", "Lc"), ("Closepunctuation", "Pe"), ("Combiningmark", "M"), ("Connectorpunctuation", "Pc"),
    ("Control", "Cc"), ("Currencysymbol", "Sc"), ("Dashpunctuation", "Pd"), ("Decimalnumber", "Nd"),
    ("Enclosingmark", "Me"), ("Finalpunctuation", "Pf"), ("Format", "Cf"), ("Initialpunctuation", "Pi"),
    ("Letter", "L"), ("Letternumber", "Nl"), ("Lineseparator", "Zl"), ("Lowercaseletter", "Ll"), ("Mark", "M"),
    ("Mathsymbol", "Sm"), ("Modifierletter", "Lm"), ("Modifiersymbol", "Sk"), ("Nonspacingmark", "Mn"),
    ("Number", "N"), ("Openpunctuation", "Ps"), ("Other", "C"), ("Otherletter", "Lo"), ("Othernumber", "No"),
    ("Otherpunctuation", "Po"), ("Othersymbol", "So"), ("Paragraphseparator", "Zp"), ("Privateuse", "Co"),
    ("Punctuation", "P"), ("Separator", "Z"), ("Spaceseparator", "Zs"), ("Spacingmark", "Mc"), ("Surrogate", "Cs"),
    ("Symbol", "S"), ("Titlecaseletter", "Lt"), ("Unassigned", "Cn"), ("Uppercaseletter", "Lu"), ("Cntrl", "Cc"),
    ("Digit", "Nd"), ("Punct", "P"),
];

/// Scripts whose name is one word; Go does not find the others either.
#[rustfmt::skip]
const SCRIPTS: [&str; 117] = [
    "Adlam", "Ahom", "Arabic", "Armenian", "Avestan", "Balinese", "Bamum", "Batak", "Bengali", "Bhaiksuki",
    "Bopomofo", "Brahmi", "Braille", "Buginese", "Buhid", "Carian", "Chakma", "Cham", "Cherokee", "Chorasmian",
    "Common", "Coptic", "Cuneiform", "Cypriot", "Cyrillic", "Deseret", "Devanagari", "Dogra", "Duployan", "Elbasan",
    "Elymaic", "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Greek", "Gujarati", "Gurmukhi", "Han",
    "Hangul", "Hanunoo", "Hatran", "Hebrew", "Hiragana", "Inherited", "Javanese", "Kaithi", "Kannada", "Katakana",
    "Kawi", "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "Lao", "Latin", "Lepcha", "Limbu", "Lisu", "Lycian",
    "Lydian", "Mahajani", "Makasar", "Malayalam", "Mandaic", "Manichaean", "Marchen", "Medefaidrin", "Miao", "Modi",
    "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean", "Nandinagari", "Newa", "Nko", "Nushu", "Ogham", "Oriya",
    "Osage", "Osmanya", "Palmyrene", "Phoenician", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian",
    "Siddham", "Sinhala", "Sogdian", "Soyombo", "Sundanese", "Syriac", "Tagalog", "Tagbanwa", "Takri", "Tamil",
    "Tangsa", "Tangut", "Telugu", "Thaana", "Thai", "Tibetan", "Tifinagh", "Tirhuta", "Toto", "Ugaritic", "Vai",
    "Vithkuqi", "Wancho", "Yezidi", "Yi",
];
