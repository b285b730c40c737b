//! A place in the data that templates read.

use std::rc::Rc;

/// One step into data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A key of an object.
    Key(Rc<str>),
    /// An element of a list.
    Index(usize),
    /// Some key or element: what a loop over unknown data meets.
    Any,
}

/// A place in the data, from its root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str(".");
        }
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if is_identifier(key) => {
                    if index > 0 {
                        f.write_str(".")?;
                    }
                    f.write_str(key)?;
                }
                Step::Key(key) => write!(f, "[{key:?}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Any => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

fn is_identifier(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|c| c == '_' || c == '-' || c.is_alphanumeric())
}
