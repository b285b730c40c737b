//! What of the objects that are to go has to stay, as long as something else could not be made.

use crate::carry::Failure;
use crate::compile::CompiledKind;

/// Which failure keeps the objects of a template that are to go. A template that reads them could not be carried out, so
/// that what it made before may still need them; or they are to be replaced: their own template makes another in their
/// place (`is_moved`), or is no longer in the stack, and perhaps only has another name there.
pub fn kept_by<'f>(
    kind: &CompiledKind,
    template: &str,
    is_moved: bool,
    failures: &'f [Failure],
) -> Option<&'f Failure> {
    failures.iter().find(|failure| {
        let reads = |reader: &crate::compile::Child| reader.reads.iter().any(|read| read == template);
        let is_own = failure.template == template;
        kind.child(template).is_none()
            || (is_own && is_moved)
            || (!is_own && kind.child(&failure.template).is_some_and(reads))
    })
}
