//! One template being executed: its variables, where it stands, and how it fails.

use crate::ast::{Branch, Command, Expr, Node, Pipe, Template, Tree};
use crate::error::{Error, ErrorKind, Place};
use crate::exec::{Cx, Scope};
use crate::func::Fault;
use crate::trace::{Piece, Spot, UseKind, line_column};
use crate::value::Value;

/// The output of a template.
#[derive(Default)]
pub(crate) struct Sink<'a> {
    pub bytes: Vec<u8>,
    /// In a watched run, what made each stretch of it.
    pub pieces: Vec<Piece<'a>>,
    /// Whether it is the text of a template that is run for it.
    pub nested: bool,
}

/// The node an error is blamed on. Go keeps the one it looked at last, and so do we.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    Node(&'a Node),
    Branch(&'a Branch),
    Template(&'a Template),
    Pipe(&'a Pipe),
    Command(&'a Command),
    Expr(&'a Expr),
}

impl At<'_> {
    pub fn offset(&self) -> usize {
        match self {
            At::Node(node) => node.at(),
            At::Branch(branch) => branch.at,
            At::Template(template) => template.at,
            At::Pipe(pipe) => pipe.at,
            At::Command(command) => command.at,
            At::Expr(expr) => expr.at(),
        }
    }

    fn shown(&self) -> String {
        match self {
            At::Node(node) => node.to_string(),
            At::Branch(branch) => branch.to_string(),
            At::Template(template) => template.to_string(),
            At::Pipe(pipe) => pipe.to_string(),
            At::Command(command) => command.to_string(),
            At::Expr(expr) => expr.to_string(),
        }
    }
}

pub(crate) type Done<T> = Result<T, Box<Error>>;

pub(crate) struct Frame<'r, 'a> {
    pub cx: &'r Cx<'a>,
    pub scope: &'a Scope<'a>,
    pub tree: &'a Tree,
    pub variables: Vec<(&'a str, Value<'a>)>,
    pub depth: usize,
    pub at: Option<At<'a>>,
    /// In a watched run: the `tpl` call whose text is being run. It stands for every spot of a text
    /// that is no file.
    pub origin: Option<Spot<'a>>,
    /// Variables assigned since an unknown branch began, by position; see `walk`.
    pub assigned: Vec<usize>,
}

impl<'r, 'a> Frame<'r, 'a> {
    pub fn new(
        cx: &'r Cx<'a>,
        scope: &'a Scope<'a>,
        tree: &'a Tree,
        dot: Value<'a>,
        depth: usize,
    ) -> Self {
        Frame {
            cx,
            scope,
            tree,
            variables: vec![("$", dot)],
            depth,
            at: None,
            origin: None,
            assigned: Vec::new(),
        }
    }

    pub fn run(&mut self, dot: &Value<'a>, sink: &mut Sink<'a>) -> Done<()> {
        let tree = self.tree;
        self.list(dot, &tree.root, sink).map(|_| ())
    }

    pub fn set_at(&mut self, at: At<'a>) {
        self.at = Some(at);
        if self.cx.watched() {
            self.cx.set_spot(self.spot_of(at));
        }
    }

    pub fn spot(&self) -> Spot<'a> {
        let start = Spot {
            tree: self.tree,
            offset: 0,
        };
        self.at.map_or(start, |at| self.spot_of(at))
    }

    /// Where a node stands, for those who look at files.
    pub fn spot_of(&self, at: At<'a>) -> Spot<'a> {
        let own = Spot {
            tree: self.tree,
            offset: at.offset(),
        };
        if self.tree.in_file {
            own
        } else {
            self.origin.unwrap_or(own)
        }
    }

    pub fn fail<T>(&self, fault: impl Into<Fault>) -> Done<T> {
        Err(self.error(fault.into()))
    }

    pub fn error(&self, fault: Fault) -> Box<Error> {
        // Its text shows the node, and its place is counted from the start. A guessing run may have
        // many.
        self.cx.add_work(2 * self.tree.source.len() as u64);
        let offset = self.at.map_or(0, |at| at.offset());
        let shown = self.at.map(|at| at.shown()).unwrap_or_default();
        let (line, column) = line_column(&self.tree.source, offset);
        let place = Place {
            source: self.tree.source_name.to_string(),
            line,
            column: Some(column),
        };
        Error::execute(
            ErrorKind::Execute,
            place,
            self.tree.in_file,
            &self.tree.name,
            &shown,
            fault,
        )
    }

    /// In a watched run: notes what a failure is about.
    pub fn fails_over(&self, value: &Value<'a>) {
        if let Some(mut tracer) = self.cx.tracer() {
            tracer.note(UseKind::Failure, self.spot(), None, value.mark);
        }
    }

    #[inline]
    pub fn step(&self) -> Done<()> {
        self.cx.step().map_err(|fault| self.error(fault))
    }

    #[inline]
    pub fn work(&self, units: u64) -> Done<()> {
        self.cx.work(units).map_err(|fault| self.error(fault))
    }

    pub fn variable(&self, name: &str) -> Option<&Value<'a>> {
        let mut found = self
            .variables
            .iter()
            .rev()
            .enumerate()
            .filter(|(_, (known, _))| *known == name);
        let (distance, (_, value)) = found.next()?;
        self.cx.add_work(distance as u64);
        Some(value)
    }

    pub fn assign(&mut self, name: &str, value: Value<'a>) -> Done<()> {
        match self.variables.iter().rposition(|(known, _)| *known == name) {
            Some(index) => {
                self.cx.add_work((self.variables.len() - index) as u64);
                self.variables[index].1 = value;
                if self.cx.watched() {
                    self.assigned.push(index);
                }
                Ok(())
            }
            None => self.fail(format!("undefined variable: {name}")),
        }
    }
}
