//! Calling functions and methods: counting and checking arguments, and passing marks on.

use smallvec::SmallVec;

use crate::ast::Expr;
use crate::exec::frame::{At, Done, Frame};
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::provenance;
use crate::trace::{Piece, UseKind};
use crate::value::{Kind, Value};

/// The units of work of one argument.
const ARGUMENT: u64 = 20;

type Arguments<'a> = SmallVec<[Value<'a>; 4]>;

impl<'a> Frame<'_, 'a> {
    pub fn call(
        &mut self,
        dot: &Value<'a>,
        func: &'static Func,
        node: At<'a>,
        words: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        let (fixed, name) = (func.params.len(), func.name);
        let count = words.len() + usize::from(last.is_some());
        self.work(ARGUMENT.saturating_mul(1 + count as u64))?;
        if func.rest.is_some() {
            if count < fixed {
                return self.fail(format!(
                    "wrong number of args for {name}: want at least {fixed} got {}",
                    words.len()
                ));
            }
        } else if count != fixed {
            return self.fail(format!(
                "wrong number of args for {name}: want {fixed} got {count}"
            ));
        }
        if let "and" | "or" = name {
            return self.short_circuit(dot, func, words, last);
        }
        let param = |index: usize| {
            func.params
                .get(index)
                .copied()
                .or(func.rest)
                .unwrap_or(Param::Any)
        };
        let mut arguments = Arguments::new();
        for (index, word) in words.iter().enumerate() {
            arguments.push(self.argument(dot, Some(param(index)), word)?);
        }
        if let Some(last) = last {
            let last = self.checked(last, param(words.len()))?;
            arguments.push(last);
        }
        if name == "call" {
            let shown = match (words.first(), &arguments[0].kind) {
                (Some(word), _) => word.to_string(),
                (None, Kind::Text(text)) => text.lossy().into_owned(),
                (None, _) => format!("<{} Value>", arguments[0].type_name()),
            };
            let fault = match arguments[0].kind {
                Kind::Nil | Kind::Missing => "call of nil".to_string(),
                _ => format!("non-function {shown} of type {}", arguments[0].type_name()),
            };
            self.set_at(node);
            return self.fail(format!("error calling call: {fault}"));
        }
        self.invoke(dot, func, node, &arguments)
    }

    fn invoke(
        &mut self,
        dot: &Value<'a>,
        func: &'static Func,
        node: At<'a>,
        arguments: &[Value<'a>],
    ) -> Done<Value<'a>> {
        let cost = func.cost.with(arguments, |value| self.cx.elements(value));
        if let Err(fault) = self.cx.work(cost) {
            return Err(self.call_error(func, node, fault));
        }
        if self.cx.watched() {
            return self.watched_invoke(dot, func, node, arguments);
        }
        self.cx.swap_drawn(0);
        let result = (func.body)(&mut Call {
            frame: self,
            dot,
            args: arguments,
            func,
        });
        let drawn = self.cx.swap_drawn(0);
        let result = result.map(|value| self.lightly_marked(func, arguments, value, drawn));
        result
            .and_then(|value| self.paid(value))
            .map_err(|fault| self.call_error(func, node, fault))
    }

    /// In an unwatched run: what a function answers, marked if it is made of data.
    fn lightly_marked(
        &self,
        func: &Func,
        arguments: &[Value<'a>],
        value: Value<'a>,
        drawn: u32,
    ) -> Value<'a> {
        // A truth is a scalar, whatever it is of; a number may yet become a letter.
        let is_plain = matches!(value.kind, Kind::Bool(_));
        let passed =
            matches!(func.flow, Flow::Carry | Flow::Guard | Flow::Decide) && value.mark != 0;
        if is_plain
            || passed
            || (drawn == 0 && !arguments.iter().any(|argument| self.cx.is_data(argument)))
        {
            return value;
        }
        // What `tpl` runs is a text of the author only if it was given one.
        let tpl = func.name == "tpl"
            && arguments
                .first()
                .is_some_and(|source| source.mark == provenance::AUTHOR);
        let name = if tpl { "include" } else { func.name };
        value.marked(provenance::made_by(
            name,
            arguments.last().map_or(0, |last| last.mark),
        ))
    }

    /// Charges for the text a function made.
    fn paid(&self, value: Value<'a>) -> Result<Value<'a>, Fault> {
        if let Kind::Text(crate::value::Text::Shared(text)) = &value.kind {
            self.cx.charge(text.len())?;
        }
        Ok(value)
    }

    fn call_error(
        &mut self,
        func: &'static Func,
        node: At<'a>,
        mut fault: Fault,
    ) -> Box<crate::error::Error> {
        self.set_at(node);
        fault.text = format!("error calling {}: {}", func.name, fault.text);
        self.error(fault)
    }

    fn watched_invoke(
        &mut self,
        dot: &Value<'a>,
        func: &'static Func,
        node: At<'a>,
        arguments: &[Value<'a>],
    ) -> Done<Value<'a>> {
        // Only the watcher moves to the call: which node a failure is blamed on must not depend on
        // being watched.
        let spot = self.spot_of(node);
        self.cx.set_spot(spot);
        let mut mark = 0;
        for argument in arguments {
            let deep = self.cx.deep_mark(argument);
            if deep != 0
                && let Some(mut tracer) = self.cx.tracer()
            {
                mark = tracer.join(mark, deep);
            }
        }
        if let Some(mut tracer) = self.cx.tracer()
            && tracer.holds_nil(mark)
            && arguments.iter().any(names_nil)
        {
            // `replace "<nil>" ""` and its like: the template looks for the word, and has an answer
            // for it.
            mark = tracer.without_nil(mark);
        }
        let unknown = arguments
            .iter()
            .any(|argument| self.cx.is_unknown(argument));
        let held: Arguments<'a>;
        let mut arguments = arguments;
        if unknown {
            match func.flow {
                Flow::Carry if is_made(func, arguments) => {
                    let mark = self
                        .cx
                        .tracer()
                        .map_or(0, |mut tracer| tracer.derived(mark));
                    return Ok(Value::of(Kind::Unknown).marked(mark));
                }
                Flow::Compute | Flow::Decide => {
                    let mark = self
                        .cx
                        .tracer()
                        .map_or(0, |mut tracer| tracer.derived(mark));
                    return Ok(Value::of(Kind::Unknown).marked(mark));
                }
                Flow::Guard
                    if matches!(arguments.last().map(|last| &last.kind), Some(Kind::Unknown)) =>
                {
                    let mut mark = mark;
                    if let Some(mut tracer) = self.cx.tracer() {
                        tracer.note(UseKind::Guard, spot, Some(func.name), mark);
                        // Behind an unknown key is something else than the key.
                        if let "get" | "hasKey" | "dig" = func.name {
                            mark = tracer.derived(mark);
                        }
                    }
                    return Ok(Value::of(Kind::Unknown).marked(mark));
                }
                // It has words of its own for something unknown, whatever it is asked to print it
                // as.
                Flow::Shape if func.name == "printf" => {
                    let held_format = arguments.iter().take(1).map(stand_in);
                    held = held_format
                        .chain(arguments.iter().skip(1).cloned())
                        .collect();
                    arguments = &held;
                }
                Flow::Shape => {
                    held = arguments.iter().map(stand_in).collect();
                    arguments = &held;
                }
                Flow::Carry | Flow::Guard => {}
            }
        }
        let outer = self.cx.swap_nils(0);
        let drawn_before = self.cx.swap_drawn(0);
        self.cx.take_blamed();
        let result = (func.body)(&mut Call {
            frame: self,
            dot,
            args: arguments,
            func,
        });
        let drawn = self.cx.swap_drawn(drawn_before);
        self.cx.set_spot(spot);
        let printed = self.cx.swap_nils(outer);
        if printed != 0
            && let Some(mut tracer) = self.cx.tracer()
        {
            let nil = tracer.nil(printed, spot, Some(func.name));
            mark = tracer.join(mark, nil);
        }
        if drawn != 0
            && let Some(mut tracer) = self.cx.tracer()
        {
            mark = tracer.join(mark, drawn);
        }
        match result.and_then(|value| self.paid(value)) {
            Ok(value) => {
                let value = self.closely_marked(func, arguments, value, mark);
                let Some(mut tracer) = self.cx.tracer() else {
                    return Ok(value);
                };
                match func.flow {
                    Flow::Compute | Flow::Shape if value.mark == 0 => Ok(value.marked(mark)),
                    Flow::Compute | Flow::Shape => Ok(value),
                    Flow::Carry if value.mark == 0 => {
                        // What was packed keeps its own marks; what was not there to be packed is
                        // noted on the whole.
                        let lost = arguments
                            .iter()
                            .filter(|argument| argument.is_nil() || is_nil_map(argument));
                        let mark = lost.fold(0, |mark, argument| tracer.join(mark, argument.mark));
                        Ok(value.marked(mark))
                    }
                    Flow::Carry => Ok(value),
                    Flow::Guard => {
                        tracer.note(UseKind::Guard, spot, Some(func.name), mark);
                        Ok(value)
                    }
                    Flow::Decide => {
                        tracer.note(UseKind::Branch, spot, Some(func.name), mark);
                        if value.mark == 0 {
                            Ok(value.marked(mark))
                        } else {
                            Ok(value)
                        }
                    }
                }
            }
            Err(fault) => {
                let blamed = self.cx.take_blamed();
                let mut fault = fault;
                if let Some(mut tracer) = self.cx.tracer() {
                    let mark = tracer.join(mark, blamed);
                    tracer.note(UseKind::Failure, spot, Some(func.name), mark);
                    // What the author says is the author's, but for what must not be said.
                    if let ("fail" | "required", Some(said)) = (func.name, arguments.first())
                        && let Kind::Text(text) = &said.kind
                        && let Some(veiled) = tracer.veiled(text, said.mark, spot)
                    {
                        fault.text = veiled;
                    }
                }
                Err(self.call_error(func, node, fault))
            }
        }
    }

    /// In a watched run that guesses nothing: marks what only shows from outside of a function that
    /// made something of arguments with this mark. What it wrote as YAML or JSON is a whole, what
    /// it chose by them is not made of them, and all in a list or dict that it made is.
    fn closely_marked(
        &self,
        func: &Func,
        arguments: &[Value<'a>],
        value: Value<'a>,
        mark: u32,
    ) -> Value<'a> {
        let spot = self.spot();
        if mark == 0 || self.cx.tracer().is_none_or(|tracer| tracer.guesses()) {
            return value;
        }
        let piece = |len, mark, under, written| {
            vec![Piece {
                len,
                mark,
                under,
                spot,
                written,
            }]
        };
        let value = match (&value.kind, func.flow) {
            (Kind::Text(text), Flow::Compute | Flow::Shape) if value.mark == 0 => {
                let len = text.len();
                let woven = provenance::writes_value(func.name).then(|| piece(len, mark, 0, true));
                let mark = self.cx.tracer().map_or(0, |mut tracer| {
                    woven.map_or(mark, |woven| tracer.weave(woven))
                });
                value.marked(mark)
            }
            (Kind::Text(text), Flow::Decide) if value.mark == 0 => {
                let woven = piece(text.len(), 0, mark, false);
                let mark = self.cx.tracer().map_or(0, |mut tracer| tracer.weave(woven));
                value.marked(mark)
            }
            (_, Flow::Compute) => self.cx.steeped(value, mark, self.cx.run.limits.nesting),
            (Kind::Map(map), Flow::Carry) => {
                let keys = |argument: &Value<'a>| match &argument.kind {
                    Kind::Map(map) => self.cx.key_mark(map, argument.mark),
                    _ => argument.mark,
                };
                for mark in arguments.iter().map(keys) {
                    if let Some(mut tracer) = self.cx.tracer() {
                        tracer.key_depends(self.cx.current(map).address(), mark);
                    }
                }
                value
            }
            _ => value,
        };
        if let (Kind::Text(text), Some(mut tracer)) = (&value.kind, self.cx.tracer()) {
            tracer.keep_secret(text, value.mark, spot);
        }
        value
    }

    /// `and` and `or`: later arguments are not even evaluated once one decides.
    fn short_circuit(
        &mut self,
        dot: &Value<'a>,
        func: &'static Func,
        words: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        let wanted = func.name == "or";
        let mut value = Value::MISSING;
        let mut doubt = 0;
        for word in words {
            value = self.argument(dot, Some(Param::Value), word)?;
            if self.cx.watched() {
                let (spot, mark, unknown) =
                    (self.spot(), value.mark, matches!(value.kind, Kind::Unknown));
                if let Some(mut tracer) = self.cx.tracer() {
                    tracer.note(UseKind::Branch, spot, Some(func.name), mark);
                    if unknown {
                        doubt = tracer.join(doubt, mark);
                    }
                }
                if unknown {
                    continue;
                }
            }
            if crate::fmt::truth(self.cx, &value) == wanted {
                return Ok(self.doubted(value, doubt));
            }
        }
        if let Some(last) = last {
            value = self.checked(last, Param::Value)?;
        }
        Ok(self.doubted(value, doubt))
    }

    /// What is left of a value when something unknown could have come instead.
    fn doubted(&self, value: Value<'a>, doubt: u32) -> Value<'a> {
        if doubt == 0 {
            return value;
        }
        let mark = self
            .cx
            .tracer()
            .map_or(0, |mut tracer| tracer.join(value.mark, doubt));
        Value::of(Kind::Unknown).marked(mark)
    }

    /// A method or field of an object.
    pub fn method(
        &mut self,
        dot: &Value<'a>,
        expr: &'a Expr,
        receiver: &Value<'a>,
        name: &str,
        words: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        // Go names the type as it was declared, and the elements of lists and dicts are declared to
        // be anything.
        let shown = || {
            if receiver.boxed {
                "interface {}".into()
            } else {
                receiver.type_name()
            }
        };
        let Kind::Object(object) = &receiver.kind else {
            return self.fail(format!("can't evaluate field {name} in type {}", shown()));
        };
        let Some(method) = object.method(name) else {
            if object.hides(name) {
                return self.fail(format!(
                    "{name} is an unexported field of struct type {}",
                    shown()
                ));
            }
            return self.fail(format!("can't evaluate field {name} in type {}", shown()));
        };
        let count = words.len() + usize::from(last.is_some());
        if method.is_field {
            if count > 0 {
                return self.fail(format!(
                    "{name} has arguments but cannot be invoked as function"
                ));
            }
        } else if count != method.params.len() {
            return self.fail(format!(
                "wrong number of args for {name}: want {} got {count}",
                method.params.len()
            ));
        }
        if let Some(unfit) = method.unfit {
            return self.fail(unfit.text(name));
        }
        let mut arguments = Arguments::new();
        for (index, word) in words.iter().enumerate() {
            arguments.push(self.argument(dot, method.params.get(index).copied(), word)?);
        }
        if let Some(last) = last {
            let param = method
                .params
                .get(words.len())
                .copied()
                .unwrap_or(Param::Any);
            let last = self.checked(last, param)?;
            arguments.push(last);
        }
        match (method.body)(object, &arguments) {
            Ok(value) => {
                let (value, spot) = (value.marked(receiver.mark), self.spot());
                if let (Kind::Text(text), Some(mut tracer)) = (&value.kind, self.cx.tracer()) {
                    tracer.keep_secret(text, value.mark, spot);
                }
                Ok(value)
            }
            Err(text) => {
                self.set_at(At::Expr(expr));
                self.fail(format!("error calling {name}: {text}"))
            }
        }
    }
}

/// Whether what a function answers is something else than what it was given: what it takes by
/// something unknown, or an unknown list with one more in it.
fn is_made(func: &Func, arguments: &[Value<'_>]) -> bool {
    let mut are_unknown = arguments
        .iter()
        .map(|argument| matches!(argument.kind, Kind::Unknown));
    match func.name.trim_start_matches("must") {
        "slice" | "Slice" | "pick" | "omit" => are_unknown.skip(1).any(|unknown| unknown),
        "pluck" | "chunk" | "Chunk" | "append" | "Append" | "push" | "Push" | "prepend"
        | "Prepend" => are_unknown.next().is_some_and(|unknown| unknown),
        _ => false,
    }
}

/// A missing value that was passed as a dict.
fn is_nil_map(value: &Value<'_>) -> bool {
    matches!(&value.kind, Kind::Map(map) if map.is_nil())
}

/// Whether an argument is a text that speaks of Go's words for nothing, and is not itself one that
/// printed them.
fn names_nil(argument: &Value<'_>) -> bool {
    let Kind::Text(text) = &argument.kind else {
        return false;
    };
    argument.mark == 0
        && ["nil>", "no value>"]
            .iter()
            .any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

/// What a function that keeps the shape of a text gets for an argument that is unknown.
fn stand_in<'a>(argument: &Value<'a>) -> Value<'a> {
    match argument.kind {
        Kind::Unknown => Value::borrowed(crate::fmt::UNKNOWN.as_bytes()).marked(argument.mark),
        _ => argument.clone(),
    }
}
