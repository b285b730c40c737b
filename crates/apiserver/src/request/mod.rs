//! What a request asks for, and in which form it wants the answer.

pub(crate) mod info;
pub(crate) mod negotiation;
