//! A stack from manifests: what they have in common becomes an API, and the instance that comes with it is what they
//! were.

use std::collections::{BTreeMap, BTreeSet};

use package::Files;

use super::base::{base, rest};
use super::edit::escaped;
use super::field::Fields;
use super::names::{Names, camel};
use super::noise::{cleaned, unfit};
use super::piece::{Manifest, Piece, read};
use super::substitute::{Kept, Shared, template};
use super::write::Made;
use super::{check, secret, write};
use crate::compile::fields::path as path_of;
use crate::problem::Problem;

/// A stack that was made from manifests.
#[derive(Clone, Debug)]
pub struct Started {
    /// All its files.
    pub files: Files,
    /// The name of its instance: what the objects have in common.
    pub instance: String,
    /// The fields of its spec.
    pub fields: Vec<String>,
    /// What became of each object: its title and its template.
    pub templates: Vec<(String, String)>,
    /// What was left out or should be looked at.
    pub notes: Vec<Problem>,
}

/// Makes a stack of manifests, or says why there is none to be made of them.
pub fn from(names: &Names, manifests: &[Manifest]) -> Result<Started, Vec<Problem>> {
    let (read, problems) = read(manifests);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut notes = Vec::new();
    let pieces = fitting(&read, &mut notes);
    if pieces.is_empty() {
        let what =
            if read.is_empty() { "there is no object in the manifests" } else { "nothing is left of the manifests" };
        notes.push(Problem::general(what).hint("give files with a Deployment, a Service and the like"));
        return Err(notes);
    }
    let namespace = namespace(&read)?;
    let base = base(names, &pieces);
    let fields = Fields::of(&pieces, &base);
    let templates = template_names(&pieces, &base);
    twice(&pieces)?;
    let shared = Shared { pieces: &pieces, fields: &fields, base: &base, namespace: namespace.as_deref() };
    let mut made = Vec::new();
    let mut texts = BTreeMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        let found = template(&shared, index, &templates[index]);
        if !found.named {
            let what = format!("{} keeps its name: two instances in a namespace would share it", piece.title());
            let hint = format!("`{{{{ .metadata.name }}}}-{}` gives each instance its own", piece.name());
            notes.push(Problem::at(piece.place(), what).warning().hint(hint));
        } else if !found.selects {
            let what = format!("the selector of {} finds the pods of every instance in the namespace", piece.title());
            let hint = "add `app.kubernetes.io/instance: {{ .metadata.name }}` to it and to the labels of the pods";
            notes.push(Problem::at(piece.place(), what).warning().hint(hint));
        }
        notes.extend(found.kept.iter().map(|kept| {
            let Kept { path, text, field } = kept;
            let what = format!("{}: `{}` keeps `{text}`, which is a field elsewhere", piece.title(), path_of(path));
            Problem::at(piece.place(), what)
                .warning()
                .hint(format!("write `{{{{ .spec.{field} }}}}` there if it is the same"))
        }));
        texts.insert(templates[index].clone(), found.text);
        made.push(Made { template: templates[index].clone(), piece, named: found.named });
    }
    let namespace = namespace.unwrap_or_else(|| "default".to_string());
    let instance = write::instance(names, &base, &namespace, &fields.all);
    let assembled = |texts: &BTreeMap<String, String>| assembled(names, &base, &fields, &made, &instance, texts);
    let expected: BTreeMap<String, &Piece> = made.iter().map(|made| (made.template.clone(), made.piece)).collect();
    let differing = check::differing(&assembled(&texts), &instance, &expected);
    for (name, why) in &differing {
        let Some(piece) = expected.get(name) else { continue };
        texts.insert(name.clone(), escaped(&Piece::emitted(&piece.value)));
        let what = format!("{} stays as it is, without the instance's values: with them {why}", piece.title());
        notes.push(Problem::at(piece.place(), what).warning());
    }
    let files = assembled(&texts);
    if !differing.is_empty()
        && let Some((name, why)) = check::differing(&files, &instance, &expected).into_iter().next()
    {
        let place = expected.get(&name).map(|piece| piece.place());
        let what = format!("no template could be made that gives this object: {why}");
        return Err(vec![Problem { place, ..Problem::general(what) }.hint("leave it out of the manifests")]);
    }
    notes.sort();
    let titles = made.iter().map(|made| (made.piece.title(), made.template.clone())).collect();
    let fields = fields.all.iter().map(|field| field.name.clone()).collect();
    Ok(Started { files, instance: base, fields, templates: titles, notes })
}

/// The objects that a stack can make, clean; what becomes of the others is noted.
fn fitting(read: &[Piece], notes: &mut Vec<Problem>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut dropped: BTreeMap<&str, (usize, BTreeSet<String>)> = BTreeMap::new();
    for piece in read {
        if let Some(note) = unfit(piece) {
            notes.push(note);
            continue;
        }
        let (clean, fields) = cleaned(piece);
        if !fields.is_empty() {
            let (count, all) = dropped.entry(&piece.file).or_default();
            *count += 1;
            all.extend(fields);
        }
        let clean = if secret::is_secret(&clean) { secret::drawn(&clean) } else { Ok(clean) };
        match clean {
            Ok(piece) => {
                if secret::is_secret(&piece) {
                    let keys = secret::keys(&piece.value).join(", ");
                    let what = format!("{}: {keys} will be drawn for each instance, nothing was copied", piece.title());
                    let hint = "an instance that takes over from the manifests has new values";
                    notes.push(Problem::at(piece.place(), what).warning().hint(hint));
                }
                pieces.push(piece);
            }
            Err(note) => notes.push(note),
        }
    }
    for (file, (count, fields)) in dropped {
        let objects = if count == 1 { "an object".to_string() } else { format!("{count} objects") };
        let fields: Vec<String> = fields.into_iter().collect();
        let what = format!("what a cluster wrote into {objects} is left out: {}", fields.join(", "));
        notes.push(Problem { ..Problem::general(format!("{file}: {what}")) }.warning());
    }
    pieces
}

/// The namespace that the objects share. What an instance makes is all in one.
fn namespace(pieces: &[Piece]) -> Result<Option<String>, Vec<Problem>> {
    let mut found: Option<(&str, &Piece)> = None;
    for piece in pieces {
        let Some(namespace) = piece.value["metadata"]["namespace"].as_str() else { continue };
        match found {
            Some((known, first)) if known != namespace => {
                let what = format!("{} is in the namespace {namespace}, {} in {known}", piece.title(), first.title());
                let hint = "what an instance makes is in its own namespace: make a stack of each";
                return Err(vec![Problem::at(piece.place(), what).hint(hint)]);
            }
            _ => found = Some((namespace, piece)),
        }
    }
    Ok(found.map(|(namespace, _)| namespace.to_string()))
}

/// No object may be there twice.
fn twice(pieces: &[Piece]) -> Result<(), Vec<Problem>> {
    for (index, piece) in pieces.iter().enumerate() {
        let same = |other: &&Piece| other.gvk == piece.gvk && other.name() == piece.name();
        if let Some(first) = pieces[..index].iter().find(same) {
            let what = format!("{} is there twice, first at {}", piece.title(), first.place());
            return Err(vec![Problem::at(piece.place(), what).hint("leave one of them out")]);
        }
    }
    Ok(())
}

/// A name for each template: the kind, and of several of one kind what tells them apart.
fn template_names(pieces: &[Piece], base: &str) -> Vec<String> {
    let mut taken: BTreeSet<String> =
        ["apiVersion", "kind", "metadata", "spec", "status", "errors"].map(String::from).into();
    let mut names = Vec::new();
    for piece in pieces {
        let kind = camel(&piece.gvk.kind);
        let kind = if piece.gvk.kind == "ConfigMap" { "config".to_string() } else { kind.to_ascii_lowercase() };
        let alone = pieces.iter().filter(|other| other.gvk.kind == piece.gvk.kind).count() == 1;
        let rest = camel(&rest(piece.name(), base));
        let apart = format!("{rest}{}", super::names::pascal(&piece.gvk.kind));
        let mut wanted = if alone || rest.is_empty() { vec![kind, apart] } else { vec![apart] };
        wanted.retain(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
        let last = wanted.last().cloned().unwrap_or_else(|| "object".to_string());
        let numbered = (2..).map(|number| format!("{last}{number}"));
        let name = wanted.iter().cloned().chain(numbered).find(|name| !taken.contains(name)).unwrap_or(last);
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

fn assembled(
    names: &Names,
    base: &str,
    fields: &Fields,
    made: &[Made<'_>],
    instance: &str,
    texts: &BTreeMap<String, String>,
) -> Files {
    let folder = format!(".registry/templates/{}", names.key());
    let (status, status_template) = write::status(made);
    let mut files = Files::new();
    let mut put = |path: String, text: String| drop(files.insert(path, text.into_bytes()));
    put(".registry/app.yaml".to_string(), write::app(names, made));
    put(format!(".registry/resources/{}.crd.yaml", names.singular), write::crd(names, &fields.all, &status));
    put(format!("{folder}/status.yaml"), status_template);
    for (name, text) in texts {
        put(format!("{folder}/{name}.yaml"), text.clone());
    }
    put(format!("{}.yaml", names.name), instance.to_string());
    put(format!("tests/{}.yaml", names.name), write::tests(names, base, &fields.all, made));
    files
}
