//! The words of a label selector.

/// A word of a label selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'t> {
    /// A key, a value, or `in` and `notin`, which may be either.
    Word(&'t str),
    /// An operator, a comma or a parenthesis.
    Symbol(&'t str),
    /// Symbols that mean nothing together.
    Nonsense(&'t str),
    End,
}

impl Token<'_> {
    /// As errors show it.
    pub fn shown(self) -> String {
        match self {
            Self::Word(text) | Self::Symbol(text) => text.to_owned(),
            Self::Nonsense(text) => format!("error expected: keyword found '{text}'"),
            Self::End => String::new(),
        }
    }
}

const SYMBOLS: [&str; 9] = [")", ",", "!", "==", "=", ">", "<", "!=", "("];

const fn is_symbol(byte: u8) -> bool {
    matches!(byte, b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<')
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// All words, the last of which is the end.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    // A zero byte ends the text for the API server.
    let text = text.split('\0').next().unwrap_or_default();
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if is_space(bytes[at]) {
            at += 1;
            continue;
        }
        let run = |fits: fn(u8) -> bool| bytes[at..].iter().take_while(|byte| fits(**byte)).count();
        if is_symbol(bytes[at]) {
            let all = run(is_symbol);
            // The longest that means something; what follows it is the next word.
            let known = [2, 1]
                .into_iter()
                .find(|length| *length <= all && SYMBOLS.contains(&&text[at..at + length]));
            let length = known.unwrap_or(all);
            let part = &text[at..at + length];
            tokens.push(if known.is_some() {
                Token::Symbol(part)
            } else {
                Token::Nonsense(part)
            });
            at += length;
        } else {
            let length = run(|byte| !is_symbol(byte) && !is_space(byte));
            tokens.push(Token::Word(&text[at..at + length]));
            at += length;
        }
    }
    tokens.push(Token::End);
    tokens
}
