//! What a run takes from outside: randomness, the time, and objects it looks up.

use serde_json::Value as Json;

/// One draw of random bytes: what asks for them. The same call in the same place should get the
/// same bytes if the caller wants renders to repeat.
#[derive(Clone, Debug)]
pub struct Draw<'d> {
    /// The name the template gave to the value, if it did: then its place does not matter.
    pub name: Option<&'d str>,
    /// The template that makes the call; empty for a named value.
    pub template: &'d str,
    /// The function, such as `randAlphaNum`.
    pub function: &'d str,
    /// Its arguments, printed.
    pub arguments: &'d [String],
    /// How many equal calls (template, function and arguments) came before in this run.
    pub occurrence: usize,
}

/// The world outside a run.
pub trait Host {
    /// Fills `bytes` for a call that draws random values.
    fn random(&self, draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String>;

    /// The time `now` and its kin answer with, in nanoseconds since 1970.
    fn now(&self) -> Result<i128, String>;

    /// What `lookup` answers: one object, a list, or an empty object if there is none.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Json, String> {
        let _ = (api_version, kind, namespace, name);
        Ok(Json::Object(serde_json::Map::new()))
    }
}

/// A host that has nothing to give: draws and the time are errors, lookups find nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHost;

impl Host for NoHost {
    fn random(&self, draw: &Draw<'_>, _bytes: &mut [u8]) -> Result<(), String> {
        Err(format!(
            "{} draws random values, and none are offered here",
            draw.function
        ))
    }

    fn now(&self) -> Result<i128, String> {
        Err("the current time is not offered here".to_string())
    }
}

/// A host that always answers the same: for looking at templates without running them for anyone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Still;

impl Host for Still {
    fn random(&self, _draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        bytes.fill(0);
        Ok(())
    }

    fn now(&self) -> Result<i128, String> {
        Ok(0)
    }
}
