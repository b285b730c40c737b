//! What the families of functions are written with: rows of their tables, and marks for what a call
//! packs into a list. What each costs is in `cost`.

use crate::cost::Cost;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::Value;

/// What a body answers.
pub(super) type Answer<'a> = Result<Value<'a>, Fault>;

/// A body.
pub(super) type Body = for<'a> fn(&mut Call<'_, '_, 'a>) -> Answer<'a>;

/// A function of as many arguments as parameters.
pub(super) const fn fixed(
    name: &'static str,
    params: &'static [Param],
    flow: Flow,
    body: Body,
) -> Func {
    Func {
        name,
        params,
        rest: None,
        flow,
        cost: Cost::UNKNOWN,
        body,
    }
}

/// A function that takes any number of arguments of one type.
pub(super) const fn variadic(name: &'static str, rest: Param, flow: Flow, body: Body) -> Func {
    Func {
        name,
        params: &[],
        rest: Some(rest),
        flow,
        cost: Cost::UNKNOWN,
        body,
    }
}

/// A function that takes more arguments of one type after its parameters.
pub(super) const fn open(
    name: &'static str,
    params: &'static [Param],
    rest: Param,
    flow: Flow,
    body: Body,
) -> Func {
    Func {
        name,
        params,
        rest: Some(rest),
        flow,
        cost: Cost::UNKNOWN,
        body,
    }
}

/// In a watched run: what all arguments depend on. For elements of a list or dict that a call
/// makes, which would otherwise come out of it unmarked.
pub(super) fn mark_of(call: &Call<'_, '_, '_>) -> u32 {
    if !call.cx().watched() {
        return 0;
    }
    let mut mark = 0;
    for argument in call.args {
        let deep = call.cx().deep_mark(argument);
        if let Some(mut tracer) = call.cx().tracer() {
            mark = tracer.join(mark, deep);
        }
    }
    mark
}
