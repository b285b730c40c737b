//! Tokens: what the scanner cuts the text into and the parser puts together.

use std::borrow::Cow;

use crate::error::Mark;

/// The kinds of token of YAML 1.1, without the start of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    StreamEnd,
    VersionDirective,
    TagDirective,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias,
    Anchor,
    Tag,
    PlainScalar,
    QuotedScalar,
}

/// One token with its place.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub start: Mark,
    /// The byte position after the token.
    pub end: u32,
    /// The scalar's value, the anchor's name or the tag's handle.
    pub value: Cow<'a, str>,
    /// The tag's suffix or the prefix a directive gives to a handle.
    pub suffix: Option<Box<str>>,
    /// The version of a `%YAML` directive.
    pub version: (u8, u8),
}

impl Token<'_> {
    /// A token that is nothing but its kind.
    pub(crate) fn mere(kind: Kind, start: Mark, end: u32) -> Self {
        Self {
            kind,
            start,
            end,
            value: Cow::Borrowed(""),
            suffix: None,
            version: (0, 0),
        }
    }
}
