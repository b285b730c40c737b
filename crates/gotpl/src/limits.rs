//! How much one run may do.

/// Bounds of a run. Each ends it with an error that names the limit; none can be reached by a manifest a person wrote.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Nodes walked, calls made and loop turns taken.
    pub steps: u64,
    /// Templates inside templates (`template`, `include`, `tpl` and blocks).
    pub depth: usize,
    /// Bytes of text made, the output and every string on the way to it.
    pub bytes: u64,
    /// How deep lists and dicts may be put into each other.
    pub nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 5_000_000, depth: 1_000, bytes: 64 << 20, nesting: 1_000 }
    }
}
