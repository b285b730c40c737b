//! Packages as images: the same bytes for the same files, layers of others put together, and
//! hostile layers refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;

use package::Files;
use package::image::{Archive, Digest, Image, Layers, Limits, Manifest, MediaType};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{EntryType, Header};

fn tar_type() -> MediaType {
    MediaType::from("application/vnd.oci.image.layer.v1.tar")
}

fn files(entries: &[(&str, &str)]) -> Files {
    entries
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect()
}

fn sample() -> Files {
    let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.b.c}\nspec:\n  \
               group: b.c\n  scope: Namespaced\n  names: {kind: A, plural: as}\n  versions:\n  - {name: v1, served: \
               true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n";
    files(&[
        ("Dockerfile", "FROM scratch\n"),
        (
            ".registry/app.yaml",
            "title: Sample\nversion: 1.0.0\ndependsOn: [{crd: deployment.apps/v1}]\n",
        ),
        (".registry/resources/crd.yaml", crd),
        (".registry/tests/one.yaml", "x: 1\n"),
    ])
}

/// One entry of a layer: its name, its type, and its content or the target of a link.
type Entry<'e> = (&'e str, EntryType, &'e str);

fn file<'e>(name: &'e str, text: &'e str) -> Entry<'e> {
    (name, EntryType::Regular, text)
}

fn layer(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, text) in entries {
        let mut header = Header::new_gnu();
        // Written by hand, since a builder refuses names that lead out.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        let content = if *kind == EntryType::Regular {
            text.as_bytes()
        } else {
            b""
        };
        if *kind == EntryType::Symlink || *kind == EntryType::Link {
            header.set_link_name(text).unwrap();
        }
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn unpack(layers: &[Vec<u8>], limits: Limits) -> Result<Files, String> {
    let mut unpacked = Layers::new(limits);
    for bytes in layers {
        unpacked
            .add(&tar_type(), bytes.as_slice())
            .map_err(|refused| refused.to_string())?;
    }
    Ok(unpacked.into_files())
}

#[test]
fn the_same_files_give_the_same_image_and_come_out_again() {
    let (package, problems) = package::read(&sample());
    assert_eq!(problems, []);
    let image = Image::build(&sample(), &package);
    // Whoever pinned a digest must find the same image after an update of ours; change it only with
    // a reason.
    let digest = "sha256:44dd965ab320ab8f0eaedcd5cc54ae6e4fae5347d63e17402ab07eed4f70f22f";
    assert_eq!(image.manifest.digest.to_string(), digest);
    let manifest = Manifest::read(&image.manifest.bytes).unwrap();
    assert_eq!(
        manifest.annotations["stacks.crossplane.io/owned-crds"],
        r#"[{"group":"b.c","kind":"A","plural":"as","version":"v1"}]"#
    );
    assert_eq!(
        manifest.annotations["stacks.crossplane.io/required-crds"],
        r#"["deployment.apps/v1"]"#
    );
    assert_eq!(
        manifest.annotations["org.opencontainers.image.version"],
        "1.0.0"
    );
    assert_eq!(manifest.layers[0].digest, image.blobs[1].digest);
    let mut layers = Layers::new(Limits::default());
    layers
        .add(
            &manifest.layers[0].media_type,
            image.blobs[1].bytes.as_slice(),
        )
        .unwrap();
    let mut expected = sample();
    expected.retain(|path, _| path.starts_with(".registry") && !path.contains("tests"));
    assert_eq!(layers.into_files(), expected);
    // The files of the `.registry` directory alone make the same image.
    let inside = sample()
        .into_iter()
        .filter_map(|(path, bytes)| Some((path.strip_prefix(".registry/")?.to_owned(), bytes)));
    assert_eq!(Image::build(&inside.collect(), &package), image);
}

#[test]
fn an_image_in_one_file_reads_as_it_was_written() {
    let (package, _) = package::read(&sample());
    let image = Image::build(&sample(), &package);
    let bytes = Archive::write(&image, Some("1.0.0"));
    let archive = Archive::read(bytes.as_slice()).unwrap();
    assert_eq!(archive.manifest, image.manifest);
    assert_eq!(archive.tag.as_deref(), Some("1.0.0"));
    assert_eq!(archive.blobs.len(), 2);
    assert!(archive.files().unwrap().contains_key(".registry/app.yaml"));
    assert_eq!(archive.clone().into_image().unwrap(), image);
    let layer = &image.blobs[1];
    assert_eq!(archive.blobs[&layer.digest], layer.bytes);
    // A blob that is not what its name says.
    let at = bytes
        .windows(32)
        .position(|part| part == &layer.bytes[..32])
        .unwrap();
    let mut forged = bytes.clone();
    forged[at + 20] ^= 1;
    let error = Archive::read(forged.as_slice()).unwrap_err();
    assert!(error.ends_with("is not what its digest says"), "{error}");
    assert_eq!(
        Archive::read(&b""[..]).unwrap_err(),
        "it is no OCI image archive: it has no `index.json`"
    );
}

#[test]
fn upper_layers_add_replace_and_remove() {
    let base = layer(&[
        file("./.registry/app.yaml", "a"),
        file("/.registry/resources/x/one.yaml", "1"),
        file(".registry/resources/x/two.yaml", "2"),
        file(".registry/resources/y/three.yaml", "3"),
        file("usr/bin/tool", "binary"),
        ("usr/bin/link", EntryType::Symlink, "tool"),
    ]);
    let names = |layers: &[Vec<u8>]| {
        let files = unpack(layers, Limits::default()).unwrap();
        let mut names = Vec::new();
        for (path, bytes) in files {
            names.push(format!(
                "{}={}",
                &path[".registry/".len()..],
                String::from_utf8(bytes).unwrap()
            ));
        }
        names.join(" ")
    };
    let all = "app.yaml=a resources/x/one.yaml=1 resources/x/two.yaml=2 resources/y/three.yaml=3";
    let table: [(&[Entry<'_>], &str); 8] = [
        (&[], all),
        (&[file("etc/passwd", "x"), file("etc/.wh.gone", "")], all),
        (
            &[
                file(".registry/app.yaml", "b"),
                file(".registry/resources/x/.wh.one.yaml", ""),
            ],
            "app.yaml=b resources/x/two.yaml=2 resources/y/three.yaml=3",
        ),
        (
            &[file(".registry/resources/.wh.x", "")],
            "app.yaml=a resources/y/three.yaml=3",
        ),
        (
            &[
                file(".registry/resources/x/.wh..wh..opq", ""),
                file(".registry/resources/x/new.yaml", "n"),
            ],
            "app.yaml=a resources/x/new.yaml=n resources/y/three.yaml=3",
        ),
        // What removes does so only below; what the same layer adds stays, whichever comes first.
        (
            &[file(".registry/app.yaml", "b"), file(".wh..registry", "")],
            "app.yaml=b",
        ),
        (
            &[file(".wh..wh..opq", ""), file(".registry/app.yaml", "c")],
            "app.yaml=c",
        ),
        (
            &[file(".registry/resources/x", "f")],
            "app.yaml=a resources/x=f resources/y/three.yaml=3",
        ),
    ];
    for (upper, expected) in table {
        assert_eq!(names(&[base.clone(), layer(upper)]), expected, "{upper:?}");
    }
}

#[test]
fn hostile_layers_are_refused_with_what_is_wrong() {
    let limits = Limits {
        files: 3,
        file: 10,
        total: 15,
        unpacked: 20_000,
        entries: 8,
    };
    let many: Vec<String> = (0..9).map(|number| format!("other/{number}")).collect();
    let many: Vec<Entry<'_>> = many.iter().map(|name| file(name, "")).collect();
    let zeros = "0".repeat(30_000);
    let table: Vec<(Vec<Entry<'_>>, &str)> = vec![
        (
            vec![file("../../etc/passwd", "x")],
            "`../../etc/passwd` leads out of the image",
        ),
        (
            vec![file(".registry/../../x", "x")],
            "`.registry/../../x` leads out of the image",
        ),
        (
            vec![(".registry/a", EntryType::Symlink, "/etc/passwd")],
            "`.registry/a` is a link",
        ),
        (
            vec![(".registry/a", EntryType::Link, ".registry/b")],
            "`.registry/a` is a link",
        ),
        (
            vec![(".registry", EntryType::Symlink, "/etc")],
            "`.registry` is a link",
        ),
        (
            vec![(".registry/a", EntryType::Char, "")],
            "`.registry/a` is neither a file nor a directory",
        ),
        (
            vec![(".registry/a", EntryType::Fifo, "")],
            "`.registry/a` is neither a file nor a directory",
        ),
        (
            vec![file(".registry", "x")],
            "`.registry` is not a directory",
        ),
        (
            vec![file(".registry/a", "1"), file(".registry/a", "2")],
            "`.registry/a` is there twice in one layer",
        ),
        (
            vec![file(".registry/a\nb", "1")],
            "`.registry/a\\nb` has a control character in its name",
        ),
        (
            vec![file(".registry/a", "12345678901")],
            "`.registry/a` has 11 bytes, more than the 10 that are read",
        ),
        (
            vec![
                file(".registry/a", "1234567890"),
                file(".registry/b", "123456"),
            ],
            "the package has 16 bytes, more than the 15 that are read",
        ),
        (
            vec![
                file(".registry/a", ""),
                file(".registry/b", ""),
                file(".registry/c", ""),
                file(".registry/d", ""),
            ],
            "the package has more than 3 files",
        ),
        (many, "the image has more than 8 files"),
        (
            vec![file("zeros", &zeros)],
            "the layers of the image have more than 20000 bytes when unpacked",
        ),
    ];
    for (entries, expected) in table {
        assert_eq!(unpack(&[layer(&entries)], limits).unwrap_err(), expected);
    }
    // A refused layer changes nothing.
    let mut layers = Layers::new(limits);
    layers
        .add(&tar_type(), layer(&[file(".registry/a", "1")]).as_slice())
        .unwrap();
    let bad = layer(&[
        file(".registry/a", "2"),
        (".registry/b", EntryType::Fifo, ""),
    ]);
    layers.add(&tar_type(), bad.as_slice()).unwrap_err();
    assert_eq!(layers.into_files(), files(&[(".registry/a", "1")]));
}

#[test]
fn damaged_and_exploding_layers_are_refused() {
    let whole = layer(&[file(".registry/a", "content")]);
    let cut = &whole[..515];
    let refused = Layers::new(Limits::default())
        .add(&tar_type(), cut)
        .unwrap_err();
    assert!(
        refused
            .what
            .starts_with("a layer of the image cannot be read: "),
        "{refused}"
    );
    assert_eq!(
        refused.hint.as_deref(),
        Some("it is damaged, or was cut off on the way: push it again")
    );

    let html = Layers::new(Limits::default())
        .add(&MediaType::LAYER_GZIP, &b"<html>"[..])
        .unwrap_err();
    assert!(
        html.what
            .starts_with("a layer of the image cannot be read: "),
        "{html}"
    );

    let xz = MediaType::from("application/vnd.example.layer.tar+xz");
    let refused = Layers::new(Limits::default())
        .add(&xz, &b""[..])
        .unwrap_err();
    assert_eq!(
        refused.what,
        "a layer has the media type `application/vnd.example.layer.tar+xz`, which is not read here"
    );

    // A name of 100 MB, and 100 MB of zeros in 100 KB.
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::GNULongName);
    header.set_size(100 << 20);
    header.set_cksum();
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bomb.write_all(header.as_bytes()).unwrap();
    for _ in 0..100 {
        bomb.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let refused = Layers::new(Limits::default())
        .add(&MediaType::LAYER_GZIP, bomb.as_slice())
        .unwrap_err();
    assert_eq!(
        refused.what,
        "a layer of the image cannot be read: it has a name of 104857600 bytes"
    );
}

#[test]
fn layers_of_zstandard_are_read_within_the_same_limits() {
    let zstd = MediaType::from("application/vnd.oci.image.layer.v1.tar+zstd");
    let compressed = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
    let whole = compressed(&layer(&[
        file(".registry/a", "content"),
        file("elsewhere", "x"),
    ]));
    let mut layers = Layers::new(Limits::default());
    layers.add(&zstd, whole.as_slice()).unwrap();
    assert_eq!(
        layers.into_files(),
        Files::from([(".registry/a".to_owned(), b"content".to_vec())])
    );

    let cut = Layers::new(Limits::default())
        .add(&zstd, &whole[..whole.len() / 2])
        .unwrap_err();
    assert!(
        cut.what
            .starts_with("a layer of the image cannot be read: "),
        "{cut}"
    );
    let html = Layers::new(Limits::default())
        .add(&zstd, &b"<html>"[..])
        .unwrap_err();
    assert!(
        html.what
            .starts_with("a layer of the image cannot be read: "),
        "{html}"
    );

    // 64 MB of zeros in a few bytes.
    let bomb = compressed(&layer(&[file("elsewhere", &"\0".repeat(64 << 20))]));
    assert!(bomb.len() < 1 << 20);
    let limits = Limits {
        unpacked: 1 << 20,
        ..Limits::default()
    };
    let refused = Layers::new(limits).add(&zstd, bomb.as_slice()).unwrap_err();
    assert_eq!(
        refused.what,
        "the layers of the image have more than 1048576 bytes when unpacked"
    );

    // A frame that wants a window of gigabytes.
    let wide = [&0xFD2F_B528_u32.to_le_bytes()[..], &[0x00, 0xF8], &[0; 32]].concat();
    let refused = Layers::new(Limits::default())
        .add(&zstd, wide.as_slice())
        .unwrap_err();
    assert!(
        refused
            .what
            .starts_with("a layer of the image cannot be read: "),
        "{refused}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic_or_leave_the_directory(
        at in 0_usize..4096, bytes in proptest::collection::vec(any::<u8>(), 1..64), noise in any::<bool>(),
    ) {
        let zstd = MediaType::from("application/vnd.oci.image.layer.v1.tar+zstd");
        let _ = Layers::new(Limits::default()).add(&zstd, bytes.as_slice());
        let mut layer = layer(&[file(".registry/a", "content"), file(".registry/b/c", "more"), file("x", "y")]);
        if noise {
            layer = bytes;
        } else {
            let at = at % (layer.len() - bytes.len());
            layer[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        if let Ok(files) = unpack(&[layer], Limits::default()) {
            prop_assert!(files.keys().all(|path| path.starts_with(".registry/")));
        }
    }

    #[test]
    fn whatever_files_go_into_an_image_come_out_of_it(
        names in proptest::collection::btree_map("[a-z]{1,8}(/[a-z]{1,120}){0,3}", proptest::collection::vec(any::<u8>(), 0..600), 1..10),
    ) {
        let files: Files = names.into_iter().map(|(name, bytes)| (format!(".registry/{name}"), bytes)).collect();
        // A name cannot be both a file and a directory, and the tests of a package stay out of it.
        let clash = files.keys().any(|one| files.keys().any(|other| other.starts_with(&format!("{one}/"))));
        prop_assume!(!clash && !files.keys().any(|path| path.starts_with(".registry/tests")));
        let (package, _) = package::read(&files);
        let image = Image::build(&files, &package);
        prop_assert_eq!(Digest::of(&image.blobs[1].bytes), image.blobs[1].digest);
        let mut layers = Layers::new(Limits::default());
        layers.add(&MediaType::LAYER_GZIP, image.blobs[1].bytes.as_slice()).unwrap();
        prop_assert_eq!(layers.into_files(), files);
    }
}

#[test]
fn unpacking_is_bounded_and_stops_when_nobody_waits_for_it() {
    assert!(
        Limits::default().unpacked <= 512 << 20,
        "a few megabytes must not take a processor for long"
    );
    let zeros = layer(&[file("zeros", &"\0".repeat(8 << 20))]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&zeros).unwrap();
    let zstd = MediaType::from("application/vnd.oci.image.layer.v1.tar+zstd");
    for (media_type, bytes) in [
        (tar_type(), zeros.clone()),
        (MediaType::LAYER_GZIP, gzip.finish().unwrap()),
        (
            zstd,
            compress_to_vec(zeros.as_slice(), CompressionLevel::Fastest),
        ),
    ] {
        let asked = std::cell::Cell::new(0);
        let going = || {
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        let mut layers = Layers::new(Limits::default());
        let stopped = layers
            .add_while(&media_type, bytes.as_slice(), &going)
            .unwrap_err();
        assert_eq!(stopped.what, "unpacking the image was stopped");
        assert_eq!(asked.get(), 3, "{}", media_type.as_str());
        layers
            .add_while(&media_type, bytes.as_slice(), &|| true)
            .unwrap();
    }
}
