//! What a fuzzer does with bytes: takes them for what a registry answers, what an install names and
//! what a pull secret holds. Nothing may panic, and a name that is read is written as it can be
//! read again.

use install::Index as Packages;
use package::image::Reference;
use package::image::{Digest, Index, Manifest};
use registry::Credentials;

/// All readers of such texts, one after the other.
pub fn answers(bytes: &[u8]) {
    let _ = Manifest::read(bytes);
    if let Ok(index) = Index::read(bytes) {
        let _ = index.choose();
    }
    let _ = Credentials::from_docker_config(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = text.parse::<Digest>();
    let _ = Packages::read(text);
    if let Ok(reference) = Reference::parse(text) {
        let again = Reference::parse(&reference.to_string()).expect("a reference that was read");
        assert_eq!(again, reference);
    }
}
