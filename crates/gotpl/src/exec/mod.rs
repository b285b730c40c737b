//! Running a template.

mod call;
mod cx;
mod eval;
mod frame;
mod walk;

use typed_arena::Arena;

use crate::error::{Error, ErrorKind};
use crate::limits::Meter;
use crate::set::{Input, Output, Run, Watch};
use crate::trace::{Spot, Trace, Tracer};

pub(crate) use cx::{Cx, Scope};
pub(crate) use frame::{Frame, Sink};

/// How much stack must be left before a nested template or expression, and how much more it gets if
/// there is less.
pub(crate) const RED_ZONE: usize = 128 * 1024;
pub(crate) const MORE_STACK: usize = 2 * 1024 * 1024;

type Failure = (Box<Error>, Box<Option<Trace>>);

pub(crate) fn execute(run: &Run<'_>, name: &str, input: &Input<'_>) -> Result<Output, Failure> {
    let own;
    let meter = match run.meter {
        Some(meter) => meter,
        None => {
            own = Meter::new(run.limits.clone());
            &own
        }
    };
    let arena = Arena::new();
    let tracer = match run.watch {
        Watch::Lightly => None,
        Watch::Closely => Some(Tracer::new(None, run.secret, meter)),
        Watch::Guessing(known) | Watch::Assuming(known, _) => {
            Some(Tracer::new(Some(known), None, meter))
        }
    };
    let cx = Cx::new(run, meter, &arena, tracer);
    let scope = arena.alloc(Scope::of(run.set));
    let Some(tree) = scope.find(name) else {
        let quoted = |text: &str| {
            String::from_utf8_lossy(&gocompat::strconv::quote(text.as_bytes())).into_owned()
        };
        let text = format!(
            "template: no template {} associated with template {}",
            quoted(name),
            quoted(name)
        );
        return Err((Error::plain(ErrorKind::Execute, text), Box::new(None)));
    };
    cx.set_spot(Spot { tree, offset: 0 });
    let root = cx.root(input);
    let mut sink = Sink::default();
    let result = Frame::new(&cx, scope, tree, root.clone(), 0).run(&root, &mut sink);
    let (missing, nil_text, risky) = (cx.missing(), cx.nil_text(), cx.risky());
    drop(root);
    let trace = cx.finish(&sink.pieces);
    match result {
        Ok(()) => Ok(Output {
            text: sink.bytes,
            missing,
            nil_text,
            risky,
            trace,
        }),
        Err(error) => Err((error, Box::new(trace))),
    }
}
