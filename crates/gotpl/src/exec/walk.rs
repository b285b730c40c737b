//! Walking the nodes of a template: text, actions, branches, loops and calls of other templates.

use crate::ast::{Branch, BranchKind, Node, Pipe, Template, Tree};
use crate::error::{Error, ErrorKind};
use crate::exec::frame::{At, Done, Frame, Sink};
use crate::exec::{MORE_STACK, RED_ZONE, Scope};
use crate::func::Fault;
use crate::set::Watch;
use crate::trace::{Presence, Step, UseKind};
use crate::value::{Kind, Value, Width};
use gocompat::strconv::quote;

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    On,
    Break,
    Continue,
}

/// How often a template may stand on the stack below an unknown condition, which would never end a
/// recursion.
const GUESSED_TURNS: usize = 2;

impl<'a> Frame<'_, 'a> {
    pub fn list(&mut self, dot: &Value<'a>, list: &'a [Node], sink: &mut Sink<'a>) -> Done<Way> {
        for node in list {
            let variables = self.variables.len();
            match self.node(dot, node, sink) {
                Ok(Way::On) => {}
                Ok(way) => return Ok(way),
                Err(error) => {
                    // A guessing run wants to see all of a template, and only notes what fails on
                    // the way.
                    self.tolerate(error, node, sink)?;
                    self.variables.truncate(variables);
                    self.declare_unknown(node);
                }
            }
        }
        Ok(Way::On)
    }

    fn node(&mut self, dot: &Value<'a>, node: &'a Node, sink: &mut Sink<'a>) -> Done<Way> {
        self.set_at(At::Node(node));
        self.step()?;
        match node {
            Node::Text(text) => {
                let text = text.as_str().as_bytes();
                self.cx
                    .charge(text.len())
                    .map_err(|fault| self.error(fault))?;
                sink.bytes.extend_from_slice(text);
                self.piece(sink, text.len(), 0);
            }
            Node::Action(action) => {
                let value = self.pipeline(dot, &action.pipe)?;
                if action.pipe.declared.is_empty() {
                    self.set_at(At::Node(node));
                    self.print(&value, sink)?;
                }
            }
            Node::Branch(branch) => {
                return stacker::maybe_grow(RED_ZONE, MORE_STACK, || match branch.kind {
                    BranchKind::Range => self.range(dot, branch, sink),
                    _ => self.branch(dot, branch, sink),
                });
            }
            Node::Template(template) => self.template(dot, template, sink)?,
            Node::Break(_) => return Ok(Way::Break),
            Node::Continue(_) => return Ok(Way::Continue),
        }
        Ok(Way::On)
    }

    /// Notes what made the last `len` bytes of the output.
    fn piece(&self, sink: &mut Sink<'a>, len: usize, mark: u32) {
        let Some(mut tracer) = self.cx.tracer() else {
            return;
        };
        let (spot, under) = (self.spot(), tracer.under());
        for mut piece in tracer.pieces(mark, len, spot) {
            piece.under = tracer.join(piece.under, under);
            tracer.tell(&piece);
            sink.pieces.push(piece);
        }
    }

    fn print(&mut self, value: &Value<'a>, sink: &mut Sink<'a>) -> Done<()> {
        let before = sink.bytes.len();
        self.cx.swap_nils(0);
        match &value.kind {
            Kind::Text(text) => sink.bytes.extend_from_slice(text),
            Kind::Missing => sink
                .bytes
                .extend_from_slice(self.cx.run.no_value.as_bytes()),
            Kind::Unknown => sink.bytes.extend_from_slice(crate::fmt::UNKNOWN.as_bytes()),
            _ => crate::fmt::print(self.cx, value, &mut sink.bytes)
                .map_err(|fault| self.error(fault))?,
        }
        let len = sink.bytes.len() - before;
        self.cx.charge(len).map_err(|fault| self.error(fault))?;
        if value.mark != 0 && !self.cx.watched() {
            self.look_closer(value, sink, before);
        }
        if self.cx.watched() {
            let mut mark = if matches!(value.kind, Kind::Text(_)) {
                value.mark
            } else {
                self.cx.deep_mark(value)
            };
            let printed = self.cx.swap_nils(0);
            if printed != 0
                && let Some(mut tracer) = self.cx.tracer()
            {
                let nil = tracer.nil(printed, self.spot(), None);
                mark = tracer.join(mark, nil);
            }
            self.piece(sink, len, mark);
            if let Some(mut tracer) = self.cx.tracer() {
                tracer.keep_secret(&sink.bytes[before..], mark, self.spot());
                tracer.note(UseKind::Text, self.spot(), None, mark);
            }
        }
        Ok(())
    }

    /// In an unwatched run: whether what was printed from data could be more than one scalar.
    fn look_closer(&self, value: &Value<'a>, sink: &Sink<'a>, from: usize) {
        match &value.kind {
            Kind::Text(_) => {
                let (before, printed) = sink.bytes.split_at(from);
                self.cx.check(value.mark, printed, before, sink.nested);
            }
            Kind::List(_) | Kind::Map(_) | Kind::Object(_) => self.cx.prints_structure(),
            _ => {}
        }
    }

    fn branch(&mut self, dot: &Value<'a>, branch: &'a Branch, sink: &mut Sink<'a>) -> Done<Way> {
        let mark = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        let inner = if branch.kind == BranchKind::With {
            value.clone()
        } else {
            dot.clone()
        };
        let condition = self.condition(&value);
        let way = if self.undecided(&value) {
            self.both(condition, sink, |frame, sink, side| {
                match (side, &branch.otherwise) {
                    (true, _) => frame.list(&inner, &branch.list, sink),
                    (false, Some(otherwise)) => frame.list(dot, otherwise, sink),
                    (false, None) => Ok(Way::On),
                }
            })?
        } else if crate::fmt::truth(self.cx, &value) {
            self.under(condition, |frame| frame.list(&inner, &branch.list, sink))?
        } else if let Some(otherwise) = &branch.otherwise {
            self.under(condition, |frame| frame.list(dot, otherwise, sink))?
        } else {
            Way::On
        };
        self.variables.truncate(mark);
        Ok(way)
    }

    /// Notes that a value decides a branch, and answers its mark.
    fn condition(&mut self, value: &Value<'a>) -> u32 {
        if !self.cx.watched() {
            return 0;
        }
        let mark = value.mark;
        if let Some(mut tracer) = self.cx.tracer() {
            tracer.note(UseKind::Branch, self.spot(), None, mark);
            return tracer.flat(mark);
        }
        0
    }

    /// Whether the truth of a value is not known.
    fn undecided(&self, value: &Value<'a>) -> bool {
        match value.kind {
            Kind::Unknown => true,
            // A list or dict that is there is as long as it is, whatever is unknown inside it.
            Kind::List(_) | Kind::Map(_) => false,
            _ => {
                value.mark != 0
                    && self
                        .cx
                        .tracer()
                        .is_some_and(|tracer| tracer.holds(value.mark, Presence::Unknown))
            }
        }
    }

    fn under<T>(&mut self, condition: u32, walk: impl FnOnce(&mut Self) -> Done<T>) -> Done<T> {
        if condition == 0 {
            return walk(self);
        }
        if let Some(mut tracer) = self.cx.tracer() {
            tracer.enter(condition);
        }
        let result = walk(self);
        if let Some(mut tracer) = self.cx.tracer() {
            tracer.leave();
        }
        result
    }

    /// Takes both sides of a branch nobody can decide, or the one that is assumed. Failures are
    /// only possible, and what either side assigns is unknown.
    fn both(
        &mut self,
        condition: u32,
        sink: &mut Sink<'a>,
        mut side: impl FnMut(&mut Self, &mut Sink<'a>, bool) -> Done<Way>,
    ) -> Done<Way> {
        let scope = self.variables.len();
        let outer = std::mem::take(&mut self.assigned);
        let saved: Vec<_> = self.variables.clone();
        self.cx.add_work(20 * saved.len() as u64);
        let sides: &[bool] = match &self.cx.run.watch {
            Watch::Assuming(_, true) => &[true],
            Watch::Assuming(_, false) => &[false],
            _ => &[true, false],
        };
        for taken in sides.iter().copied() {
            self.under(condition, |frame| side(frame, sink, taken))?;
            self.variables.truncate(scope);
            let assigned = std::mem::take(&mut self.assigned);
            for index in assigned.iter().copied().filter(|index| *index < scope) {
                let mark = self.cx.deep_mark(&self.variables[index].1);
                self.variables[index].1 = saved[index].1.clone();
                if let Some(mut tracer) = self.cx.tracer() {
                    let mark = tracer.join(mark, condition);
                    self.variables[index].1 = Value::of(Kind::Unknown).marked(mark);
                }
                self.assigned.push(index);
            }
        }
        let mine = std::mem::replace(&mut self.assigned, outer);
        self.assigned.extend(mine);
        Ok(Way::On)
    }

    /// Notes a failure and goes on, if this run guesses, or if it forgives and something missing is
    /// to blame.
    fn tolerate(&mut self, error: Box<Error>, node: &'a Node, sink: &mut Sink<'a>) -> Done<()> {
        let Some(mut tracer) = self.cx.tracer() else {
            return Err(error);
        };
        let blamed = tracer.last_failure();
        let forgiven = self.cx.run.forgiving && tracer.holds(blamed, Presence::Missing);
        if error.kind() == ErrorKind::Limit || !(forgiven || tracer.guesses()) {
            return Err(error);
        }
        tracer.fail(*error);
        drop(tracer);
        self.set_at(At::Node(node));
        if forgiven {
            self.piece(sink, 0, blamed);
        }
        Ok(())
    }

    /// The variables of an action that failed are there, with nothing known of them.
    fn declare_unknown(&mut self, node: &'a Node) {
        if let Node::Action(action) = node
            && !action.pipe.assign
        {
            for variable in &action.pipe.declared {
                self.variables
                    .push((&variable.name, Value::of(Kind::Unknown)));
            }
        }
    }

    fn range(&mut self, dot: &Value<'a>, branch: &'a Branch, sink: &mut Sink<'a>) -> Done<Way> {
        self.set_at(At::Branch(branch));
        let mark = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        let condition = self.condition(&value);
        let ran = match &value.kind {
            Kind::Unknown => {
                let element = self.cx.beyond(&value, Step::Any);
                let key = Value::of(Kind::Unknown).marked(element.mark);
                self.both(condition, sink, |frame, sink, side| {
                    match (side, &branch.otherwise) {
                        (true, _) => frame.turn(branch, &key, &element, sink).map(|_| Way::On),
                        (false, Some(otherwise)) => frame.list(dot, otherwise, sink),
                        (false, None) => Ok(Way::On),
                    }
                })?;
                self.variables.truncate(mark);
                return Ok(Way::On);
            }
            Kind::Int(count, width) => {
                if branch.pipe.declared.len() > 1 {
                    let shown =
                        crate::fmt::display(self.cx, &value).map_err(|fault| self.error(fault))?;
                    return self.fail(format!(
                        "can't use {shown} to iterate over more than one variable"
                    ));
                }
                self.under(condition, |frame| frame.count(branch, *count, *width, sink))?
            }
            Kind::List(list) => self.under(condition, |frame| {
                let spot = frame.spot();
                for index in 0..list.len() {
                    if frame.cx.watched() {
                        frame.cx.set_spot(spot);
                    }
                    let Some(mut element) = frame.cx.item(list, index) else {
                        break;
                    };
                    element.mark = frame.inherited(element.mark, value.mark);
                    if frame.turn(branch, &Value::int(index as i64), &element, sink)? == Way::Break
                    {
                        break;
                    }
                }
                Ok(list.len() > 0)
            })?,
            Kind::Map(map) => self.under(condition, |frame| {
                frame.work(20 * frame.cx.size(map) as u64)?;
                let entries = frame.cx.entries(map);
                let ran = !entries.is_empty();
                let mark = frame.cx.key_mark(map, value.mark);
                for (key, mut element) in entries {
                    element.mark = frame.inherited(element.mark, value.mark);
                    let mut name = Value::of(Kind::Text(key)).marked(mark);
                    if frame.cx.is_placeholder(&name, &element) {
                        name = frame.cx.derived(&[&element]);
                    }
                    if frame.turn(branch, &name, &element, sink)? == Way::Break {
                        break;
                    }
                }
                Ok(ran)
            })?,
            Kind::Missing | Kind::Nil => false,
            _ => {
                let shown =
                    crate::fmt::display(self.cx, &value).map_err(|fault| self.error(fault))?;
                self.fails_over(&value);
                return self.fail(format!("range can't iterate over {shown}"));
            }
        };
        let mut way = Way::On;
        if !ran && let Some(otherwise) = &branch.otherwise {
            way = self.under(condition, |frame| frame.list(dot, otherwise, sink))?;
        }
        self.variables.truncate(mark);
        Ok(way)
    }

    /// In an unwatched run: the mark of what is in a list or dict, which is at least that of the
    /// whole.
    fn inherited(&self, mark: u32, whole: u32) -> u32 {
        if mark == 0 && !self.cx.watched() {
            whole
        } else {
            mark
        }
    }

    fn count(
        &mut self,
        branch: &'a Branch,
        count: i64,
        width: Width,
        sink: &mut Sink<'a>,
    ) -> Done<bool> {
        let end = if width.unsigned() {
            count.cast_unsigned()
        } else {
            u64::try_from(count).unwrap_or(0)
        };
        for turn in 0..end {
            let element = Value::of(Kind::Int(turn.cast_signed(), width));
            if self.turn(branch, &Value::MISSING, &element, sink)? == Way::Break {
                break;
            }
        }
        Ok(end > 0)
    }

    /// One turn of a loop.
    fn turn(
        &mut self,
        branch: &'a Branch,
        key: &Value<'a>,
        element: &Value<'a>,
        sink: &mut Sink<'a>,
    ) -> Done<Way> {
        self.step()?;
        let Pipe {
            declared, assign, ..
        } = &branch.pipe;
        let values: &[&Value<'a>] = match declared.len() {
            0 => &[],
            1 => &[element],
            _ => &[key, element],
        };
        let top = self.variables.len();
        for (offset, (variable, value)) in declared.iter().zip(values).enumerate() {
            if *assign {
                self.assign(&variable.name, (*value).clone())?;
            } else if let Some(slot) = (top + offset)
                .checked_sub(declared.len())
                .and_then(|at| self.variables.get_mut(at))
            {
                slot.1 = (*value).clone();
            }
        }
        let way = self.list(element, &branch.list, sink)?;
        self.variables.truncate(top);
        Ok(way)
    }

    fn template(
        &mut self,
        dot: &Value<'a>,
        template: &'a Template,
        sink: &mut Sink<'a>,
    ) -> Done<()> {
        self.set_at(At::Template(template));
        let Some(tree) = self.scope.find(&template.name) else {
            let quoted = quote(template.name.as_bytes());
            return self.fail(format!(
                "template {} not defined",
                String::from_utf8_lossy(&quoted)
            ));
        };
        let limit = self.cx.limits().depth;
        if self.depth >= limit {
            return self.fail(Fault::limit(format!(
                "exceeded maximum template depth ({limit})"
            )));
        }
        let argument = match &template.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Value::MISSING,
        };
        self.enter(self.scope, tree, &argument, sink)
    }

    /// Runs a template that this one calls.
    fn enter(
        &mut self,
        scope: &'a Scope<'a>,
        tree: &'a Tree,
        dot: &Value<'a>,
        sink: &mut Sink<'a>,
    ) -> Done<()> {
        let origin = if self.tree.in_file && !tree.in_file {
            self.cx.spot().or(self.origin)
        } else {
            self.origin
        };
        if self.cx.watched() && self.guessed_enough(tree) {
            return Ok(());
        }
        self.cx.active.borrow_mut().push(tree);
        let mut frame = Frame {
            origin,
            ..Frame::new(self.cx, scope, tree, dot.clone(), self.depth + 1)
        };
        let result = stacker::maybe_grow(RED_ZONE, MORE_STACK, || frame.run(dot, sink));
        self.cx.active.borrow_mut().pop();
        if self.cx.watched() {
            self.cx.set_spot(self.spot());
        }
        result
    }

    /// Whether an unknown condition has led into the same template often enough: nothing below
    /// would ever say stop.
    fn guessed_enough(&self, tree: &'a Tree) -> bool {
        self.cx.tracer().is_some_and(|tracer| tracer.in_doubt())
            && self
                .cx
                .active
                .borrow()
                .iter()
                .filter(|active| std::ptr::eq(**active, tree))
                .count()
                >= GUESSED_TURNS
    }

    /// Runs a template into a text of its own, for `include` and `tpl`.
    pub fn capture(
        &mut self,
        scope: &'a Scope<'a>,
        name: &str,
        dot: &Value<'a>,
    ) -> Result<Value<'a>, Fault> {
        let Some(tree) = scope.find(name) else {
            let quoted = |text: &str| String::from_utf8_lossy(&quote(text.as_bytes())).into_owned();
            // Go names the template that the look-up started from; for Helm that is always its
            // root, named "gotpl".
            return Err(Fault::new(format!(
                "template: no template {} associated with template {}",
                quoted(name),
                quoted("gotpl")
            )));
        };
        let limit = self.cx.limits().depth;
        if self.depth >= limit {
            return Err(Fault::limit(format!(
                "exceeded maximum template depth ({limit})"
            )));
        }
        let mut sink = Sink {
            nested: true,
            ..Sink::default()
        };
        self.enter(scope, tree, dot, &mut sink)
            .map_err(Fault::nested)?;
        let mark = match self.cx.tracer() {
            Some(mut tracer) => tracer.weave(sink.pieces),
            None => 0,
        };
        Ok(Value::text(sink.bytes).marked(mark))
    }
}
