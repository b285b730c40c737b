//! Go's `text/template` with sprig's and Helm's functions, byte for byte, that sees what it reads.
//!
//! Parse sources into a [`Set`], then [`Set::execute`] one of them over JSON data. A run can also
//! be watched: see [`Run`] for following each value from the data to the bytes it became. Nothing
//! here knows Kubernetes, does I/O, reads a clock or draws random bytes: what varies comes from the
//! caller's [`Host`].

mod analysis;
mod ast;
mod cost;
mod error;
mod exec;
mod fmt;
mod func;
mod funcs;
mod host;
mod lex;
mod limits;
mod number;
mod object;
mod parse;
mod provenance;
mod set;
mod trace;
mod value;

pub use analysis::{Analysis, CallSite, Outline, TemplateUse};
pub use cost::Cost;
pub use error::{Error, ErrorKind, Place, Unclosed};
pub use func::{Call, Fault, Flow, Func, Library, Param};
pub use funcs::of as functions;
pub use host::{Draw, Host, NoHost, Still};
pub use limits::{Limits, Meter, Over};
pub use set::{Input, MissingKey, Options, Output, Run, Set, Watch};
pub use trace::{
    Failure, Known, NilText, Path, Presence, Read, Site, Span, Step, Trace, Use, UseKind,
};
pub use value::Value;
