//! From the text of an object to the text of a template: fields of the spec and the instance's name
//! take the place of what was written there.

use std::collections::BTreeSet;

use serde_json::Value;
use yaml::{Scalar, Step};

use super::common_name::{addresses, holds, places};
use super::edit::{Edit, edited, look};
use super::field_meaning::{Sense, makes_secret, sense, texts};
use super::fields::{Field, Fields};
use super::text_references::{Known, is_address};
use crate::kinds::secret;
use crate::manifests::split::Piece;

const NAME: &str = "{{ .metadata.name }}";
const NAMESPACE: &str = "{{ .metadata.namespace }}";

/// What all objects of an application know.
pub(crate) struct Shared<'s> {
    pub pieces: &'s [Piece],
    pub fields: &'s Fields,
    pub base: &'s str,
    /// The namespace that the manifests have, if they have one.
    pub namespace: Option<&'s str>,
    pub known: &'s Known<'s>,
}

/// The text of a template for an object, and whether its name is the instance's or made of it.
pub(crate) struct Template {
    pub text: String,
    pub named: bool,
    /// The fields of the spec that its pods are made with.
    pub in_pods: BTreeSet<String>,
    /// What is a field elsewhere and stays as it is here.
    pub kept: Vec<Kept>,
}

/// A value that is a field of the spec elsewhere, inside of a text that nothing was replaced in.
pub(crate) struct Kept {
    pub path: Vec<Step>,
    pub text: String,
    pub field: String,
}

/// The template of one of the objects.
pub(crate) fn template(shared: &Shared<'_>, index: usize, name: &str) -> Template {
    let piece = &shared.pieces[index];
    let mut edits = Vec::new();
    let mut kept = Vec::new();
    let mut in_pods = BTreeSet::new();
    let scalars = yaml::parse_spanned(&piece.text)
        .map(|spanned| spanned.spans.scalars())
        .unwrap_or_default();
    for scalar in scalars.iter().filter(|scalar| !scalar.is_key) {
        // An alias stands for what is written where its anchor is.
        if piece.text[scalar.span.start..].starts_with('*') {
            continue;
        }
        if let Some(with) = secret::action(name, &scalar.path).filter(|_| secret::is_secret(piece))
        {
            edits.push(Edit {
                start: scalar.span.start,
                end: scalar.span.end,
                with,
            });
            continue;
        }
        if let Some(field) = shared.fields.at(shared.pieces, index, &scalar.path) {
            let quote = if field.default.is_string() {
                " | quote"
            } else {
                ""
            };
            let with = format!("{{{{ .spec.{}{quote} }}}}", field.name);
            edits.push(Edit {
                start: scalar.span.start,
                end: scalar.span.end,
                with,
            });
            in_pods.extend(is_in_pods(&scalar.path).then(|| field.name.clone()));
            continue;
        }
        let Some(value) = look(&piece.value, &scalar.path).and_then(Value::as_str) else {
            continue;
        };
        let raw = &piece.text[scalar.span.start..scalar.span.end];
        let meaning = sense(piece, &scalar.path);
        let mut found = shared.edits(piece, &meaning, &scalar.path, value, raw);
        if is_in_pods(&scalar.path) {
            let is_put = |field: &&Field| {
                found
                    .iter()
                    .any(|edit| edit.with.contains(&format!(".spec.{} ", field.name)))
            };
            in_pods.extend(
                shared
                    .fields
                    .all
                    .iter()
                    .filter(is_put)
                    .map(|field| field.name.clone()),
            );
        }
        if meaning == Sense::Free {
            kept.extend(shared.kept(scalar, raw, &found));
        }
        stay_a_text(raw, &mut found);
        edits.extend(found.into_iter().map(|edit| edit.moved(scalar.span.start)));
    }
    Template {
        text: edited(&piece.text, &mut edits),
        named: holds(piece.name(), shared.base),
        in_pods,
        kept,
    }
}

/// Whether something is part of what an object's pods are made from.
fn is_in_pods(path: &[Step]) -> bool {
    path.starts_with(&[Step::from("spec"), Step::from("template")])
}

/// Sees to it that a scalar without quotes reads as a text whatever the instance is called.
fn stay_a_text(raw: &str, edits: &mut Vec<Edit>) {
    let is_plain = !raw.starts_with(['"', '\'', '|', '>']);
    if edits.is_empty() || !is_plain {
        return;
    }
    let replaced = |at: usize| {
        edits
            .iter()
            .any(|edit| (edit.start..edit.end).contains(&at))
    };
    let mut between = raw
        .char_indices()
        .filter(|(at, _)| !replaced(*at))
        .map(|(_, c)| c)
        .peekable();
    if between.peek().is_none() && edits.len() == 1 {
        // Nothing else says that it is a text: the instance may be called `123`.
        let alone = edits
            .iter_mut()
            .filter(|edit| [NAME, NAMESPACE].contains(&edit.with.as_str()));
        alone.for_each(|edit| edit.with = edit.with.replace(" }}", " | quote }}"));
    } else if between.all(|c| c.is_ascii_digit() || ".:-+_eE".contains(c)) {
        let quote = |at: usize| Edit {
            start: at,
            end: at,
            with: "\"".to_string(),
        };
        edits.insert(0, quote(0));
        edits.push(quote(raw.len()));
    }
}

impl Shared<'_> {
    /// What takes the place of something in a text, by its place in it.
    fn edits(
        &self,
        piece: &Piece,
        meaning: &Sense,
        path: &[Step],
        value: &str,
        raw: &str,
    ) -> Vec<Edit> {
        let follows = match meaning {
            Sense::Word => false,
            Sense::Namespace if self.namespace == Some(value) => {
                let edit = |at: usize| Edit {
                    start: at,
                    end: at + value.len(),
                    with: NAMESPACE.to_string(),
                };
                return places(raw, value).into_iter().map(edit).collect();
            }
            Sense::Namespace => false,
            Sense::Own | Sense::Label => true,
            Sense::Object(kind) => self.makes(kind.as_deref(), value),
            Sense::Free => value == self.base && self.is_asked(piece, path),
        };
        if follows {
            let edit = |at: usize| Edit {
                start: at,
                end: at + self.base.len(),
                with: NAME.to_string(),
            };
            return places(raw, self.base).into_iter().map(edit).collect();
        }
        if *meaning != Sense::Free {
            return Vec::new();
        }
        let mut found = self.outside(value, raw);
        found.extend(self.known.edits(raw));
        found
    }

    /// Whether the stack makes an object of a name for each instance.
    pub fn makes(&self, kind: Option<&str>, name: &str) -> bool {
        if !holds(name, self.base) {
            return false;
        }
        let is_made =
            |piece: &Piece| piece.name() == name && kind.is_none_or(|kind| kind == piece.gvk.kind);
        self.pieces.iter().any(|piece| {
            is_made(piece)
                || match kind {
                    Some("Secret") => makes_secret_of(piece, name),
                    Some("PersistentVolumeClaim") => claims(piece, name, self.base),
                    Some("Pod") => pod(piece, name),
                    _ => false,
                }
        })
    }

    /// Whether a text that is the shared name, and nothing else, is asked for as an address.
    fn is_asked(&self, piece: &Piece, path: &[Step]) -> bool {
        let Some((Step::Key(last), above)) = path.split_last() else {
            return false;
        };
        let named = look(&piece.value, above)
            .and_then(|entry| entry["name"].as_str())
            .filter(|_| **last == *"value");
        is_address(named.unwrap_or(last))
            && self.pieces.iter().any(|piece| piece.name() == self.base)
    }

    /// Where hosts that are fields stand inside of another text.
    fn outside(&self, value: &str, raw: &str) -> Vec<Edit> {
        let mut found = Vec::new();
        for (host, field) in self.fields.hosts() {
            // A host that is all of an unquoted text may read as a number.
            let quote = if raw == host && value == host {
                " | quote"
            } else {
                ""
            };
            let with = format!("{{{{ .spec.{}{quote} }}}}", field.name);
            let edit = |at: usize| Edit {
                start: at,
                end: at + host.len(),
                with: with.clone(),
            };
            found.extend(addresses(raw, host).into_iter().map(edit));
        }
        found
    }

    /// The values of fields that a text holds besides what is replaced in it.
    fn kept(&self, scalar: &Scalar, raw: &str, edits: &[Edit]) -> Vec<Kept> {
        let replaced = |at: usize| {
            edits
                .iter()
                .any(|edit| (edit.start..edit.end).contains(&at))
        };
        let telling = self
            .fields
            .all
            .iter()
            .filter_map(|field| Some((field.telling()?, field)));
        let stays =
            telling.filter(|(text, _)| places(raw, text).into_iter().any(|at| !replaced(at)));
        let kept = |(text, field): (&str, &Field)| Kept {
            path: scalar.path.clone(),
            text: text.to_string(),
            field: field.name.clone(),
        };
        stays.map(kept).collect()
    }
}

/// Whether a controller makes a Secret of a name for an object.
pub(crate) fn makes_secret_of(piece: &Piece, name: &str) -> bool {
    let is_sealed = piece.gvk.kind == "SealedSecret" || piece.gvk.kind == "ExternalSecret";
    let mut found = Vec::new();
    texts(&piece.value, &mut Vec::new(), &mut found);
    let names = |(path, text): &(Vec<Step>, &str)| {
        let keys: Vec<&str> = path
            .iter()
            .map(|step| {
                if let Step::Key(key) = step {
                    &**key
                } else {
                    ""
                }
            })
            .collect();
        *text == name && makes_secret(piece, &keys)
    };
    (is_sealed && piece.name() == name) || found.iter().any(names)
}

/// Whether a claim of a name comes with the pods of a StatefulSet: `data-web-0`. The name of the
/// template, before the dash, is the same in all instances.
fn claims(piece: &Piece, name: &str, base: &str) -> bool {
    let templates = piece.value["spec"]["volumeClaimTemplates"]
        .as_array()
        .into_iter()
        .flatten();
    let mut names = templates.filter_map(|template| template["metadata"]["name"].as_str());
    names.any(|template| {
        !holds(template, base) && numbered(name, &format!("{template}-{}", piece.name()))
    })
}

/// Whether a pod of a name is one of a StatefulSet's.
fn pod(piece: &Piece, name: &str) -> bool {
    piece.gvk.kind == "StatefulSet" && numbered(name, piece.name())
}

fn numbered(name: &str, prefix: &str) -> bool {
    let number = name
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| {
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
