//! One document as a flat list of nodes in the order they are written; what the nodes mean is
//! decided elsewhere.

use std::borrow::Cow;

use crate::error::Mark;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A value written out. Plain ones may turn out to be a number, a boolean or nothing.
    Scalar { plain: bool },
    /// Items follow, up to [`Node::next`].
    Sequence,
    /// Keys and values follow in turn, up to [`Node::next`].
    Mapping,
    /// A repetition of the node at this place in the list.
    Alias(u32),
}

/// One node.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub shape: Shape,
    /// One more than the place of the node's tag in [`Tree::tags`]; zero without one.
    pub tag: u32,
    /// Where the node begins, its anchor and tag included.
    pub mark: Mark,
    /// The bytes of the node itself, without anchor and tag.
    pub start: u32,
    pub end: u32,
    /// The place of the first node that is neither this one nor inside it.
    pub next: u32,
    /// A scalar's text or an alias' name.
    pub value: Cow<'a, str>,
}

/// One document.
#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    pub nodes: Vec<Node<'a>>,
    pub tags: Vec<String>,
}

impl Tree<'_> {
    /// The node's tag, empty without one. Collections' tags mean nothing to go-yaml and are not
    /// kept.
    pub(crate) fn tag(&self, node: &Node<'_>) -> &str {
        match node.tag {
            0 => "",
            n => self.tags.get(n as usize - 1).map_or("", String::as_str),
        }
    }
}
