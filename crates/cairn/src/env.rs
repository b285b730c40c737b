//! Everything the command takes from its environment, read once.

use std::io::IsTerminal;

/// The environment of this run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Env {
    /// Whether errors may be coloured.
    pub colour: bool,
}

impl Env {
    pub fn read() -> Env {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Env { colour: !refused && std::io::stderr().is_terminal() }
    }
}
