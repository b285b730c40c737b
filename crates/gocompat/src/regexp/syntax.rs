//! Translates Go's expression syntax into that of the `regex` crate, refusing what Go refuses in
//! Go's words. Flags are resolved while translating, so the result does not depend on where a
//! `(?i)` stood.

use super::super::unicode::decode_rune;
use super::{RegexpError, class};

/// Groups within groups that are still accepted.
pub(crate) const MAX_DEPTH: u32 = 250;

/// The most a counted repetition, or several nested ones together, may repeat.
const MAX_REPEAT: u64 = 1000;

/// About how many states a class of Unicode takes.
const CLASS: u64 = 1000;

#[derive(Clone, Copy, Default)]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_newline: bool,
    swap_greed: bool,
}

/// A translated atom and how often nested counts repeat its innermost part.
struct Piece {
    text: String,
    weight: u64,
    /// About how many states it takes to match.
    size: u64,
}

/// An open group.
struct Group {
    /// What opens it in the translation.
    opener: &'static str,
    /// Flags to go back to when it closes.
    outer: Flags,
    branches: Vec<Piece>,
    pieces: Vec<Piece>,
}

impl Group {
    fn new(opener: &'static str, outer: Flags) -> Self {
        Self {
            opener,
            outer,
            branches: Vec::new(),
            pieces: Vec::new(),
        }
    }

    fn end_branch(&mut self) {
        let weight = self
            .pieces
            .iter()
            .map(|piece| piece.weight)
            .max()
            .unwrap_or(1);
        let size = self
            .pieces
            .iter()
            .fold(1, |size: u64, piece| size.saturating_add(piece.size));
        let text = self.pieces.drain(..).map(|piece| piece.text).collect();
        self.branches.push(Piece { text, weight, size });
    }

    fn close(mut self) -> Piece {
        self.end_branch();
        let weight = self
            .branches
            .iter()
            .map(|branch| branch.weight)
            .max()
            .unwrap_or(1);
        let size = self
            .branches
            .iter()
            .fold(0, |size: u64, branch| size.saturating_add(branch.size));
        let branches: Vec<String> = self
            .branches
            .into_iter()
            .map(|branch| branch.text)
            .collect();
        let body = branches.join("|");
        Piece {
            text: if self.opener.is_empty() {
                body
            } else {
                format!("{}{body})", self.opener)
            },
            weight,
            size,
        }
    }
}

type Outcome<T> = Result<T, RegexpError>;

pub(crate) struct Parser<'a> {
    whole: &'a [u8],
    at: usize,
    flags: Flags,
    groups: Vec<Group>,
    top: Group,
    names: Vec<String>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(whole: &'a [u8]) -> Self {
        let flags = Flags::default();
        Self {
            whole,
            at: 0,
            flags,
            groups: Vec::new(),
            top: Group::new("", flags),
            names: vec![String::new()],
        }
    }

    /// The translation, the names of its groups, and about how many states it takes to match.
    pub(crate) fn parse(mut self) -> Outcome<(String, Vec<String>, u64)> {
        let mut repeated_at = None;
        while let Some(&byte) = self.rest().first() {
            let start = self.at;
            let mut repeated = None;
            match byte {
                b'(' => self.open()?,
                b')' => self.close()?,
                b'|' => {
                    self.at += 1;
                    self.top.end_branch();
                }
                b'^' => self.push_symbol(
                    if self.flags.multi_line {
                        "(?m:^)"
                    } else {
                        r"\A"
                    },
                    1,
                ),
                b'$' => self.push_symbol(
                    if self.flags.multi_line {
                        "(?m:$)"
                    } else {
                        r"\z"
                    },
                    1,
                ),
                b'.' => self.push_symbol(
                    if self.flags.dot_newline {
                        "(?s:.)"
                    } else {
                        r"[^\n]"
                    },
                    1,
                ),
                b'[' => self.bracket()?,
                b'*' | b'+' | b'?' => {
                    self.at += 1;
                    self.repeat(start, repeated_at, &char::from(byte).to_string(), None)?;
                    repeated = Some(start);
                }
                b'{' => match self.counts() {
                    Some((least, most, end)) => {
                        self.at = end;
                        if !(0..=MAX_REPEAT as i64).contains(&least)
                            || most.is_some_and(|most| most > MAX_REPEAT as i64 || most < least)
                        {
                            return Err(self.error_since("invalid repeat count", start));
                        }
                        self.repeat(
                            start,
                            repeated_at,
                            "",
                            Some((least as u64, most.map(|most| most as u64))),
                        )?;
                        repeated = Some(start);
                    }
                    None => self.literal()?,
                },
                b'\\' => self.escape()?,
                _ => self.literal()?,
            }
            repeated_at = repeated;
        }
        if !self.groups.is_empty() {
            return Err(RegexpError::new("missing closing )", self.whole));
        }
        let whole = self.top.close();
        Ok((whole.text, self.names, whole.size))
    }

    fn rest(&self) -> &'a [u8] {
        &self.whole[self.at..]
    }

    fn error_since(&self, code: &'static str, start: usize) -> RegexpError {
        RegexpError::new(code, &self.whole[start..self.at])
    }

    fn push(&mut self, text: String) {
        let classes = text.matches(r"\p").count() + text.matches(r"\P").count();
        let size = (text.len() as u64).saturating_add(CLASS.saturating_mul(classes as u64));
        self.top.pieces.push(Piece {
            text,
            weight: 1,
            size,
        });
    }

    fn push_symbol(&mut self, text: &str, width: usize) {
        self.at += width;
        self.push(text.to_owned());
    }

    /// A character, which under `(?i)` stands for all that fold to it.
    fn push_char(&mut self, code: u32) {
        let text = match char::from_u32(code) {
            Some(letter) => self.folded(regex::escape(letter.encode_utf8(&mut [0; 4]))),
            None => NOTHING.to_owned(),
        };
        self.push(text);
    }

    fn folded(&self, text: String) -> String {
        if self.flags.fold {
            format!("(?i:{text})")
        } else {
            text
        }
    }

    fn next_rune(&mut self) -> Outcome<char> {
        let (rune, width) = decode_rune(self.rest());
        if rune == char::REPLACEMENT_CHARACTER && width == 1 {
            return Err(RegexpError::new("invalid UTF-8", self.rest()));
        }
        self.at += width;
        Ok(rune)
    }

    fn literal(&mut self) -> Outcome<()> {
        let rune = self.next_rune()?;
        self.push_char(u32::from(rune));
        Ok(())
    }

    fn enter(&mut self, opener: &'static str, outer: Flags) -> Outcome<()> {
        if self.groups.len() >= MAX_DEPTH as usize {
            return Err(RegexpError::new("expression nests too deeply", self.whole));
        }
        let before = std::mem::replace(&mut self.top, Group::new(opener, outer));
        self.groups.push(before);
        Ok(())
    }

    fn close(&mut self) -> Outcome<()> {
        let outer = self
            .groups
            .pop()
            .ok_or_else(|| RegexpError::new("unexpected )", self.whole))?;
        let group = std::mem::replace(&mut self.top, outer);
        self.flags = group.outer;
        self.top.pieces.push(group.close());
        self.at += 1;
        Ok(())
    }

    fn open(&mut self) -> Outcome<()> {
        let rest = self.rest();
        if !rest.starts_with(b"(?") {
            self.at += 1;
            self.names.push(String::new());
            return self.enter("(", self.flags);
        }
        let name_at = match rest {
            [_, _, b'P', b'<', _, ..] => 4,
            [_, _, b'<', _, ..] => 3,
            _ => return self.open_flags(),
        };
        let Some(end) = rest.iter().position(|&byte| byte == b'>') else {
            check_utf8(rest)?;
            return Err(RegexpError::new("invalid named capture", rest));
        };
        let name = rest.get(name_at..end).unwrap_or_default();
        check_utf8(name)?;
        if name.is_empty()
            || !name
                .iter()
                .all(|&byte| byte == b'_' || byte.is_ascii_alphanumeric())
        {
            return Err(RegexpError::new("invalid named capture", &rest[..=end]));
        }
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self.at += end + 1;
        // Go allows a name twice and the regex crate does not, so names are kept apart from the
        // translation.
        self.enter("(", self.flags)
    }

    /// `(?flags)` and `(?flags:`.
    fn open_flags(&mut self) -> Outcome<()> {
        let start = self.at;
        self.at += 2;
        let mut flags = self.flags;
        let (mut on, mut seen) = (true, false);
        while !self.rest().is_empty() {
            let rune = self.next_rune()?;
            match rune {
                'i' => flags.fold = on,
                'm' => flags.multi_line = on,
                's' => flags.dot_newline = on,
                'U' => flags.swap_greed = on,
                '-' if on => {
                    on = false;
                    seen = false;
                    continue;
                }
                ':' | ')' if on || seen => {
                    if rune == ':' {
                        self.enter("(?:", self.flags)?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => break,
            }
            seen = true;
        }
        Err(self.error_since("invalid or unsupported Perl syntax", start))
    }

    /// Repeats the last piece; `counts` are those of `{n,m}`, else `symbol` says how often.
    fn repeat(
        &mut self,
        start: usize,
        before: Option<usize>,
        symbol: &str,
        counts: Option<(u64, Option<u64>)>,
    ) -> Outcome<()> {
        let mut lazy = self.flags.swap_greed;
        if self.rest().starts_with(b"?") {
            self.at += 1;
            lazy = !lazy;
        }
        if let Some(before) = before {
            return Err(self.error_since("invalid nested repetition operator", before));
        }
        let Some(mut piece) = self.top.pieces.pop() else {
            return Err(self.error_since("missing argument to repetition operator", start));
        };
        let mut operator = symbol.to_owned();
        if let Some((least, most)) = counts {
            piece.weight = match most.unwrap_or(least) {
                0 if most.is_some() => 1,
                0 => piece.weight,
                count => piece.weight.saturating_mul(count),
            };
            if (least >= 2 || most.is_some_and(|most| most >= 2)) && piece.weight > MAX_REPEAT {
                return Err(self.error_since("invalid repeat count", start));
            }
            piece.size = piece.size.saturating_mul(most.unwrap_or(least + 1).max(1));
            operator = most.map_or_else(
                || format!("{{{least},}}"),
                |most| format!("{{{least},{most}}}"),
            );
        }
        piece.text = format!(
            "(?:{}){operator}{}",
            piece.text,
            if lazy { "?" } else { "" }
        );
        self.top.pieces.push(piece);
        Ok(())
    }

    /// The counts of `{n}`, `{n,}` or `{n,m}` here and where they end; a count too big to hold is
    /// -1.
    fn counts(&self) -> Option<(i64, Option<i64>, usize)> {
        let (mut least, rest) = count(self.rest().get(1..)?)?;
        let (most, rest) = match rest.split_first()? {
            (b',', rest) if rest.starts_with(b"}") => (None, rest),
            (b',', rest) => {
                let (most, rest) = count(rest)?;
                if most < 0 {
                    least = -1;
                }
                (Some(most), rest)
            }
            _ => (Some(least), rest),
        };
        rest.starts_with(b"}")
            .then(|| (least, most, self.whole.len() - rest.len() + 1))
    }

    fn escape(&mut self) -> Outcome<()> {
        let start = self.at;
        match self.rest().get(1) {
            Some(b'A') => self.push_symbol(r"\A", 2),
            Some(b'b') => self.push_symbol(r"(?-u:\b)", 2),
            Some(b'B') => self.push_symbol(r"(?-u:\B)", 2),
            Some(b'z') => self.push_symbol(r"\z", 2),
            Some(b'C') => {
                self.at += 2;
                return Err(self.error_since("invalid escape sequence", start));
            }
            Some(b'Q') => {
                self.at += 2;
                while !self.rest().is_empty() {
                    if self.rest().starts_with(br"\E") {
                        self.at += 2;
                        break;
                    }
                    self.literal()?;
                }
            }
            _ => {
                if let Some(class) = self.class_escape()? {
                    let class = self.folded(class);
                    self.push(class);
                } else {
                    let code = self.escaped_char()?;
                    self.push_char(code);
                }
            }
        }
        Ok(())
    }

    /// `\pN`, `\d` and their like, if one stands here.
    fn class_escape(&mut self) -> Outcome<Option<String>> {
        let rest = self.rest();
        let [b'\\', letter, after @ ..] = rest else {
            return Ok(None);
        };
        if let Some(class) = class::perl(*letter) {
            self.at += 2;
            return Ok(Some(class.to_owned()));
        }
        if !matches!(letter, b'p' | b'P') {
            return Ok(None);
        }
        let start = self.at;
        let name = if after.starts_with(b"{") {
            let Some(end) = after.iter().position(|&byte| byte == b'}') else {
                check_utf8(rest)?;
                return Err(RegexpError::new("invalid character class range", rest));
            };
            self.at += 3 + end;
            &after[1..end]
        } else {
            self.at += 2;
            self.next_rune()?;
            &self.whole[start + 2..self.at]
        };
        check_utf8(name)?;
        let (inverted, name) = match name.strip_prefix(b"^") {
            Some(name) => (true, name),
            None => (false, name),
        };
        let negated = (*letter == b'P') != inverted;
        let found = std::str::from_utf8(name)
            .ok()
            .and_then(|name| class::unicode(name, negated));
        found
            .map(Some)
            .ok_or_else(|| self.error_since("invalid character class range", start))
    }

    /// An escape that stands for one character.
    fn escaped_char(&mut self) -> Outcome<u32> {
        let start = self.at;
        self.at += 1;
        if self.rest().is_empty() {
            return Err(RegexpError::new(
                "trailing backslash at end of expression",
                b"",
            ));
        }
        let rune = self.next_rune()?;
        let octal = |byte: Option<&u8>| byte.is_some_and(|byte| (b'0'..=b'7').contains(byte));
        match rune {
            'a' => return Ok(7),
            'f' => return Ok(12),
            'n' => return Ok(10),
            'r' => return Ok(13),
            't' => return Ok(9),
            'v' => return Ok(11),
            '0'..='7' if rune == '0' || octal(self.rest().first()) => {
                let mut code = u32::from(rune) - u32::from('0');
                for _ in 0..2 {
                    let Some(&digit) = self.rest().first().filter(|byte| octal(Some(byte))) else {
                        break;
                    };
                    code = code * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                return Ok(code);
            }
            'x' if !self.rest().is_empty() => {
                if let Some(code) = self.hex_code()? {
                    return Ok(code);
                }
            }
            _ if rune.is_ascii() && !rune.is_ascii_alphanumeric() => return Ok(u32::from(rune)),
            _ => {}
        }
        Err(self.error_since("invalid escape sequence", start))
    }

    /// The digits of `\x41` or `\x{1F600}`.
    fn hex_code(&mut self) -> Outcome<Option<u32>> {
        let first = self.next_rune()?;
        if first != '{' {
            let second = self.next_rune()?;
            return Ok(first
                .to_digit(16)
                .zip(second.to_digit(16))
                .map(|(high, low)| high * 16 + low));
        }
        let mut code = None;
        while !self.rest().is_empty() {
            let rune = self.next_rune()?;
            if rune == '}' {
                return Ok(code);
            }
            let Some(digit) = rune.to_digit(16) else {
                return Ok(None);
            };
            let next = code.unwrap_or(0) * 16 + digit;
            if next > u32::from(char::MAX) {
                return Ok(None);
            }
            code = Some(next);
        }
        Ok(None)
    }

    fn bracket(&mut self) -> Outcome<()> {
        let start = self.at;
        self.at += 1;
        let negated = self.rest().starts_with(b"^");
        if negated {
            self.at += 1;
        }
        let mut inside = String::new();
        let mut first = true;
        while first || !self.rest().starts_with(b"]") {
            first = false;
            if let Some(class) = self.posix_class()? {
                inside.push_str(&class);
                continue;
            }
            if let Some(class) = self.class_escape()? {
                inside.push_str(&class);
                continue;
            }
            let from = self.at;
            let low = self.class_char(start)?;
            let mut high = low;
            if let [b'-', next, ..] = self.rest()
                && *next != b']'
            {
                self.at += 1;
                high = self.class_char(start)?;
                if high < low {
                    return Err(self.error_since("invalid character class range", from));
                }
            }
            push_range(&mut inside, low, high);
        }
        self.at += 1;
        let text = match (inside.is_empty(), negated) {
            (true, true) => r"[\x00-\x{10FFFF}]".to_owned(),
            (true, false) => NOTHING.to_owned(),
            (false, true) => format!("[^{inside}]"),
            (false, false) => format!("[{inside}]"),
        };
        let text = self.folded(text);
        self.push(text);
        Ok(())
    }

    fn posix_class(&mut self) -> Outcome<Option<String>> {
        let rest = self.rest();
        let Some(body) = rest.strip_prefix(b"[:") else {
            return Ok(None);
        };
        let Some(end) = body.windows(2).position(|pair| pair == b":]") else {
            return Ok(None);
        };
        let found = class::posix(&body[..end]);
        self.at += end + 4;
        found
            .map(Some)
            .ok_or_else(|| RegexpError::new("invalid character class range", &rest[..end + 4]))
    }

    fn class_char(&mut self, class_start: usize) -> Outcome<u32> {
        match self.rest().first() {
            None => Err(RegexpError::new(
                "missing closing ]",
                &self.whole[class_start..],
            )),
            Some(b'\\') => self.escaped_char(),
            Some(_) => self.next_rune().map(u32::from),
        }
    }
}

/// A class that matches nothing.
const NOTHING: &str = "[a&&b]";

/// Appends a range to the inside of a class, without the surrogates, which no text contains.
fn push_range(inside: &mut String, low: u32, high: u32) {
    let low = if (0xd800..0xe000).contains(&low) {
        0xe000
    } else {
        low
    };
    let high = if (0xd800..0xe000).contains(&high) {
        0xd7ff
    } else {
        high
    };
    if low <= high {
        inside.push_str(&format!(r"\x{{{low:X}}}-\x{{{high:X}}}"));
    }
}

/// A decimal count without leading zeros and what follows it; one too big to hold is -1.
fn count(text: &[u8]) -> Option<(i64, &[u8])> {
    let length = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    if length == 0 || length > 1 && text[0] == b'0' {
        return None;
    }
    let (digits, rest) = text.split_at(length);
    let value = if length > 9 {
        -1
    } else {
        digits
            .iter()
            .fold(0, |sum, byte| sum * 10 + i64::from(byte - b'0'))
    };
    Some((value, rest))
}

fn check_utf8(text: &[u8]) -> Outcome<()> {
    match std::str::from_utf8(text) {
        Ok(_) => Ok(()),
        Err(error) => Err(RegexpError::new(
            "invalid UTF-8",
            &text[error.valid_up_to()..],
        )),
    }
}
