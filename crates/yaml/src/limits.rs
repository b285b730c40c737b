//! Bounds on what one read may cost, so that hostile text fails early instead of exhausting memory
//! or the stack.

/// How much one read may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub bytes: usize,
    /// Scalars, sequences, mappings and aliases written in the text.
    pub nodes: usize,
    /// Collections inside collections, aliases followed.
    pub depth: usize,
    /// Bytes of scalars that may be repeated through aliases, on top of go-yaml's rule for their
    /// number.
    pub expansion: usize,
}

impl Default for Limits {
    /// Enough for any manifest a cluster would accept, and little enough for a thread with a small
    /// stack.
    fn default() -> Self {
        Self {
            bytes: 32 << 20,
            nodes: 2 << 20,
            depth: 512,
            expansion: 32 << 20,
        }
    }
}
