//! From the text of an object to the text of a template: fields of the spec and the instance's name take the place of
//! what was written there.

use serde_json::Value;
use yaml::{Scalar, Step};

use super::base::{addresses, holds, hosts, places};
use super::edit::{Edit, edited, look};
use super::field::{Field, Fields};
use super::piece::Piece;
use super::secret;

const NAME: &str = "{{ .metadata.name }}";
const NAMESPACE: &str = "{{ .metadata.namespace }}";

/// Fields that name another object, besides `name`.
const REFERENCES: [&str; 9] = [
    "claimName",
    "generateName",
    "persistentVolumeClaimName",
    "secretName",
    "serviceAccount",
    "serviceAccountName",
    "serviceName",
    "statefulset.kubernetes.io/pod-name",
    "volumeName",
];
/// What has names that are known inside of its object alone.
const LOCAL: [&str; 12] = [
    "containers",
    "env",
    "ephemeralContainers",
    "httpHeaders",
    "initContainers",
    "port",
    "ports",
    "resource",
    "volumeClaimTemplates",
    "volumeDevices",
    "volumeMounts",
    "volumes",
];
/// Where labels stand.
const LABELS: [&str; 4] = ["labels", "matchLabels", "selector", "nodeSelector"];
/// Labels that say what an application is, not which.
const WHAT: [&str; 3] = ["app.kubernetes.io/component", "app.kubernetes.io/version", "helm.sh/chart"];

/// What all objects of an application know.
pub(super) struct Shared<'s> {
    pub pieces: &'s [Piece],
    pub fields: &'s Fields,
    pub base: &'s str,
    pub namespace: Option<&'s str>,
}

/// The text of a template for an object, and whether its name is the instance's or made of it.
pub(super) struct Template {
    pub text: String,
    pub named: bool,
    /// Whether its selector, if it has one, tells instances apart.
    pub selects: bool,
    /// What is a field elsewhere and stays as it is here.
    pub kept: Vec<Kept>,
}

/// A value that is a field of the spec elsewhere, inside of a text that nothing was replaced in.
pub(super) struct Kept {
    pub path: Vec<Step>,
    pub text: String,
    pub field: String,
}

/// The template of one of the objects.
pub(super) fn template(shared: &Shared<'_>, index: usize, name: &str) -> Template {
    let piece = &shared.pieces[index];
    let mut edits = Vec::new();
    let mut kept = Vec::new();
    let mut selects = selector(&piece.value).is_none();
    let scalars = yaml::parse_spanned(&piece.text).map(|spanned| spanned.spans.scalars()).unwrap_or_default();
    for scalar in scalars.iter().filter(|scalar| !scalar.is_key) {
        // An alias stands for what is written where its anchor is.
        if piece.text[scalar.span.start..].starts_with('*') {
            continue;
        }
        if let Some(with) = secret::action(name, &scalar.path).filter(|_| secret::is_secret(piece)) {
            edits.push(Edit { start: scalar.span.start, end: scalar.span.end, with });
            continue;
        }
        if let Some(field) = shared.fields.at(shared.pieces, index, &scalar.path) {
            let quote = if field.default.is_string() { " | quote" } else { "" };
            let with = format!("{{{{ .spec.{}{quote} }}}}", field.name);
            edits.push(Edit { start: scalar.span.start, end: scalar.span.end, with });
            continue;
        }
        let found = shared.names(piece, scalar);
        let in_selector = scalar.path.get(1).is_some_and(|step| *step == Step::from("selector"));
        selects |= in_selector && !found.is_empty();
        kept.extend(shared.kept(piece, scalar, &found));
        edits.extend(found);
    }
    Template { text: edited(&piece.text, &mut edits), named: holds(piece.name(), shared.base), selects, kept }
}

/// The labels by which an object finds its pods.
fn selector(object: &Value) -> Option<&Value> {
    let selector = object["spec"].get("selector")?;
    selector.as_object().filter(|fields| !fields.is_empty()).map(|_| selector)
}

impl Shared<'_> {
    /// Where the instance's name takes the place of something.
    fn names(&self, piece: &Piece, scalar: &Scalar) -> Vec<Edit> {
        let Some(value) = look(&piece.value, &scalar.path).and_then(Value::as_str) else {
            return Vec::new();
        };
        let raw = &piece.text[scalar.span.start..scalar.span.end];
        let edit = |at: usize| {
            let start = scalar.span.start + at;
            Edit { start, end: start + self.base.len(), with: NAME.to_string() }
        };
        if self.refers(&piece.value, &scalar.path, value) {
            return places(raw, self.base).into_iter().map(edit).collect();
        }
        let mut found = self.outside(&scalar.path, value, raw, scalar.span.start);
        // In free text only an address of one of the Services is certain to mean it.
        let services = self.pieces.iter().filter(|piece| piece.gvk.kind == "Service" && piece.gvk.group.is_empty());
        for service in services.map(Piece::name).filter(|name| holds(name, self.base)) {
            let inside = places(service, self.base);
            for at in hosts(raw, service, self.namespace) {
                let end = at + service.len();
                let inner = |inner: &usize| edit(at + inner);
                found.extend(inside.iter().map(inner));
                if let Some(namespace) =
                    self.namespace.filter(|namespace| raw[end..].starts_with(&format!(".{namespace}.")))
                {
                    let start = scalar.span.start + end + 1;
                    found.push(Edit { start, end: start + namespace.len(), with: NAMESPACE.to_string() });
                }
            }
        }
        found
    }

    /// Where hosts that are fields stand inside of another text.
    fn outside(&self, path: &[Step], value: &str, raw: &str, start: usize) -> Vec<Edit> {
        let is_key = |step: &Step, keys: &[&str]| matches!(step, Step::Key(key) if keys.contains(&&**key));
        let names = path.last().is_some_and(|last| is_key(last, &REFERENCES) || is_key(last, &["name"]));
        if names || path.iter().any(|step| is_key(step, &LABELS)) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (host, field) in self.fields.hosts() {
            // A host that is all of an unquoted text may read as a number.
            let quote = if raw == host && value == host { " | quote" } else { "" };
            let with = format!("{{{{ .spec.{}{quote} }}}}", field.name);
            let edit = |at: usize| Edit { start: start + at, end: start + at + host.len(), with: with.clone() };
            found.extend(addresses(raw, host).into_iter().map(edit));
        }
        found
    }

    /// The values of fields that a text holds besides what is replaced in it.
    fn kept(&self, piece: &Piece, scalar: &Scalar, edits: &[Edit]) -> Vec<Kept> {
        let raw = &piece.text[scalar.span.start..scalar.span.end];
        let replaced = |at: usize| edits.iter().any(|edit| (edit.start..edit.end).contains(&(scalar.span.start + at)));
        let texts = self.fields.all.iter().filter_map(|field| Some((field.default.as_str()?, field)));
        let stays = texts.filter(|(text, _)| places(raw, text).into_iter().any(|at| !replaced(at)));
        let kept = |(text, field): (&str, &Field)| Kept {
            path: scalar.path.clone(),
            text: text.to_string(),
            field: field.name.clone(),
        };
        stays.map(kept).collect()
    }

    /// Whether a text is the name of an object, or a label made of the application's name.
    fn refers(&self, object: &Value, path: &[Step], value: &str) -> bool {
        if !holds(value, self.base) {
            return false;
        }
        let keys: Vec<&str> = path.iter().map(|step| if let Step::Key(key) = step { &**key } else { "" }).collect();
        let Some((last, above)) = keys.split_last() else { return false };
        let parent = above.iter().rev().find(|key| !key.is_empty()).copied().unwrap_or_default();
        let labelled = above.iter().any(|key| LABELS.contains(key)) && !above.contains(&"namespaceSelector");
        if labelled {
            return !WHAT.contains(last);
        }
        let local = LOCAL.contains(&parent) || above.contains(&"volumeClaimTemplates");
        if REFERENCES.contains(last) || (*last == "name" && !local) {
            return true;
        }
        // The whole of a text is the name of an object. The shared name alone may be any word: it counts only where an
        // address is asked for.
        let object_names = || self.pieces.iter().map(Piece::name);
        let asked = match (*last, above) {
            ("value", [.., "env", ""]) => {
                let above = &path[..path.len() - 1];
                look(object, above).and_then(|entry| entry["name"].as_str()).unwrap_or_default().to_ascii_uppercase()
            }
            _ => last.to_ascii_uppercase(),
        };
        let address = ["HOST", "ADDR", "SERVER", "SERVICE", "ENDPOINT"].iter().any(|word| asked.contains(word));
        object_names().any(|name| name == value) && (value != self.base || address)
    }
}
