//! The functions that templates of a stack have beyond Helm's.

use gotpl::{Call, Cost, Fault, Flow, Func, Library, Options, Param, Value};

pub(crate) const EXTRA: &[Func] = &[
    Func {
        name: "include",
        params: &[Param::Text],
        rest: Some(Param::Any),
        flow: Flow::Carry,
        cost: Cost::of(300, 1, 0),
        body: include,
    },
    Func {
        name: "generated",
        params: &[Param::Text, Param::Text],
        rest: Some(Param::Any),
        flow: Flow::Compute,
        cost: Cost::of(500, 1, 0),
        body: generated,
    },
];

/// How templates of stacks are parsed.
pub(crate) fn options() -> Options {
    Options {
        funcs: Library::Helm,
        extra: EXTRA,
        ..Options::default()
    }
}

/// The name a partial goes by: its key and its own name.
pub(crate) fn partial(key: &str, name: &str) -> String {
    format!("{key}/{name}")
}

/// `include "key" "name" [data]` for a partial of the stack, `include "name" [data]` for a defined
/// template.
fn include<'a>(call: &mut Call<'_, '_, 'a>) -> Result<Value<'a>, Fault> {
    let first = call.utf8(0).into_owned();
    if call.len() >= 2 {
        let named = partial(&first, &call.utf8(1));
        if call.has_template(&named) {
            let data = if call.len() > 2 {
                call.value(2)
            } else {
                call.dot()
            };
            return call.execute(&named, &data);
        }
    }
    let data = if call.len() > 1 {
        call.value(1)
    } else {
        call.dot()
    };
    call.execute(&first, &data)
}

/// `generated "name" "function" arguments...`: a drawn value that keeps its name when the template
/// around it changes.
fn generated<'a>(call: &mut Call<'_, '_, 'a>) -> Result<Value<'a>, Fault> {
    let (name, function) = (call.utf8(0).into_owned(), call.utf8(1).into_owned());
    call.draw_as(&name);
    let result = call.delegate(&function, 2);
    call.draw_as_usual();
    result
}
