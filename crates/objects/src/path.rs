//! The way from an object to a value inside it.

use std::fmt;

/// One step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// To the value of this field, or of this key of a map.
    Field(Box<str>),
    /// To the item at this place, counted from zero.
    Index(usize),
    /// To any item of a list, or to the value of any key of a map.
    Each,
}

impl From<&str> for Step {
    fn from(field: &str) -> Self {
        Self::Field(field.into())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// The way from an object to a value inside it; empty for the object itself.
///
/// `Display` writes it as the API server does in its errors, `spec.containers[0].image`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<Step>);

impl Path {
    /// The object itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// The fields one after the other.
    pub fn fields(names: &[&str]) -> Self {
        names.iter().map(|name| Step::from(*name)).collect()
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether it is the object itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Goes one step on.
    pub fn push(&mut self, step: impl Into<Step>) {
        self.0.push(step.into());
    }

    /// Goes one step back.
    pub fn pop(&mut self) -> Option<Step> {
        self.0.pop()
    }

    /// The path one step further.
    #[must_use]
    pub fn child(&self, step: impl Into<Step>) -> Self {
        let mut path = self.clone();
        path.push(step);
        path
    }

    /// The path that goes on with `rest`.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        self.0.iter().chain(&rest.0).cloned().collect()
    }
}

impl FromIterator<Step> for Path {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl From<Vec<Step>> for Path {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if index == 0 => formatter.write_str(name)?,
                Step::Field(name) => write!(formatter, ".{name}")?,
                Step::Index(index) => write!(formatter, "[{index}]")?,
                Step::Each => formatter.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Path, Step};

    #[test]
    fn a_path_is_written_as_the_api_server_writes_it() {
        for (steps, expected) in [
            (vec![], ""),
            (vec!["spec".into()], "spec"),
            (
                vec!["spec".into(), "ports".into(), 0.into(), "name".into()],
                "spec.ports[0].name",
            ),
            (
                vec!["items".into(), Step::Each, "spec".into()],
                "items[*].spec",
            ),
            (vec![1.into(), "a".into()], "[1].a"),
            (
                vec!["metadata".into(), "labels".into(), "a.b/c".into()],
                "metadata.labels.a.b/c",
            ),
        ] {
            assert_eq!(Path::from(steps).to_string(), expected);
        }
        assert_eq!(
            Path::fields(&["a", "b"]).join(&Path::fields(&["c"])),
            Path::fields(&["a"]).child("b").child("c")
        );
    }
}
