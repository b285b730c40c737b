//! What stands for the contents of a ConfigMap or Secret, so that pods start anew when they change,
//! and no longer follows them.

use yaml::Step;

use crate::manifests::split::Piece;
use crate::names::Names;
use crate::rewrite::field_meaning::{Sense, sense, texts};
use engine::Problem;

/// What kustomize writes a hash with.
const HASHED: &str = "bcdfghkmt2456789";

/// Words on checksums among the annotations of an object's pods.
pub(crate) fn fixed(
    names: &Names,
    piece: &Piece,
    pieces: &[Piece],
    templates: &[String],
) -> Vec<Problem> {
    let path = ["spec", "template", "metadata", "annotations"].map(Step::from);
    let annotations = piece.value["spec"]["template"]["metadata"]["annotations"].as_object();
    let keys = annotations
        .into_iter()
        .flat_map(|annotations| annotations.keys())
        .filter(|key| key.contains("checksum"));
    let word = |key: &String| {
        let template = summed(key, piece, pieces, templates)?;
        let what = format!(
            "{}: the annotation `{key}` of its pods is the same whatever `{template}` makes: they do not start anew when that changes",
            piece.title()
        );
        let hint = format!(
            "write `{{{{ .{template}.data | toJson | sha256sum }}}}` there; the cases in tests/{}.yaml expect the old value",
            names.name
        );
        let path = [&path[..], &[Step::from(key.as_str())]].concat();
        Some(
            Problem::at(piece.place_of(&path), what)
                .warning()
                .hint(hint),
        )
    };
    keys.filter_map(word).collect()
}

/// A word on an object that kustomize named by its contents.
pub(crate) fn named(piece: &Piece) -> Option<Problem> {
    let is_settings = piece.is_core("ConfigMap") || piece.is_core("Secret");
    let hash = piece.name().rsplit_once('-').map(|(_, end)| end)?;
    let is_hash = hash.len() == 10
        && hash.chars().all(|c| HASHED.contains(c))
        && hash.contains(|c: char| c.is_ascii_digit())
        && hash.contains(|c: char| c.is_ascii_alphabetic());
    let what = format!(
        "{}: kustomize named it by its contents, and the name stays when they change",
        piece.title()
    );
    let hint = "set `generatorOptions.disableNameSuffixHash: true`, and give the pods that use it an annotation such as \
                `checksum/config: {{ .config.data | toJson | sha256sum }}`";
    (is_settings && is_hash).then(|| Problem::at(piece.place(), what).warning().hint(hint))
}

/// The template of what a checksum is likely to be of: a ConfigMap that the pods use, or a Secret
/// if the key says so.
fn summed<'t>(
    key: &str,
    piece: &Piece,
    pieces: &[Piece],
    templates: &'t [String],
) -> Option<&'t String> {
    let mut found = Vec::new();
    texts(&piece.value, &mut Vec::new(), &mut found);
    let used = |kind: &str| {
        let is_used = |other: &Piece| {
            let names = |(path, text): &(Vec<Step>, &str)| {
                *text == other.name() && sense(piece, path) == Sense::Object(Some(kind.to_string()))
            };
            other.is_core(kind) && found.iter().any(names)
        };
        pieces.iter().position(is_used)
    };
    let is_secret = key.to_ascii_lowercase().contains("secret");
    let order = if is_secret {
        ["Secret", "ConfigMap"]
    } else {
        ["ConfigMap", "Secret"]
    };
    templates.get(order.into_iter().find_map(used)?)
}
