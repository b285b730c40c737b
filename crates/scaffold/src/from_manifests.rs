//! A stack from manifests: what they have in common becomes an API, and the instance that comes
//! with it is what they were.

use std::collections::{BTreeMap, BTreeSet};

use package::Files;
use serde_json::Value;

use crate::files::Made;
use crate::kinds::{autoscaler, checksum, helm, job, secret};
use crate::manifests::noise::cleaned;
use crate::manifests::split::{Manifest, Piece, Read, read};
use crate::manifests::unknown_kinds::mistaken;
use crate::manifests::unsupported::{perhaps_unfit, unfit};
use crate::names::{Names, camel};
use crate::rewrite::common_name::{base, rest};
use crate::rewrite::edit::escaped;
use crate::rewrite::fields::Fields;
use crate::rewrite::namespace;
use crate::rewrite::substitute::{Kept, Shared, Template, template};
use crate::rewrite::text_references::Known;
use crate::{files, missing_resources, shared_resources, verify};
use engine::{Place, Problem, object_path};

/// A stack that was made from manifests.
#[derive(Clone, Debug)]
pub struct Started {
    /// All its files.
    pub files: Files,
    /// The name of its instance: what the objects have in common.
    pub instance: String,
    /// The namespace of its instance, if the manifests have one.
    pub namespace: Option<String>,
    /// The fields of its spec.
    pub fields: Vec<String>,
    /// What became of each object.
    pub templates: Vec<Became>,
    /// What was left out or should be looked at.
    pub notes: Vec<Problem>,
}

/// An object of the manifests and its template.
#[derive(Clone, Debug)]
pub struct Became {
    /// The object, as people say it: `Service web`.
    pub title: String,
    /// Where it is in the manifests.
    pub place: Place,
    /// What its template is called.
    pub template: String,
}

/// Makes a stack of manifests, or says why there is none to be made of them.
pub fn from_manifests(names: &Names, manifests: &[Manifest]) -> Result<Started, Vec<Problem>> {
    let Read {
        pieces: read,
        left: mut notes,
        problems,
    } = read(manifests);
    let problems: Vec<Problem> = problems
        .into_iter()
        .chain(read.iter().filter_map(mistaken))
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let pieces = fitting(&read, &mut notes);
    if pieces.is_empty() {
        let is_empty = read.is_empty() && notes.is_empty();
        let what = if is_empty {
            "there is no object in the manifests"
        } else {
            "nothing is left of the manifests"
        };
        notes.push(
            Problem::general(what).hint("give files with a Deployment, a Service and the like"),
        );
        return Err(notes);
    }
    let given = namespace::namespace(&read)?;
    let namespace = given.clone().unwrap_or_else(|| "default".to_string());
    let pieces = autoscaler::unfixed(&pieces, &mut notes);
    let base = base(names, &pieces);
    let fields = Fields::of(&pieces, &base);
    let templates = template_names(&pieces, &base);
    twice(&pieces)?;
    let known = Known::of(&pieces, &base, &namespace);
    let shared = Shared {
        pieces: &pieces,
        fields: &fields,
        base: &base,
        namespace: given.as_deref(),
        known: &known,
    };
    notes.extend(missing_resources::missing(&shared, &read));
    let mut made = Vec::new();
    let mut texts = BTreeMap::new();
    let mut found = BTreeMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        let name = &templates[index];
        let template = template(&shared, index, name);
        notes.extend(shared_resources::fixed(piece));
        notes.extend(checksum::named(piece));
        notes.extend(checksum::fixed(names, piece, &pieces, &templates));
        texts.insert(name.clone(), template.text.clone());
        made.push(Made {
            template: name.clone(),
            piece,
            named: template.named,
        });
        found.insert(name.clone(), template);
    }
    let plan = Outline {
        names,
        base: &base,
        namespace: &namespace,
        fields: &fields,
        made: &made,
    };
    let instance = files::instance(names, &base, &namespace, &fields.all);
    let expected: BTreeMap<String, &Piece> = made
        .iter()
        .map(|made| (made.template.clone(), made.piece))
        .collect();
    let differing = verify::differing(&plan.files(&texts), &instance, &expected);
    for (name, why) in &differing {
        let Some(piece) = expected.get(name) else {
            continue;
        };
        texts.insert(name.clone(), escaped(&Piece::emitted(&piece.value)));
        let what = format!(
            "{} stays as it is, without the instance's values: with them {why}",
            piece.title()
        );
        notes.push(Problem::at(piece.place(), what).warning());
    }
    let files = plan.files(&texts);
    if !differing.is_empty()
        && let Some((name, why)) = verify::differing(&files, &instance, &expected)
            .into_iter()
            .next()
    {
        let place = expected.get(&name).map(|piece| piece.place());
        let what = format!("no template could be made that gives this object: {why}");
        return Err(vec![
            Problem {
                place,
                ..Problem::general(what)
            }
            .hint("leave it out of the manifests"),
        ]);
    }
    let stays = |name: &String| differing.iter().any(|(stays, _)| stays == name);
    let others = verify::others(&files, &instance, files::other(&made, &base));
    for Made {
        template, piece, ..
    } in made.iter().filter(|made| !stays(&made.template))
    {
        let other = others.get(template).unwrap_or(&piece.value);
        notes.extend(
            found
                .get(template)
                .into_iter()
                .flat_map(|found| words(names, &base, piece, found, other)),
        );
        notes.extend(shared_resources::kept(&shared, piece, other));
        notes.extend(namespace::kept(&shared, piece, other));
    }
    notes.sort();
    let became = |made: &Made<'_>| {
        let (title, place) = (made.piece.title(), made.piece.place());
        Became {
            title,
            place,
            template: made.template.clone(),
        }
    };
    let templates = made.iter().map(became).collect();
    let fields = fields.all.iter().map(|field| field.name.clone()).collect();
    Ok(Started {
        files,
        instance: base,
        namespace: given,
        fields,
        templates,
        notes,
    })
}

/// What should be looked at in a template, which makes another object for another instance.
fn words(
    names: &Names,
    base: &str,
    piece: &Piece,
    found: &Template,
    other: &Value,
) -> Vec<Problem> {
    let mut notes: Vec<Problem> = job::pinned(names, base, piece, &found.in_pods)
        .into_iter()
        .collect();
    let selects = shared_resources::selects(piece, other);
    let apart = "`app.kubernetes.io/instance: {{ .metadata.name | quote }}`";
    if !found.named {
        let what = format!(
            "{} keeps its name: two instances in a namespace would share it",
            piece.title()
        );
        // A name of its own alone would give two objects that find the same pods.
        let pods = if selects {
            String::new()
        } else {
            format!(" once its selector and its pods have {apart}")
        };
        let tests = format!("the cases in tests/{}.yaml expect the old name", names.name);
        let hint = format!(
            "`{{{{ .metadata.name }}}}-{}` gives each instance its own{pods}; {tests}",
            piece.name()
        );
        notes.push(Problem::at(piece.place(), what).warning().hint(hint));
    } else if !selects {
        let what = format!(
            "the selector of {} finds the pods of every instance in the namespace",
            piece.title()
        );
        let hint = format!("add {apart} to it and to the labels of the pods");
        notes.push(Problem::at(piece.place(), what).warning().hint(hint));
    }
    notes.extend(found.kept.iter().map(|kept| {
        let Kept { path, text, field } = kept;
        let what = format!(
            "{}: `{}` keeps `{text}`, which is a field elsewhere",
            piece.title(),
            object_path(path)
        );
        Problem::at(piece.place(), what).warning().hint(format!(
            "write `{{{{ .spec.{field} }}}}` there if it is the same"
        ))
    }));
    notes
}

/// The objects that a stack can make, clean; what becomes of the others is noted.
fn fitting(read: &[Piece], notes: &mut Vec<Problem>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut left = Vec::new();
    let mut dropped: BTreeMap<&str, (usize, BTreeSet<String>)> = BTreeMap::new();
    for piece in read {
        if let Some(note) = unfit(piece, read) {
            notes.push(note);
            continue;
        }
        notes.extend(perhaps_unfit(piece, read));
        let (clean, fields) = cleaned(piece);
        if !fields.is_empty() {
            let (count, all) = dropped.entry(&piece.file).or_default();
            *count += 1;
            all.extend(fields);
        }
        let clean = if secret::is_secret(&clean) {
            secret::drawn(&clean)
        } else {
            Ok(clean)
        };
        match clean {
            Ok(piece) => {
                let (piece, kept) = helm::staying(&piece)
                    .map_or((piece, None), |(piece, note)| (piece, Some(note)));
                notes.extend(helm::hooked(&piece).into_iter().chain(kept));
                let keys = if secret::is_secret(&piece) {
                    secret::keys(&piece.value)
                } else {
                    Vec::new()
                };
                if !keys.is_empty() {
                    let keys = keys.join(", ");
                    let what = format!(
                        "{}: {keys} will be drawn for each instance, nothing was copied",
                        piece.title()
                    );
                    let hint = "an instance that takes over from the manifests has new values";
                    notes.push(Problem::at(piece.place(), what).warning().hint(hint));
                }
                pieces.push(piece);
            }
            Err(why) => left.push((piece, why)),
        }
    }
    notes.extend(
        left.iter()
            .map(|(piece, why)| secret::left(piece, why, &pieces)),
    );
    for (file, (count, fields)) in dropped {
        let objects = if count == 1 {
            "an object".to_string()
        } else {
            format!("{count} objects")
        };
        let fields: Vec<String> = fields.into_iter().collect();
        let what = format!(
            "what a cluster wrote into {objects} is left out: {}",
            fields.join(", ")
        );
        notes.push(
            Problem {
                ..Problem::general(format!("{file}: {what}"))
            }
            .warning(),
        );
    }
    pieces
}

/// No object may be there twice.
fn twice(pieces: &[Piece]) -> Result<(), Vec<Problem>> {
    for (index, piece) in pieces.iter().enumerate() {
        let same = |other: &&Piece| other.gvk == piece.gvk && other.name() == piece.name();
        if let Some(first) = pieces[..index].iter().find(same) {
            let what = format!(
                "{} is there twice, first at {}",
                piece.title(),
                first.place()
            );
            return Err(vec![
                Problem::at(piece.place(), what).hint("leave one of them out"),
            ]);
        }
    }
    Ok(())
}

/// A name for each template: the kind, and of several of one kind what tells them apart.
fn template_names(pieces: &[Piece], base: &str) -> Vec<String> {
    let mut taken: BTreeSet<String> =
        ["apiVersion", "kind", "metadata", "spec", "status", "errors"]
            .map(String::from)
            .into();
    let mut names = Vec::new();
    for piece in pieces {
        let kind = camel(&piece.gvk.kind);
        let kind = if piece.gvk.kind == "ConfigMap" {
            "config".to_string()
        } else {
            kind.to_ascii_lowercase()
        };
        let alone = pieces
            .iter()
            .filter(|other| other.gvk.kind == piece.gvk.kind)
            .count()
            == 1;
        let rest = camel(&rest(piece.name(), base));
        // A file's name has an end, and so has the patience of readers.
        let rest = rest.get(..40).unwrap_or(&rest);
        let apart = format!("{rest}{}", super::names::pascal(&piece.gvk.kind));
        let mut wanted = if alone || rest.is_empty() {
            vec![kind, apart]
        } else {
            vec![apart]
        };
        wanted.retain(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
        let last = wanted
            .last()
            .cloned()
            .unwrap_or_else(|| "object".to_string());
        let numbered = (2..).map(|number| format!("{last}{number}"));
        let name = wanted
            .iter()
            .cloned()
            .chain(numbered)
            .find(|name| !taken.contains(name))
            .unwrap_or(last);
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// What the files of a stack are made of, besides its templates.
struct Outline<'o> {
    names: &'o Names,
    base: &'o str,
    namespace: &'o str,
    fields: &'o Fields,
    made: &'o [Made<'o>],
}

impl Outline<'_> {
    fn files(&self, templates: &BTreeMap<String, String>) -> Files {
        let Outline {
            names,
            base,
            namespace,
            fields,
            made,
        } = *self;
        let folder = format!(".registry/templates/{}", names.key());
        let (status, status_template) = files::status(made, base);
        let mut files = Files::new();
        let mut put = |path: String, text: String| drop(files.insert(path, text.into_bytes()));
        put(".registry/app.yaml".to_string(), files::app(names, made));
        put(
            format!(".registry/resources/{}.crd.yaml", names.singular),
            files::crd(names, &fields.all, &status),
        );
        put(format!("{folder}/status.yaml"), status_template);
        for (name, text) in templates {
            put(format!("{folder}/{name}.yaml"), text.clone());
        }
        put(
            format!("{}.yaml", names.name),
            files::instance(names, base, namespace, &fields.all),
        );
        put(
            format!("tests/{}.yaml", names.name),
            files::tests(names, base, namespace, &fields.all, made),
        );
        files
    }
}
