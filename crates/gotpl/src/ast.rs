//! The parse tree, and how each node prints in an error message.

use std::fmt::{self, Write};

use crate::func::Func;
use crate::number::Number;

/// One template: the body of a source, or of a `define` or `block` in it.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The name it is called by.
    pub name: String,
    /// The name of the source it stands in.
    pub source_name: std::sync::Arc<str>,
    /// The whole source; positions count bytes of it.
    pub source: std::sync::Arc<str>,
    /// Whether the source is one of the set's, and not a text that was given to `tpl`.
    pub in_file: bool,
    pub root: List,
}

pub(crate) type List = Vec<Node>;

#[derive(Debug)]
pub(crate) enum Node {
    Text(Text),
    Action(Action),
    Branch(Box<Branch>),
    Template(Box<Template>),
    Break(usize),
    Continue(usize),
}

#[derive(Debug)]
pub(crate) struct Text {
    pub start: usize,
    pub end: usize,
    /// The source it is a part of.
    pub source: std::sync::Arc<str>,
}

impl Text {
    pub fn as_str(&self) -> &str {
        self.source.get(self.start..self.end).unwrap_or_default()
    }
}

#[derive(Debug)]
pub(crate) struct Action {
    pub at: usize,
    pub pipe: Pipe,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchKind {
    If,
    Range,
    With,
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub kind: BranchKind,
    pub at: usize,
    pub pipe: Pipe,
    pub list: List,
    pub otherwise: Option<List>,
}

#[derive(Debug)]
pub(crate) struct Template {
    pub at: usize,
    pub name: String,
    pub pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub at: usize,
    pub assign: bool,
    pub declared: Vec<Variable>,
    pub commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) struct Variable {
    pub at: usize,
    /// With its dollar sign.
    pub name: Box<str>,
    pub fields: Box<[Box<str>]>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub at: usize,
    pub words: Vec<Expr>,
}

#[derive(Debug)]
pub(crate) enum Expr {
    Dot(usize),
    Nil(usize),
    Bool(usize, bool),
    Number(usize, Box<Number>),
    Text(Box<Literal>),
    Field(usize, Box<[Box<str>]>),
    Variable(Box<Variable>),
    Function(usize, &'static Func),
    Chain(Box<Chain>),
    Pipe(Box<Pipe>),
}

#[derive(Debug)]
pub(crate) struct Literal {
    pub at: usize,
    pub quoted: Box<str>,
    pub bytes: Box<[u8]>,
}

#[derive(Debug)]
pub(crate) struct Chain {
    pub at: usize,
    pub inner: Expr,
    pub fields: Box<[Box<str>]>,
}

impl Expr {
    pub fn at(&self) -> usize {
        match self {
            Expr::Dot(at)
            | Expr::Nil(at)
            | Expr::Bool(at, _)
            | Expr::Number(at, _)
            | Expr::Field(at, _)
            | Expr::Function(at, _) => *at,
            Expr::Text(literal) => literal.at,
            Expr::Variable(variable) => variable.at,
            Expr::Chain(chain) => chain.at,
            Expr::Pipe(pipe) => pipe.at,
        }
    }
}

impl Node {
    pub fn at(&self) -> usize {
        match self {
            Node::Text(text) => text.start,
            Node::Action(action) => action.at,
            Node::Branch(branch) => branch.at,
            Node::Template(template) => template.at,
            Node::Break(at) | Node::Continue(at) => *at,
        }
    }
}

/// Whether a body holds nothing but white space: such a definition never replaces another.
pub(crate) fn is_empty(tree: &Tree) -> bool {
    tree.root.iter().all(|node| match node {
        Node::Text(text) => text.as_str().chars().all(gocompat::unicode::is_space),
        _ => false,
    })
}

fn write_fields(f: &mut fmt::Formatter<'_>, fields: &[Box<str>]) -> fmt::Result {
    for field in fields {
        f.write_char('.')?;
        f.write_str(field)?;
    }
    Ok(())
}

fn write_list(f: &mut fmt::Formatter<'_>, list: &[Node]) -> fmt::Result {
    list.iter().try_for_each(|node| write!(f, "{node}"))
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Text(text) => f.write_str(text.as_str()),
            Node::Action(action) => write!(f, "{{{{{}}}}}", action.pipe),
            Node::Branch(branch) => write!(f, "{branch}"),
            Node::Template(template) => write!(f, "{template}"),
            Node::Break(_) => f.write_str("{{break}}"),
            Node::Continue(_) => f.write_str("{{continue}}"),
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.kind {
            BranchKind::If => "if",
            BranchKind::Range => "range",
            BranchKind::With => "with",
        };
        write!(f, "{{{{{word} {}}}}}", self.pipe)?;
        write_list(f, &self.list)?;
        if let Some(otherwise) = &self.otherwise {
            f.write_str("{{else}}")?;
            write_list(f, otherwise)?;
        }
        f.write_str("{{end}}")
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = gocompat::strconv::quote(self.name.as_bytes());
        write!(f, "{{{{template {}", String::from_utf8_lossy(&quoted))?;
        if let Some(pipe) = &self.pipe {
            write!(f, " {pipe}")?;
        }
        f.write_str("}}")
    }
}

impl fmt::Display for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, variable) in self.declared.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{variable}")?;
        }
        if !self.declared.is_empty() {
            f.write_str(if self.assign { " = " } else { " := " })?;
        }
        for (index, command) in self.commands.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            write!(f, "{command}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        write_fields(f, &self.fields)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            match word {
                Expr::Pipe(pipe) => write!(f, "({pipe})")?,
                word => write!(f, "{word}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Dot(_) => f.write_char('.'),
            Expr::Nil(_) => f.write_str("nil"),
            Expr::Bool(_, value) => write!(f, "{value}"),
            Expr::Number(_, number) => f.write_str(&number.text),
            Expr::Text(literal) => f.write_str(&literal.quoted),
            Expr::Field(_, fields) => write_fields(f, fields),
            Expr::Variable(variable) => write!(f, "{variable}"),
            Expr::Function(_, function) => f.write_str(function.name),
            Expr::Chain(chain) => {
                match &chain.inner {
                    Expr::Pipe(pipe) => write!(f, "({pipe})")?,
                    inner => write!(f, "{inner}")?,
                }
                write_fields(f, &chain.fields)
            }
            Expr::Pipe(pipe) => write!(f, "{pipe}"),
        }
    }
}
