//! Splits a template source into tokens: text between actions, and the words inside them.

use gocompat::unicode::{is_digit, is_letter};

/// What a token is. The order of names follows their use in the parser's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    Dot,
    Nil,
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

impl Kind {
    fn keyword(word: &str) -> Option<Kind> {
        Some(match word {
            "." => Kind::Dot,
            "block" => Kind::Block,
            "break" => Kind::Break,
            "continue" => Kind::Continue,
            "define" => Kind::Define,
            "else" => Kind::Else,
            "end" => Kind::End,
            "if" => Kind::If,
            "range" => Kind::Range,
            "nil" => Kind::Nil,
            "template" => Kind::Template,
            "with" => Kind::With,
            _ => return None,
        })
    }

    fn is_keyword(self) -> bool {
        matches!(
            self,
            Kind::Dot
                | Kind::Nil
                | Kind::Block
                | Kind::Break
                | Kind::Continue
                | Kind::Define
                | Kind::Else
                | Kind::End
                | Kind::If
                | Kind::Range
                | Kind::Template
                | Kind::With
        )
    }
}

/// A piece of the source. The message of an error token is the lexer's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn text<'t>(&self, source: &'t str) -> &'t str {
        source.get(self.start..self.end).unwrap_or_default()
    }

    /// The token as Go's messages show it.
    pub fn describe(&self, source: &str) -> String {
        let text = self.text(source);
        if self.kind == Kind::Eof {
            return "EOF".to_string();
        }
        if self.kind.is_keyword() {
            return format!("<{text}>");
        }
        let quote =
            |s: &str| String::from_utf8_lossy(&gocompat::strconv::quote(s.as_bytes())).into_owned();
        if text.len() > 10 {
            let cut = text.char_indices().nth(10).map_or(text.len(), |(at, _)| at);
            return format!("{}...", quote(&text[..cut]));
        }
        quote(text)
    }
}

/// The scanner. It never fails: a bad spot is an [`Kind::Error`] token, after which only end of
/// input follows.
pub(crate) struct Lexer<'t> {
    source: &'t str,
    left: &'t str,
    right: &'t str,
    at: usize,
    start: usize,
    /// The open parentheses of the action.
    parens: Vec<usize>,
    in_action: bool,
    /// Where the last action began.
    action: Option<usize>,
    /// Why there is nothing more to come.
    pub error: Option<String>,
}

const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

fn is_space(c: char) -> bool {
    SPACE.contains(&c)
}

fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        c == '_' || c.is_ascii_alphanumeric()
    } else {
        is_letter(c) || is_digit(c)
    }
}

/// The length of the quoted string that a text begins with, if it ends on its line.
fn quoted_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return None,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn left_trim_marker(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    bytes.len() >= 2 && bytes[0] == b'-' && is_space(bytes[1] as char)
}

fn right_trim_marker(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    bytes.len() >= 2 && is_space(bytes[0] as char) && bytes[1] == b'-'
}

impl<'t> Lexer<'t> {
    pub fn new(source: &'t str, left: &'t str, right: &'t str) -> Self {
        let left = if left.is_empty() { "{{" } else { left };
        let right = if right.is_empty() { "}}" } else { right };
        Lexer {
            source,
            left,
            right,
            at: 0,
            start: 0,
            parens: Vec::new(),
            in_action: false,
            action: None,
            error: None,
        }
    }

    /// The next token; [`Kind::Eof`] for ever after the last.
    pub fn next(&mut self) -> Token {
        if self.error.is_some() {
            return Token {
                kind: Kind::Eof,
                start: 0,
                end: 0,
            };
        }
        loop {
            let token = if self.in_action {
                self.inside_action()
            } else {
                self.text()
            };
            if let Some(token) = token {
                return token;
            }
        }
    }

    /// Where the action that holds the last token began.
    pub fn action(&self) -> Option<usize> {
        self.action
    }

    /// The innermost parenthesis that is open in it.
    pub fn open_paren(&self) -> Option<usize> {
        self.parens.last().copied()
    }

    /// What opens and closes actions.
    pub fn delimiters(&self) -> (&'t str, &'t str) {
        (self.left, self.right)
    }

    /// Whether an action that begins at `start` runs into the next one, or to the end, without
    /// being closed.
    pub fn runs_on(&self, start: usize) -> bool {
        let mut at = start + self.left.len();
        while let Some(rest) = self.source.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(self.right) {
                return false;
            }
            if rest.starts_with(self.left) {
                return true;
            }
            let string = match rest.as_bytes()[0] {
                b'"' => quoted_length(rest),
                b'`' => rest[1..].find('`').map(|end| end + 2),
                _ => None,
            };
            at += string.unwrap_or_else(|| rest.chars().next().map_or(1, char::len_utf8));
        }
        true
    }

    fn rest(&self) -> &'t str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        match self.source.as_bytes().get(self.at) {
            Some(byte) if byte.is_ascii() => Some(*byte as char),
            Some(_) => self.rest().chars().next(),
            None => None,
        }
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += next.map_or(0, char::len_utf8);
        next
    }

    fn emit(&mut self, kind: Kind) -> Option<Token> {
        let token = Token {
            kind,
            start: self.start,
            end: self.at,
        };
        self.start = self.at;
        Some(token)
    }

    fn fail(&mut self, message: String) -> Option<Token> {
        self.error = Some(message);
        Some(Token {
            kind: Kind::Error,
            start: self.start,
            end: self.start,
        })
    }

    fn text(&mut self) -> Option<Token> {
        let Some(offset) = self.rest().find(self.left) else {
            self.at = self.source.len();
            return self.emit(if self.at > self.start {
                Kind::Text
            } else {
                Kind::Eof
            });
        };
        let delimiter = self.at + offset;
        let mut end = delimiter;
        if left_trim_marker(&self.source[delimiter + self.left.len()..]) {
            end = self.start
                + self.source[self.start..delimiter]
                    .trim_end_matches(SPACE)
                    .len();
        }
        if end > self.start {
            self.at = end;
            let token = self.emit(Kind::Text);
            self.at = delimiter;
            self.start = delimiter;
            return token;
        }
        self.at = delimiter;
        self.start = delimiter;
        self.left_delimiter()
    }

    fn left_delimiter(&mut self) -> Option<Token> {
        self.at += self.left.len();
        let marker = if left_trim_marker(self.rest()) { 2 } else { 0 };
        if self.rest()[marker..].starts_with("/*") {
            self.at += marker;
            self.start = self.at;
            return self.comment();
        }
        self.action = Some(self.start);
        let token = self.emit(Kind::LeftDelim);
        self.in_action = true;
        self.at += marker;
        self.start = self.at;
        self.parens.clear();
        token
    }

    fn comment(&mut self) -> Option<Token> {
        let Some(end) = self.source[self.at + 2..].find("*/") else {
            return self.fail("unclosed comment".to_string());
        };
        self.at += end + 4;
        let Some(trim) = self.at_right_delimiter() else {
            return self.fail("comment ends before closing delimiter".to_string());
        };
        self.at += self.right.len() + if trim { 2 } else { 0 };
        if trim {
            self.skip_space();
        }
        self.start = self.at;
        None
    }

    fn skip_space(&mut self) {
        self.at = self.source.len() - self.rest().trim_start_matches(SPACE).len();
    }

    /// Whether a right delimiter follows, and if so whether it trims.
    fn at_right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if right_trim_marker(rest) && rest[2..].starts_with(self.right) {
            return Some(true);
        }
        rest.starts_with(self.right).then_some(false)
    }

    fn right_delimiter(&mut self) -> Option<Token> {
        let trim = self.at_right_delimiter() == Some(true);
        if trim {
            self.at += 2;
            self.start = self.at;
        }
        self.at += self.right.len();
        let token = self.emit(Kind::RightDelim);
        if trim {
            self.skip_space();
            self.start = self.at;
        }
        self.in_action = false;
        token
    }

    fn inside_action(&mut self) -> Option<Token> {
        if self.at_right_delimiter().is_some() {
            if self.parens.is_empty() {
                return self.right_delimiter();
            }
            return self.fail("unclosed left paren".to_string());
        }
        let Some(c) = self.bump() else {
            return self.fail("unclosed action".to_string());
        };
        match c {
            c if is_space(c) => {
                self.at -= 1;
                self.space()
            }
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.bump() != Some('=') {
                    return self.fail("expected :=".to_string());
                }
                self.emit(Kind::Declare)
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted('"', "unterminated quoted string", Kind::String),
            '`' => self.raw_string(),
            '$' => self.field_or_variable(Kind::Variable),
            '\'' => self.quoted('\'', "unterminated character constant", Kind::CharConstant),
            '.' if self
                .source
                .as_bytes()
                .get(self.at)
                .is_some_and(|next| !next.is_ascii_digit()) =>
            {
                self.field_or_variable(Kind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.at -= 1;
                self.number()
            }
            c if is_alphanumeric(c) => self.identifier(),
            '(' => {
                self.parens.push(self.start);
                self.emit(Kind::LeftParen)
            }
            ')' => {
                if self.parens.pop().is_none() {
                    return self.fail("unexpected right paren".to_string());
                }
                self.emit(Kind::RightParen)
            }
            ' '..='~' => self.emit(Kind::Char),
            c => self.fail(format!(
                "unrecognized character in action: {}",
                code_point(c)
            )),
        }
    }

    fn space(&mut self) -> Option<Token> {
        let mut count = 0;
        while self.peek().is_some_and(is_space) {
            self.at += 1;
            count += 1;
        }
        // A trim-marked delimiter begins with a space: leave that one to it.
        let last = &self.source[self.at - 1..];
        if right_trim_marker(last) && last[2..].starts_with(self.right) {
            self.at -= 1;
            if count == 1 {
                return self.right_delimiter();
            }
        }
        self.emit(Kind::Space)
    }

    fn identifier(&mut self) -> Option<Token> {
        while self.peek().is_some_and(is_alphanumeric) {
            self.bump();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        let word = &self.source[self.start..self.at];
        let kind = Kind::keyword(word).unwrap_or(match word {
            "true" | "false" => Kind::Bool,
            _ => Kind::Identifier,
        });
        self.emit(kind)
    }

    fn field_or_variable(&mut self, kind: Kind) -> Option<Token> {
        if self.at_terminator() {
            return self.emit(if kind == Kind::Variable {
                Kind::Variable
            } else {
                Kind::Dot
            });
        }
        while self.peek().is_some_and(is_alphanumeric) {
            self.bump();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    fn bad_character(&mut self) -> Option<Token> {
        let shown = self
            .peek()
            .map_or_else(|| "U+FFFFFFFFFFFFFFFF".to_string(), code_point);
        self.fail(format!("bad character {shown}"))
    }

    fn at_terminator(&self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(c) => is_space(c) || self.rest().starts_with(self.right),
        }
    }

    fn quoted(&mut self, quote: char, unterminated: &str, kind: Kind) -> Option<Token> {
        loop {
            match self.bump() {
                Some('\\') => match self.bump() {
                    None | Some('\n') => return self.fail(unterminated.to_string()),
                    Some(_) => {}
                },
                None | Some('\n') => return self.fail(unterminated.to_string()),
                Some(c) if c == quote => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_string(&mut self) -> Option<Token> {
        match self.rest().find('`') {
            Some(offset) => {
                self.at += offset + 1;
                self.emit(Kind::RawString)
            }
            None => self.fail("unterminated raw quoted string".to_string()),
        }
    }

    fn number(&mut self) -> Option<Token> {
        let complete = self.scan_number();
        if complete && !matches!(self.peek(), Some('+' | '-')) {
            return self.emit(Kind::Number);
        }
        if complete && self.scan_number() && self.source.as_bytes()[self.at - 1] == b'i' {
            return self.emit(Kind::Complex);
        }
        let shown = gocompat::strconv::quote(&self.source.as_bytes()[self.start..self.at]);
        self.fail(format!(
            "bad number syntax: {}",
            String::from_utf8_lossy(&shown)
        ))
    }

    fn accept(&mut self, set: &str) -> bool {
        let accepted = self.peek().is_some_and(|c| set.contains(c));
        if accepted {
            self.at += 1;
        }
        accepted
    }

    fn accept_run(&mut self, set: &str) {
        while self.accept(set) {}
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        const HEX: &str = "0123456789abcdefABCDEF_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = HEX;
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if (digits == DECIMAL && self.accept("eE")) || (digits == HEX && self.accept("pP")) {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.bump();
            return false;
        }
        true
    }
}

/// A character as Go's `%#U` shows it.
fn code_point(c: char) -> String {
    let code = c as u32;
    if gocompat::unicode::is_print(c) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}
