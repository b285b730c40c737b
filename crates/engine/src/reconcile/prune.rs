//! What of the objects that are to go has to stay, as long as something else could not be made.

use crate::compile::{Child, CompiledKind};

/// Which of the templates that failed keeps the objects of another that are to go. A template that
/// reads them could not be carried out, so that what it made before may still need them; or they
/// are to be replaced: their own template makes another in their place (`is_moved`), or is no
/// longer in the stack, and perhaps only has another name there.
pub fn kept_by<'f>(
    kind: &CompiledKind,
    template: &str,
    is_moved: bool,
    failed: &[&'f str],
) -> Option<&'f str> {
    failed.iter().copied().find(|failed| {
        let reads = |reader: &Child| reader.reads.iter().any(|read| read == template);
        let is_own = *failed == template;
        kind.child(template).is_none()
            || (is_own && is_moved)
            || (!is_own && kind.child(failed).is_some_and(reads))
    })
}
