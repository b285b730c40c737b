//! Evaluating pipelines, commands and fields.

use crate::ast::{Chain, Command, Expr, Pipe, Variable};
use crate::exec::frame::{At, Done, Frame};
use crate::exec::{MORE_STACK, RED_ZONE};
use crate::func::Param;
use crate::number::Number;
use crate::object::Object;
use crate::set::MissingKey;
use crate::trace::Step;
use crate::value::{Element, Kind, Value};
use gocompat::strconv::quote;

/// The units of work of looking up a field.
const FIELD: u64 = 20;

impl<'a> Frame<'_, 'a> {
    pub fn pipeline(&mut self, dot: &Value<'a>, pipe: &'a Pipe) -> Done<Value<'a>> {
        self.set_at(At::Pipe(pipe));
        // Most pipelines are one command, whose value need not be moved about.
        if let ([command], []) = (pipe.commands.as_slice(), pipe.declared.as_slice()) {
            return self.command(dot, command, None).map(Value::unboxed);
        }
        let mut value: Option<Value<'a>> = None;
        for command in &pipe.commands {
            value = Some(self.command(dot, command, value)?.unboxed());
        }
        let value = value.unwrap_or(Value::MISSING);
        for variable in &pipe.declared {
            if pipe.assign {
                self.assign(&variable.name, value.clone())?;
            } else {
                self.variables.push((&variable.name, value.clone()));
            }
        }
        Ok(value)
    }

    fn command(
        &mut self,
        dot: &Value<'a>,
        command: &'a Command,
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        let Some(first) = command.words.first() else {
            return Ok(Value::MISSING);
        };
        match first {
            Expr::Field(_, fields) => {
                self.set_at(At::Expr(first));
                self.fields(dot, first, dot, fields, &command.words, last)
            }
            Expr::Chain(chain) => {
                self.set_at(At::Expr(first));
                self.chain(dot, first, chain, &command.words, last)
            }
            Expr::Function(_, func) => {
                self.set_at(At::Expr(first));
                self.call(
                    dot,
                    func,
                    At::Command(command),
                    command.words.get(1..).unwrap_or_default(),
                    last,
                )
            }
            Expr::Pipe(pipe) => {
                self.not_a_function(&command.words, last.is_some())?;
                stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.pipeline(dot, pipe))
            }
            Expr::Variable(variable) => {
                self.variable_chain(dot, first, variable, &command.words, last)
            }
            _ => {
                self.set_at(At::Expr(first));
                self.not_a_function(&command.words, last.is_some())?;
                match first {
                    Expr::Bool(_, value) => Ok(Value::bool(*value)),
                    Expr::Dot(_) => Ok(dot.clone()),
                    Expr::Nil(_) => self.fail("nil is not a command"),
                    Expr::Number(_, number) => self.constant(number),
                    Expr::Text(literal) => Ok(Value::borrowed(&literal.bytes)),
                    _ => Ok(Value::MISSING),
                }
            }
        }
    }

    fn not_a_function(&self, words: &[Expr], piped: bool) -> Done<()> {
        match words.first() {
            Some(first) if words.len() > 1 || piped => {
                let shown = match first {
                    Expr::Pipe(pipe) => pipe.to_string(),
                    first => first.to_string(),
                };
                self.fail(format!("can't give argument to non-function {shown}"))
            }
            _ => Ok(()),
        }
    }

    /// A number where nothing says which type is wanted: its spelling decides.
    fn constant(&mut self, number: &'a Number) -> Done<Value<'a>> {
        let text = &*number.text;
        if let Some((real, imaginary)) = number.complex {
            return Ok(Value::of(Kind::Complex(std::rc::Rc::new((
                real, imaginary,
            )))));
        }
        let hex = text.len() > 2
            && (text.starts_with("0x") || text.starts_with("0X"))
            && !text.contains(['p', 'P']);
        if let Some(float) = number.float
            && !hex
            && !text.starts_with('\'')
            && text.contains(['.', 'e', 'E', 'p', 'P'])
        {
            return Ok(Value::float(float));
        }
        match number.int {
            Some(int) => Ok(Value::int(int)),
            None => self.fail(format!("{text} overflows int")),
        }
    }

    fn chain(
        &mut self,
        dot: &Value<'a>,
        expr: &'a Expr,
        chain: &'a Chain,
        words: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        let value = self.argument(dot, None, &chain.inner)?;
        self.fields(dot, expr, &value, &chain.fields, words, last)
    }

    fn variable_chain(
        &mut self,
        dot: &Value<'a>,
        expr: &'a Expr,
        variable: &'a Variable,
        words: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        self.set_at(At::Expr(expr));
        let Some(value) = self.variable(&variable.name).cloned() else {
            return self.fail(format!("undefined variable: {}", variable.name));
        };
        if variable.fields.is_empty() {
            self.not_a_function(words, last.is_some())?;
            return Ok(value);
        }
        self.fields(dot, expr, &value, &variable.fields, words, last)
    }

    /// Walks `.A.B.C`; the last may be a method that takes the arguments.
    fn fields(
        &mut self,
        dot: &Value<'a>,
        expr: &'a Expr,
        receiver: &Value<'a>,
        fields: &'a [Box<str>],
        words: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        let Some((end, before)) = fields.split_last() else {
            return Ok(receiver.clone());
        };
        let arguments = words.get(1..).unwrap_or_default();
        if before.is_empty() {
            return self.field(dot, expr, receiver, end, arguments, last);
        }
        let mut value = self.field(dot, expr, receiver, &before[0], &[], None)?;
        for name in &before[1..] {
            value = self.field(dot, expr, &value, name, &[], None)?;
        }
        self.field(dot, expr, &value, end, arguments, last)
    }

    fn field(
        &mut self,
        dot: &Value<'a>,
        expr: &'a Expr,
        receiver: &Value<'a>,
        name: &'a str,
        arguments: &'a [Expr],
        last: Option<Value<'a>>,
    ) -> Done<Value<'a>> {
        let quoted = || String::from_utf8_lossy(&quote(name.as_bytes())).into_owned();
        self.cx.add_work(FIELD + name.len() as u64);
        match &receiver.kind {
            Kind::Map(map) => {
                if !arguments.is_empty() || last.is_some() {
                    return self.fail(format!("{name} is not a method but has arguments"));
                }
                let mut value = self.cx.field(map, name);
                if value.mark == 0 && (matches!(value.kind, Kind::Missing) || !self.cx.watched()) {
                    // Not in a dict that templates made: perhaps because something it was made of
                    // is missing.
                    value.mark = receiver.mark;
                }
                if !matches!(value.kind, Kind::Missing) {
                    return Ok(value);
                }
                match self.scope.missing_key {
                    MissingKey::Default => Ok(value),
                    MissingKey::Zero if map.element() == Element::Text => {
                        Ok(Value::borrowed(b"").marked(value.mark))
                    }
                    MissingKey::Zero => Ok(Value {
                        kind: Kind::Nil,
                        boxed: true,
                        ..value
                    }),
                    MissingKey::Error => {
                        self.fail(format!("map has no entry for key {}", quoted()))
                    }
                }
            }
            Kind::Missing => {
                if self.scope.missing_key == MissingKey::Error {
                    return self.fail(format!("nil data; no entry for key {}", quoted()));
                }
                Ok(self.further(receiver, name))
            }
            Kind::Unknown => Ok(self.further(receiver, name)),
            Kind::Nil => {
                self.fails_over(receiver);
                self.fail(format!("nil pointer evaluating interface {{}}.{name}"))
            }
            Kind::Object(_) => self.method(dot, expr, receiver, name, arguments, last),
            _ => {
                self.fails_over(receiver);
                let shown = if receiver.boxed {
                    "interface {}".into()
                } else {
                    receiver.type_name()
                };
                self.fail(format!("can't evaluate field {name} in type {shown}"))
            }
        }
    }

    fn further(&self, receiver: &Value<'a>, name: &str) -> Value<'a> {
        if !self.cx.watched() {
            return Value::of(receiver.kind.clone());
        }
        self.cx.beyond(receiver, Step::Key(name.into()))
    }

    /// An argument as the type that a parameter wants; any type if there is none.
    pub fn argument(
        &mut self,
        dot: &Value<'a>,
        param: Option<Param>,
        expr: &'a Expr,
    ) -> Done<Value<'a>> {
        self.set_at(At::Expr(expr));
        let value = match expr {
            Expr::Dot(_) => dot.clone(),
            Expr::Nil(_) => {
                let name = param.map_or("interface {}", Param::name);
                return match param.unwrap_or(Param::Any).zero() {
                    Some(zero) => Ok(zero),
                    None => self.fail(format!("cannot assign nil to {name}")),
                };
            }
            Expr::Field(_, fields) => self.fields(dot, expr, dot, fields, &[], None)?,
            Expr::Variable(variable) => self.variable_chain(dot, expr, variable, &[], None)?,
            Expr::Pipe(pipe) => {
                stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.pipeline(dot, pipe))?
            }
            Expr::Function(_, func) => self.call(dot, func, At::Expr(expr), &[], None)?,
            Expr::Chain(chain) => self.chain(dot, expr, chain, &[], None)?,
            literal => return self.literal(param.unwrap_or(Param::Any), literal),
        };
        match param {
            Some(param) => self.checked(value, param),
            None => Ok(value),
        }
    }

    fn literal(&mut self, param: Param, expr: &'a Expr) -> Done<Value<'a>> {
        match (param, expr) {
            (Param::Any | Param::Value | Param::Bool, Expr::Bool(_, value)) => {
                Ok(Value::bool(*value))
            }
            (Param::Any | Param::Value, Expr::Number(_, number)) => self.constant(number),
            (Param::Any | Param::Value | Param::Text, Expr::Text(literal)) => {
                Ok(Value::borrowed(&literal.bytes))
            }
            (Param::Int | Param::Int64 | Param::Uint32 | Param::Float, Expr::Number(_, number)) => {
                self.number(param, number, expr)
            }
            // An integer by another name takes integers.
            (Param::Object("time.Duration"), Expr::Number(_, number)) if number.int.is_some() => {
                Ok(Value::object(Object::Duration(
                    number.int.unwrap_or_default(),
                )))
            }
            (Param::Object("time.Duration"), _) => {
                self.fail(format!("expected integer; found {expr}"))
            }
            (Param::Bool, _) => self.fail(format!("expected bool; found {expr}")),
            (Param::Text, _) => self.fail(format!("expected string; found {expr}")),
            (Param::Int | Param::Int64, _) => self.fail(format!("expected integer; found {expr}")),
            (Param::Uint32, _) => self.fail(format!("expected unsigned integer; found {expr}")),
            (Param::Float, _) => self.fail(format!("expected float; found {expr}")),
            (param, _) => self.fail(format!(
                "can't handle {expr} for arg of type {}",
                param.name()
            )),
        }
    }

    fn number(&mut self, param: Param, number: &Number, expr: &Expr) -> Done<Value<'a>> {
        use crate::value::Width;
        let (found, wanted) = match param {
            Param::Int => (number.int.map(Value::int), "integer"),
            Param::Int64 => (number.int.map(Value::int64), "integer"),
            Param::Uint32 => {
                let cut = |value: u64| Value::of(Kind::Int(i64::from(value as u32), Width::Uint32));
                (number.uint.map(cut), "unsigned integer")
            }
            _ => (number.float.map(Value::float), "float"),
        };
        match found {
            Some(value) => Ok(value),
            None => self.fail(format!("expected {wanted}; found {expr}")),
        }
    }

    /// The value, if it can be passed as that type.
    pub fn checked(&self, value: Value<'a>, param: Param) -> Done<Value<'a>> {
        if !self.cx.watched() {
            return self.fitted(value, param);
        }
        let passed = value.clone();
        let result = self.fitted(value, param);
        if result.is_err() {
            self.fails_over(&passed);
        }
        result
    }

    fn fitted(&self, value: Value<'a>, param: Param) -> Done<Value<'a>> {
        match &value.kind {
            Kind::Missing => match param.zero() {
                Some(zero) => Ok(Value {
                    mark: value.mark,
                    ..zero
                }),
                None => self.fail(format!("invalid value; expected {}", param.name())),
            },
            Kind::Nil if !matches!(param, Param::Any | Param::Value) => self.fail(format!(
                "wrong type for value; expected {}; got interface {{}}",
                param.name()
            )),
            _ if param.accepts(&value) => Ok(value),
            _ => self.fail(format!(
                "wrong type for value; expected {}; got {}",
                param.name(),
                value.type_name()
            )),
        }
    }
}
