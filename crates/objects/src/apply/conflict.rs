//! Conflicts: fields that an apply would change, and others manage.

use std::fmt;

use super::managed::{Manager, Operation};
use crate::fields::FieldPath;
use crate::go;

/// A field that an apply would change, and its manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Who manages it.
    pub manager: Manager,
    /// The field.
    pub path: FieldPath,
}

impl Conflict {
    /// The message of the cause, of type `FieldManagerConflict`.
    pub fn message(&self) -> String {
        format!("conflict with {}", shown(&self.manager))
    }
}

/// All conflicts of an apply, manager by manager. `Display` writes the message of the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl fmt::Display for Conflicts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = &*self.0 {
            return write!(
                formatter,
                "Apply failed with 1 conflict: {}: {}",
                one.message(),
                one.path
            );
        }
        write!(formatter, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last = None;
        for conflict in &self.0 {
            if last != Some(&conflict.manager) {
                let line = if last.is_some() { "\n" } else { "" };
                write!(
                    formatter,
                    "{line}conflicts with {}:",
                    shown(&conflict.manager)
                )?;
            }
            write!(formatter, "\n- {}", conflict.path)?;
            last = Some(&conflict.manager);
        }
        Ok(())
    }
}

impl std::error::Error for Conflicts {}

fn shown(manager: &Manager) -> String {
    let mut text = go::quoted(&manager.name);
    if !manager.subresource.is_empty() {
        text.push_str(&format!(
            " with subresource {}",
            go::quoted(&manager.subresource)
        ));
    }
    if manager.operation == Operation::Update {
        text.push_str(&format!(" using {}", manager.version));
    }
    text
}
