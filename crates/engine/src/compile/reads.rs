//! What a template reads: each path against the schema it should fit, and the siblings it depends
//! on.

use std::collections::{BTreeMap, BTreeSet};

use gotpl::{Analysis, Read, Step, Use, UseKind};
use objects::{Lookup, Path, Schema, Type, nearest};

use crate::compile::{Child, Shape};
use crate::problem::{Place, Problem};
use crate::stack::{Kind, Stack};

/// What a template of a kind can see.
pub(super) struct Scene<'s> {
    pub kind: &'s Kind,
    pub names: &'s BTreeSet<&'s str>,
    pub children: &'s [Child],
    pub stack: &'s Stack,
}

impl Scene<'_> {
    /// Whether the stack itself brings the kind of a child.
    fn owns(&self, child: &Child) -> bool {
        self.stack.kinds.iter().any(|kind| kind.gvk == child.gvk)
    }

    /// The line of a source that reads something.
    fn line(&self, read: &Read) -> Option<&str> {
        let sources = self
            .kind
            .templates
            .values()
            .chain(&self.kind.status)
            .chain(self.stack.partials.values());
        let source = sources
            .into_iter()
            .find(|source| source.file == *read.site.source)?;
        source.text.lines().nth(read.site.line.checked_sub(1)?)
    }

    /// The place of one step of a path. Go places a chain such as `.spec.image` at its second step;
    /// the text tells where the others are, unless the path was put together from variables.
    fn step(&self, read: &Read, step: usize) -> Place {
        let place = Place::from(&read.site);
        let names: Option<Vec<&str>> = read
            .path
            .0
            .iter()
            .map(|step| match step {
                Step::Key(key) => Some(&**key),
                _ => None,
            })
            .collect();
        let (Some(names), Some(line)) = (names, self.line(read)) else {
            return place;
        };
        let chain: String = names.iter().map(|name| format!(".{name}")).collect();
        // The site is that of the second step of the whole chain, of which this read may be the
        // first step only.
        let starts = [names[0].len() + 1, 0].map(|before| read.site.column.checked_sub(before));
        let is_chain = |start: &usize| {
            line.get(*start..)
                .is_some_and(|rest| rest.starts_with(&chain))
        };
        let Some(start) = starts.into_iter().flatten().find(is_chain) else {
            return place;
        };
        let offset: usize = names[..step.min(names.len())]
            .iter()
            .map(|name| name.len() + 1)
            .sum();
        Place {
            column: Some(start + offset + 1),
            ..place
        }
    }
}

/// What the reads of a template come to.
pub(super) struct Reads {
    /// The siblings it reads, and how.
    pub siblings: BTreeMap<String, Needed>,
    /// Whether it reads its own object.
    pub itself: bool,
    /// Whether it reads its instance's own status.
    pub own_status: bool,
    /// Whether it prints all of its data at once.
    pub prints_all: bool,
}

/// How a template depends on a sibling.
#[derive(Clone, Debug, Default)]
pub(super) struct Needed {
    /// A read that must have an answer before anything can be made: what, and where.
    pub strict: Option<(String, Place)>,
}

/// Checks every read of a template; `own` is its name, none for the status template.
pub(super) fn check(
    scene: &Scene<'_>,
    own: Option<&str>,
    analysis: &Analysis,
    problems: &mut Vec<Problem>,
) -> Reads {
    let mut reads = Reads {
        siblings: BTreeMap::new(),
        itself: false,
        own_status: false,
        prints_all: false,
    };
    for (index, read) in analysis.trace.reads.iter().enumerate() {
        let Some(Step::Key(root)) = read.path.0.first() else {
            let prints = |end: &Use| {
                matches!(end.kind, UseKind::Text | UseKind::Failure) && end.reads.contains(&index)
            };
            reads.prints_all |= analysis.trace.uses.iter().any(prints);
            continue;
        };
        let root = &**root;
        if scene.names.contains(root) {
            if Some(root) == own {
                reads.itself = true;
            } else {
                let needed = reads.siblings.entry(root.to_string()).or_default();
                if is_strict(analysis, index) {
                    needed
                        .strict
                        .get_or_insert_with(|| (read.path.to_string(), scene.step(read, 0)));
                }
            }
            check_sibling(scene, root, read, problems);
        } else if root == "errors" && own.is_none() {
            check_errors(scene, read, problems);
        } else {
            reads.own_status |= root == "status";
            check_own(scene, read, problems);
        }
    }
    reads
}

/// Whether a read has to have an answer: it reaches the text, and no guard answers for it.
fn is_strict(analysis: &Analysis, read: usize) -> bool {
    let mut ends = analysis
        .trace
        .uses
        .iter()
        .filter(|end| end.reads.contains(&read));
    let guarded = analysis
        .trace
        .uses
        .iter()
        .any(|end| end.kind == UseKind::Guard && end.reads.contains(&read));
    !guarded && ends.any(|end| matches!(end.kind, UseKind::Text | UseKind::Failure))
}

fn check_own(scene: &Scene<'_>, read: &Read, problems: &mut Vec<Problem>) {
    let Some(schema) = &scene.kind.schema else {
        return;
    };
    // Reading a path reads its prefixes too: only the first step that leads nowhere is reported,
    // once.
    let Lookup::Missing(missing) = schema.lookup(&path(&read.path.0)) else {
        return;
    };
    if missing.step + 1 != read.path.0.len() {
        return;
    }
    let what = format!("`.{}` does not exist: {missing}", read.path);
    let sibling = (missing.step == 0)
        .then(|| nearest(&read.path.to_string(), scene.names.iter().copied()))
        .flatten();
    let problem = Problem::at(scene.step(read, missing.step), what);
    if let Some(hint) = misplaced(scene, read, missing.step) {
        problems.push(problem.hint(hint));
        return;
    }
    problems.push(match (missing.suggestion.as_deref(), sibling) {
        (Some(near), _) => problem.hint(format!("did you mean `{near}`?")),
        (None, Some(near)) if !is_word(near) => {
            problem.hint(format!("did you mean `{}`?", written(near)))
        }
        (None, Some(near)) => problem.hint(format!("did you mean `{near}`?")),
        _ if is_of_chart(read.path.0.first()) => problem.hint(NO_CHART),
        _ if missing.step == 0 => problem.hint(format!("there are {}", listed(scene))),
        _ => problem.hint(way_out(schema, &read.path.0, missing.step)),
    });
}

const NO_CHART: &str =
    "this is no chart: what a user sets is under `.spec`, the instance's name is `.metadata.name`";

fn is_of_chart(step: Option<&Step>) -> bool {
    matches!(step, Some(Step::Key(root)) if ["Values", "Release", "Chart"].contains(&&**root))
}

/// What to do about a read of something at the top, inside of a `with` or `range` that has moved
/// the dot.
fn misplaced(scene: &Scene<'_>, read: &Read, step: usize) -> Option<String> {
    let Step::Key(name) = read.path.0.get(step)? else {
        return None;
    };
    let top = ["apiVersion", "kind", "metadata", "spec", "status"].contains(&&**name)
        || scene.names.contains(&**name);
    let chart = is_of_chart(read.path.0.get(step));
    if step == 0 || !(top || chart) {
        return None;
    }
    let line = scene.line(read)?;
    // Where the whole path is written out, the dot is the instance.
    let before = path(&read.path.0[..step]);
    if line.contains(&format!(".{before}.{name}")) {
        return None;
    }
    let start = line.find(&format!(".{name}"))?;
    let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let written: String = line[start..].chars().take_while(|c| is_part(*c)).collect();
    let here = format!("`.` is `.{before}` here");
    Some(if chart {
        format!("{here}, and {NO_CHART}")
    } else {
        format!("{here}: write `${written}`")
    })
}

/// What to do about a step that leads nowhere.
fn way_out(schema: &Schema, steps: &[Step], step: usize) -> String {
    let before = path(&steps[..step]);
    let kind = match schema.lookup(&before) {
        Lookup::Known(schema) if schema.int_or_string => None,
        Lookup::Known(schema) => schema.kind,
        _ => Some(Type::Object),
    };
    match (kind, &steps[step]) {
        (Some(Type::Object), _) => "add the field to the CRD's schema".to_string(),
        (Some(Type::Array), Step::Key(name)) => {
            format!(
                "`{{{{ range .{before} }}}}{{{{ .{name} }}}}{{{{ end }}}}`, or one item: `(index .{before} 0).{name}`"
            )
        }
        (_, Step::Key(_)) => format!("it is a single value: print it as `.{before}`"),
        _ => format!("it is no list to go through: print it as `.{before}`"),
    }
}

fn listed(scene: &Scene<'_>) -> String {
    let own = scene
        .kind
        .schema
        .iter()
        .flat_map(|schema| schema.properties.keys())
        .map(String::as_str);
    let mut names: BTreeSet<&str> = own
        .chain(["metadata"])
        .chain(scene.names.iter().copied())
        .collect();
    names.retain(|name| !name.is_empty());
    names
        .iter()
        .map(|name| format!("`{}`", written(name)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn is_word(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// How a template writes what is called so at the top: a field only if its name is one word.
pub(super) fn written(name: &str) -> String {
    if is_word(name) {
        format!(".{name}")
    } else {
        format!("(index . {name:?})")
    }
}

/// How a path with a dash in it is written, if one stands at a place of a source.
pub(super) fn dashed(source: &str, place: &Place) -> Option<String> {
    let line: Vec<char> = source
        .lines()
        .nth(place.line.checked_sub(1)?)?
        .chars()
        .collect();
    let is_part = |c: &char| c.is_alphanumeric() || ['_', '.', '$', '-'].contains(c);
    let column = place.column?.checked_sub(1)?;
    let start = line
        .get(..column)?
        .iter()
        .rposition(|c| !is_part(c))
        .map_or(0, |before| before + 1);
    let path: String = line
        .get(start..)?
        .iter()
        .take_while(|c| is_part(c))
        .collect();
    let dot = path[..path.find('-')?].rfind('.')?;
    let (root, rest) = (&path[..dot], &path[dot + 1..]);
    let (name, after) = rest.split_at(rest.find('.').unwrap_or(rest.len()));
    let root = if root.is_empty() { "." } else { root };
    (!name.ends_with('-')).then(|| format!("(index {root} {name:?}){after}"))
}

fn check_sibling(scene: &Scene<'_>, name: &str, read: &Read, problems: &mut Vec<Problem>) {
    let Some(child) = scene.children.iter().find(|child| child.name == name) else {
        return;
    };
    let inner = &read.path.0[1..];
    if child.shape == Shape::Collection {
        if let Some(Step::Key(field)) = inner.first()
            && inner.len() == 1
        {
            // A name that reads what does not exist is reported as such; the list would only be an
            // echo of it.
            let broken = |(read, _): &(Path, Place)| {
                let schema = scene.kind.schema.as_ref();
                schema.is_some_and(|schema| matches!(schema.lookup(read), Lookup::Missing(_)))
            };
            if child.named_by.iter().any(broken) {
                return;
            }
            let what = format!(
                "`.{name}` is a list: the template makes several objects, so `.{name}.{field}` means none of them"
            );
            let hint = format!(
                "`{{{{ range .{name} }}}}{{{{ .{field} }}}}{{{{ end }}}}`, or give the object a name made of .metadata only"
            );
            let because = child
                .named_by
                .first()
                .map(|(path, place)| format!("; its name reads `.{path}` ({})", place.short()));
            problems.push(Problem::at(&read.site, what + &because.unwrap_or_default()).hint(hint));
        }
        return;
    }
    if let Some(schema) = &child.schema
        && let Lookup::Missing(missing) = schema.lookup(&path(inner))
        && missing.step + 1 == inner.len()
    {
        let place = scene.step(read, missing.step + 1);
        let problem = Problem::at(place, format!("`.{}` does not exist: {missing}", read.path));
        problems.push(match &missing.suggestion {
            Some(near) => problem.hint(format!("did you mean `{near}`?")),
            None if scene.owns(child) => problem.hint(way_out(schema, inner, missing.step)),
            None => problem,
        });
    }
}

fn check_errors(scene: &Scene<'_>, read: &Read, problems: &mut Vec<Problem>) {
    if let Some(Step::Key(name)) = read.path.0.get(1)
        && !scene.names.contains(&**name)
    {
        let problem = Problem::at(
            &read.site,
            format!("`.errors.{name}`: there is no template {name:?}"),
        );
        problems.push(match nearest(name, scene.names.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean `.errors.{near}`?")),
            None => problem,
        });
    }
}

/// A path of the data as a path into an object.
pub(super) fn path(steps: &[Step]) -> Path {
    let step = |step: &Step| match step {
        Step::Key(key) => objects::Step::from(&**key),
        Step::Index(index) => objects::Step::from(*index),
        Step::Any => objects::Step::Each,
    };
    steps.iter().map(step).collect()
}
