//! What the notes of a package say of a CRD, as its annotations, and the labels of every CRD that a
//! package brings.

use api::{ANNOTATION_BYTES, App, Icon, PermissionScope, annotations as key, labels};
use serde_json::{Map, Value, json};

use crate::CrdFile;
use crate::notes::{self, Notes};
use crate::problem::{Problem, Problems, Severity};

/// Annotations by the field of `group.yaml` that they repeat.
const GROUP: [(&str, &str); 6] = [
    ("title", key::GROUP_TITLE),
    ("category", key::GROUP_CATEGORY),
    ("overview", key::GROUP_OVERVIEW),
    ("overviewShort", key::GROUP_OVERVIEW_SHORT),
    ("shortOverview", key::GROUP_OVERVIEW_SHORT),
    ("readme", key::GROUP_README),
];
/// Annotations by the field of `resource.yaml` that they repeat.
const RESOURCE: [(&str, &str); 7] = [
    ("title", key::RESOURCE_TITLE),
    ("titlePlural", key::RESOURCE_TITLE_PLURAL),
    ("category", key::RESOURCE_CATEGORY),
    ("overview", key::RESOURCE_OVERVIEW),
    ("overviewShort", key::RESOURCE_OVERVIEW_SHORT),
    ("shortOverview", key::RESOURCE_OVERVIEW_SHORT),
    ("readme", key::RESOURCE_README),
];

/// Puts onto every CRD what is said of it. What it carries already stays, except that more forms
/// may be shown.
pub(crate) fn annotate(
    crds: &mut [CrdFile],
    app: &App,
    notes: &Notes,
    root: &str,
    problems: &mut Problems,
) {
    let scope = match app.permission_scope {
        PermissionScope::Namespaced => labels::SCOPE_NAMESPACE,
        PermissionScope::Cluster => labels::SCOPE_ENVIRONMENT,
    };
    for file in crds {
        let directory = directory(&file.file, root);
        let mut wanted = Map::new();
        wanted.insert(key::STACK_TITLE.to_owned(), json!(app.title));
        if let Some(group) = notes::nearest(&notes.groups, &file.crd, directory, |_| ()) {
            repeat(&GROUP, group, &mut wanted);
        }
        if let Some(resource) = notes::nearest(&notes.resources, &file.crd, directory, |_| ()) {
            repeat(&RESOURCE, resource, &mut wanted);
        }
        if let Some(icon) = notes::nearest(&notes.icons, &file.crd, directory, |icon| icon.rank) {
            wanted.insert(key::ICON_DATA_URI.to_owned(), json!(icon.data_uri()));
        }
        let forms = notes::all(&notes.ui_schemas, &file.crd, directory);
        let Some(metadata) = file
            .crd
            .object
            .get_mut("metadata")
            .and_then(Value::as_object_mut)
        else {
            continue;
        };
        let Some(annotations) = entries(metadata, "annotations") else {
            continue;
        };
        let own = annotations
            .get(key::UI_SCHEMA)
            .and_then(Value::as_str)
            .map(|text| text.trim_matches('\n'));
        let forms: Vec<&str> = own
            .into_iter()
            .chain(forms.into_iter().map(String::as_str))
            .collect();
        if !forms.is_empty() {
            let text = format!("{}\n", forms.join("\n---\n"));
            annotations.insert(key::UI_SCHEMA.to_owned(), json!(text));
        }
        for (name, value) in wanted {
            annotations.entry(name).or_insert(value);
        }
        let size: usize = annotations
            .iter()
            .map(|(name, value)| name.len() + length(value))
            .sum();
        if size > ANNOTATION_BYTES {
            let largest = annotations
                .iter()
                .max_by_key(|(_, value)| length(value))
                .map(|(name, _)| name.clone());
            problems.push(Problem {
                severity: Severity::Error,
                file: file.file.clone(),
                line: file.line,
                column: 1,
                what: format!(
                    "with what the package says of it, `{}` would have {size} bytes of annotations, \
                     more than the {ANNOTATION_BYTES} that a cluster takes",
                    file.crd.name
                ),
                hint: largest.map(|name| format!("the largest is `{name}`")),
            });
        }
        let Some(marks) = entries(metadata, "labels") else {
            continue;
        };
        marks.insert(
            labels::MANAGED_BY.to_owned(),
            json!(labels::MANAGED_BY_STACK_MANAGER),
        );
        marks.insert(labels::SCOPE.to_owned(), json!(scope));
    }
}

/// The icons of the package, as its Stack carries them. Those in `app.yaml` come first.
pub(crate) fn icons(app: &mut App, notes: &Notes) {
    for picture in notes.own_icons() {
        let icon = Icon {
            base64_data: picture.base64.clone(),
            mediatype: picture.media_type.to_owned(),
        };
        if !app.icons.contains(&icon) {
            app.icons.push(icon);
        }
    }
}

/// The directory of a file, from the root of the package.
pub(crate) fn directory<'f>(file: &'f str, root: &str) -> &'f str {
    let inner = file.strip_prefix(root).unwrap_or(file);
    inner
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory)
}

fn repeat(
    table: &[(&str, &str)],
    fields: &Map<String, Value>,
    annotations: &mut Map<String, Value>,
) {
    for (field, name) in table {
        if let Some(value) = fields.get(*field) {
            annotations.entry(*name).or_insert_with(|| value.clone());
        }
    }
}

/// The map under a name, which is made if it is not there.
fn entries<'m>(
    metadata: &'m mut Map<String, Value>,
    name: &str,
) -> Option<&'m mut Map<String, Value>> {
    let slot = metadata.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

fn length(value: &Value) -> usize {
    value.as_str().map_or(0, str::len)
}
