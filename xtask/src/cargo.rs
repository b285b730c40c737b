//! Cargo as every chore calls it. It knows nothing of what is run.

use std::process::Command;

use crate::cache;

/// `cargo` in the root of this repository.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What cargo tells us of this package would, passed on, make build scripts that look at it run
    // again, and half of the dependencies be built anew (ring's does).
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        }) {
            command.env_remove(name);
        }
    }
    command.current_dir(cache::repository());
    command
}
