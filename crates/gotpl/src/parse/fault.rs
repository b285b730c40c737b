//! How a parse fails: in Go's words and on Go's line in them, and beside that at the place of the
//! cause.

use super::{NOWHERE, Parsed, Parser};
use crate::error::{Error, Place, Unclosed};
use crate::lex::{Kind, Token};
use crate::trace::line_column;

impl Parser<'_, '_> {
    fn line_of(&self, token: &Token) -> usize {
        // An empty token buffer means nothing was read for this tree yet: Go then says line 0.
        if token.start == NOWHERE {
            return 0;
        }
        1 + self.shared.source.as_bytes()[..token.start]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
    }

    /// Fails at the token read last.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Parsed<T> {
        self.fail_at(self.at, message)
    }

    pub(super) fn fail_at<T>(&self, offset: usize, message: impl Into<String>) -> Parsed<T> {
        // An action without an end takes the text behind it for its own words: not those are to
        // blame.
        let lexer = &self.shared.lexer;
        let runs_on = lexer
            .action()
            .filter(|action| *action <= offset && lexer.runs_on(*action));
        let (left, right) = lexer.delimiters();
        let unclosed = runs_on.map(|action| self.unclosed(left, right.to_string(), action));
        self.fail_over(unclosed, offset, message)
    }

    /// Fails in Go's words, and on Go's line in them; the place is that of what is not closed, or
    /// else `offset`.
    pub(super) fn fail_over<T>(
        &self,
        unclosed: Option<Unclosed>,
        offset: usize,
        message: impl Into<String>,
    ) -> Parsed<T> {
        let place = unclosed
            .as_ref()
            .map_or_else(|| self.place(offset), |unclosed| unclosed.place.clone());
        Err(Error::parse(
            self.line_of(&self.ahead[0]),
            message.into(),
            place,
            unclosed,
        ))
    }

    fn place(&self, offset: usize) -> Place {
        let (line, column) = line_column(&self.shared.source, offset);
        Place {
            source: self.shared.source_name.to_string(),
            line,
            column: Some(column),
        }
    }

    fn unclosed(&self, opener: &str, closer: String, offset: usize) -> Unclosed {
        Unclosed {
            opener: opener.to_string(),
            closer,
            place: self.place(offset),
        }
    }

    /// What the innermost block still lacks.
    pub(super) fn unended(&self) -> Option<Unclosed> {
        let (left, right) = self.shared.lexer.delimiters();
        let (word, offset) = self.shared.open.last()?;
        Some(self.unclosed(word, format!("{left} end {right}"), *offset))
    }

    pub(super) fn unexpected<T>(&self, token: &Token, context: &str) -> Parsed<T> {
        let offset = if token.kind == Kind::Eof {
            self.shared.source.len()
        } else {
            token.start
        };
        let Some(shown) = self
            .shared
            .lexer
            .error
            .as_ref()
            .filter(|_| token.kind == Kind::Error)
        else {
            return self.fail_at(
                offset,
                format!(
                    "unexpected {} in {context}",
                    token.describe(&self.shared.source)
                ),
            );
        };
        let mut extra = String::new();
        let action_line = self.action.map_or(0, |action| self.line_of(&action));
        if action_line != 0 && action_line != self.line_of(token) {
            let word = if shown.ends_with(" action") {
                ""
            } else {
                " in action"
            };
            extra = format!(
                "{word} started at {}:{action_line}",
                self.shared.source_name
            );
        }
        let message = format!("{shown}{extra}");
        match (shown.as_str(), self.shared.lexer.open_paren()) {
            ("unclosed comment", _) => self.fail_over(
                Some(self.unclosed("/*", "*/".to_string(), offset)),
                offset,
                message,
            ),
            ("unclosed left paren", Some(paren)) => self.fail_over(
                Some(self.unclosed("(", ")".to_string(), paren)),
                offset,
                message,
            ),
            _ => self.fail_at(offset, message),
        }
    }

    /// Fails at the `end` or `else` that was just read.
    pub(super) fn misplaced<T>(&self, message: &str) -> Parsed<T> {
        self.fail_at(self.shared.lexer.action().unwrap_or(self.at), message)
    }
}
