//! Which object a template makes, found without an instance: what apiVersion, kind and name depend
//! on is read off the sketch.

use std::collections::BTreeSet;
use std::ops::Range;

use objects::{ApiVersion, Gvk};

use super::dry_run::{Found, Sketch};
use crate::compile::Shape;
use crate::problem::{Place, Problem};

/// What a template makes.
pub(super) struct Identity {
    pub gvk: Gvk,
    pub shape: Shape,
    /// Namespace and name, if it makes one object.
    pub name: Option<(String, String)>,
    /// For a collection: what the name reads, and where.
    pub named_by: Vec<(objects::Path, Place)>,
    /// Where the parts of the identity stand, in the first document.
    pub places: Places,
}

/// Where the parts of an identity stand.
#[derive(Clone)]
pub(super) struct Places {
    pub api_version: Place,
    pub kind: Place,
    pub name: Place,
}

/// The kind that a template makes, and whether it is one object or a collection.
pub(super) fn find(sketch: &Sketch<'_>, problems: &mut Vec<Problem>) -> Option<Identity> {
    let documents = sketch.documents();
    if documents.is_empty() {
        let what = "the template makes nothing: it has no apiVersion and kind";
        problems.push(
            Problem::at(sketch.place(0), what)
                .hint("every template needs apiVersion, kind and metadata.name"),
        );
        return None;
    }
    let mut gvk: Option<Gvk> = None;
    let mut names: BTreeSet<(String, String)> = BTreeSet::new();
    let mut one = documents.len() == 1;
    let mut named_by = Vec::new();
    let mut places: Option<Places> = None;
    for document in &documents {
        sketch.is_yaml(document, problems)?;
        let (found, api_version, kind) = kind_of(sketch, document, problems)?;
        match &gvk {
            None => gvk = Some(found),
            Some(known) if *known == found => {}
            Some(known) => {
                let what = format!(
                    "a template makes objects of one kind, but this one makes {known} and {found}"
                );
                problems
                    .push(Problem::at(kind, what).hint("put each kind into a template of its own"));
                return None;
            }
        }
        let Some(name) = sketch.field(document, &["metadata", "name"]) else {
            let metadata = sketch.field(document, &["metadata"]);
            let place = metadata.map_or(kind, |metadata| sketch.place(metadata.range.start));
            let problem = Problem::at(place, "metadata.name is missing");
            problems.push(
                problem.hint("for one object per instance: `name: {{ .metadata.name }}-...`"),
            );
            return None;
        };
        let namespace = sketch.field(document, &["metadata", "namespace"]);
        one &= sketch.is_static(document, &name)
            && namespace
                .as_ref()
                .is_none_or(|found| sketch.is_static(document, found));
        one &= !sketch.in_loop(document);
        places.get_or_insert_with(|| Places {
            api_version,
            kind,
            name: sketch.place(name.range.start),
        });
        named_by.extend(sketch.unknown_reads(&name));
        names.insert((
            namespace.map(|found| found.value).unwrap_or_default(),
            name.value,
        ));
    }
    // Two documents with the same name are the two sides of a branch around one object.
    one |= documents.len() > 1
        && names.len() == 1
        && documents
            .iter()
            .all(|document| is_static_name(sketch, document));
    let shape = if one { Shape::One } else { Shape::Collection };
    let name = if one { names.into_iter().next() } else { None };
    Some(Identity {
        gvk: gvk?,
        shape,
        name,
        named_by,
        places: places?,
    })
}

fn is_static_name(sketch: &Sketch<'_>, document: &Range<usize>) -> bool {
    let name = sketch.field(document, &["metadata", "name"]);
    name.is_some_and(|name| sketch.is_static(document, &name)) && !sketch.in_loop(document)
}

/// The kind of a document, with the places of its apiVersion and of the kind itself.
fn kind_of(
    sketch: &Sketch<'_>,
    document: &Range<usize>,
    problems: &mut Vec<Problem>,
) -> Option<(Gvk, Place, Place)> {
    let mut part = |field: &str| -> Option<Found> {
        let Some(found) = sketch
            .field(document, &[field])
            .filter(|found| !found.value.is_empty())
        else {
            let skipped = sketch.text[document.clone()]
                .find(|c: char| !c.is_whitespace())
                .unwrap_or(0);
            let problem = Problem::at(
                sketch.place(document.start + skipped),
                format!("{field} is missing"),
            );
            problems.push(problem.hint(format!("write `{field}: ...` as one of the first lines")));
            return None;
        };
        if !sketch.is_static(document, &found) {
            let what = format!(
                "{field} must not depend on anything: it is known before there is an instance"
            );
            let problem = Problem::at(sketch.place(found.range.start), what);
            problems.push(
                problem.hint(
                    "use two templates, each with its own kind, and an `if` around one of them",
                ),
            );
            return None;
        }
        Some(found)
    };
    let (api_version, kind) = (part("apiVersion"), part("kind"));
    let (api_version, kind) = (api_version?, kind?);
    let (version_place, kind_place) = (
        sketch.place(api_version.range.start),
        sketch.place(kind.range.start),
    );
    let Some(parsed) = ApiVersion::parse(&api_version.value) else {
        let what = format!("{:?} is not an apiVersion", api_version.value);
        problems.push(Problem::at(version_place, what).hint("write `v1` or `group/version`"));
        return None;
    };
    Some((parsed.kind(&kind.value), version_place, kind_place))
}
