//! What a fuzzer does with bytes: takes them for the layer of an image, as it comes or packed
//! first, or for a file with a whole image. Nothing may panic, and nothing that is unpacked is
//! larger than it may be.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use package::image::{Archive, Layers, Limits, MediaType};

const KINDS: [&str; 4] = [
    "application/tar",
    "application/tar+gzip",
    "application/tar+zstd",
    "application/other",
];

/// The first byte says how the rest is read; a layer is put on top of itself, as a second one would
/// be.
pub fn layers(bytes: &[u8]) {
    let [how, rest @ ..] = bytes else { return };
    let (kind, content) = match how % 6 {
        4 => {
            // The sums of gzip are not for a fuzzer to find.
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            let content = packed
                .write_all(rest)
                .and_then(|()| packed.finish())
                .expect("memory");
            (KINDS[1], content)
        }
        5 => {
            if let Ok(archive) = Archive::read(rest) {
                let _ = archive.files();
                let _ = archive.into_image();
            }
            return;
        }
        how => (KINDS[usize::from(how) % KINDS.len()], rest.to_vec()),
    };
    let limits = Limits::default();
    let mut layers = Layers::new(limits);
    for _ in 0..2 {
        let _ = layers.add(&MediaType::from(kind), content.as_slice());
    }
    for path in layers.into_files().keys() {
        assert!(path.starts_with(".registry/"), "{path}");
        assert!(
            path.split('/').all(|part| !matches!(part, "" | "." | "..")),
            "{path}"
        );
    }
}
