//! Real and embedded clusters for tests.
