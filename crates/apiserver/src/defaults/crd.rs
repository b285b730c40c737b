//! What is filled into definitions of custom resources, and what is refused of them.

use objects::name::NameRule;
use serde_json::{Value, json};

use crate::handlers::status::Cause;

/// Fills in names, and notes in the status which versions have been stored.
pub(super) fn fill(old: Option<&Value>, definition: &mut Value) {
    let kind = definition["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let stored = definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten();
    let stored = stored
        .clone()
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    if let Some(names) = definition["spec"]["names"].as_object_mut()
        && !kind.is_empty()
    {
        let missing =
            |value: Option<&Value>| value.and_then(Value::as_str).is_none_or(str::is_empty);
        if missing(names.get("singular")) {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if missing(names.get("listKind")) {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if old.is_none() {
        definition["status"] = json!({
            "acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": [],
        });
    }
    if let Some(stored) = stored {
        let versions = &mut definition["status"]["storedVersions"];
        if versions.is_null() {
            *versions = json!([]);
        }
        if let Some(versions) = versions
            .as_array_mut()
            .filter(|versions| !versions.contains(&stored))
        {
            versions.push(stored);
        }
    }
}

/// Everything that is wrong with a definition. `old` is none for a creation.
pub(crate) fn faults(old: Option<&Value>, definition: &Value) -> Vec<Cause> {
    let mut faults = Vec::new();
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
    let name = text(&definition["metadata"]["name"]);
    if name != format!("{plural}.{group}") {
        faults.push(Cause::invalid(
            "metadata.name",
            &name.into(),
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if group.is_empty() {
        faults.push(Cause::required("spec.group", ""));
    } else if !group.contains('.') {
        let why = "should be a domain with at least one dot";
        faults.push(Cause::invalid("spec.group", &group.as_str().into(), why));
    }
    match text(&spec["scope"]).as_str() {
        "Cluster" | "Namespaced" => {}
        "" => faults.push(Cause::required("spec.scope", "")),
        other => faults.push(Cause::unsupported(
            "spec.scope",
            &other.into(),
            &["Cluster", "Namespaced"],
        )),
    }
    name_faults(&spec["names"], &mut faults);
    version_faults(definition, &mut faults);
    if let Some(old) = old {
        fixed(old, definition, &mut faults);
    }
    faults.sort_by(|a, b| a.field.cmp(&b.field));
    faults
}

fn name_faults(names: &Value, faults: &mut Vec<Cause>) {
    let label = |field: &str, text: &str, prefix: &str, faults: &mut Vec<Cause>| {
        for why in NameRule::OldLabel.errors(&text.to_lowercase()) {
            // Without capitals, the words are still about what was written.
            faults.push(Cause::invalid(
                field,
                &text.into(),
                &format!("{prefix}{why}"),
            ));
        }
        if prefix.is_empty()
            && text.chars().any(char::is_uppercase)
            && NameRule::OldLabel.errors(&text.to_lowercase()).is_empty()
        {
            for why in NameRule::OldLabel.errors(text) {
                faults.push(Cause::invalid(field, &text.into(), &why));
            }
        }
    };
    for (field, prefix) in [
        ("plural", ""),
        ("singular", ""),
        ("kind", "may have mixed case, but should otherwise match: "),
        (
            "listKind",
            "may have mixed case, but should otherwise match: ",
        ),
    ] {
        let path = format!("spec.names.{field}");
        match names[field].as_str().unwrap_or_default() {
            "" => faults.push(Cause::required(&path, "")),
            text => label(&path, text, prefix, faults),
        }
    }
    for list in ["shortNames", "categories"] {
        for (index, name) in names[list].as_array().into_iter().flatten().enumerate() {
            label(
                &format!("spec.names.{list}[{index}]"),
                name.as_str().unwrap_or_default(),
                "",
                faults,
            );
        }
    }
}

fn version_faults(definition: &Value, faults: &mut Vec<Cause>) {
    let versions = definition["spec"]["versions"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let stored: Vec<&Value> = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .collect();
    let schemas: Vec<&Value> = versions
        .iter()
        .map(|version| &version["schema"]["openAPIV3Schema"])
        .collect();
    let shared = schemas.windows(2).all(|pair| pair[0] == pair[1]);
    if stored.len() != 1 {
        let shown: Vec<String> = versions
            .iter()
            .map(|version| go_version(version, shared))
            .collect();
        let message = format!(
            "Invalid value: [{}]: must have exactly one version marked as storage version",
            shown.join(",")
        );
        faults.push(Cause::new("FieldValueInvalid", "spec.versions", message));
    }
    let kept = &definition["status"]["storedVersions"];
    match kept.as_array().map(Vec::as_slice).unwrap_or_default() {
        [] => {
            let why = "must have at least one stored version";
            faults.push(Cause::invalid("status.storedVersions", &Value::Null, why));
        }
        names => {
            if let Some(missing) = stored
                .iter()
                .map(|version| &version["name"])
                .find(|name| !names.contains(name))
            {
                let why = format!(
                    "must have the storage version {}",
                    missing.as_str().unwrap_or_default()
                );
                faults.push(Cause::invalid("status.storedVersions", kept, &why));
            }
        }
    }
    let served: Vec<&Value> = versions.iter().map(|version| &version["name"]).collect();
    for (index, name) in kept.as_array().into_iter().flatten().enumerate() {
        if !served.contains(&name) {
            let text = name.as_str().unwrap_or_default();
            let why = format!(
                "missing from spec.versions; {text} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {text} and removes {text} from \
                 status.storedVersions"
            );
            faults.push(Cause::invalid(
                &format!("status.storedVersions[{index}]"),
                name,
                &why,
            ));
        }
    }
    for (index, version) in versions.iter().enumerate() {
        // What all versions have in common is kept, and complained of, in one place.
        let one = versions.len() == 1;
        let place = if one {
            "spec".to_owned()
        } else {
            format!("spec.versions[{index}]")
        };
        column_faults(&version["additionalPrinterColumns"], &place, faults);
        scale_faults(&version["subresources"]["scale"], &place, faults);
        let name = version["name"].as_str().unwrap_or_default();
        for why in NameRule::OldLabel.errors(name) {
            faults.push(Cause::invalid(
                &format!("spec.versions[{index}].name"),
                &name.into(),
                &why,
            ));
            if index == 0 {
                faults.push(Cause::invalid("spec.version", &name.into(), &why));
            }
        }
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            faults.push(Cause::required(
                &format!("spec.versions[{index}].schema.openAPIV3Schema"),
                "",
            ));
        } else if !shared {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            faults.extend(crate::validation::structural_schema::faults(schema, &path));
        } else if index == 0 {
            faults.extend(crate::validation::structural_schema::faults(
                schema,
                "spec.validation.openAPIV3Schema",
            ));
        }
    }
}

/// What is said of a path that does not begin at the object.
const NO_PATH: &str = "must be a simple json path starting with .";

fn column_faults(columns: &Value, place: &str, faults: &mut Vec<Cause>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    for (index, column) in columns.as_array().into_iter().flatten().enumerate() {
        let place = |field: &str| format!("{place}.additionalPrinterColumns[{index}].{field}");
        let text = |field: &str| column[field].as_str().unwrap_or_default();
        if text("name").is_empty() {
            faults.push(Cause::required(&place("name"), ""));
        }
        match text("type") {
            "" => faults.push(Cause::required(
                &place("type"),
                &format!("must be one of {}", TYPES.join(",")),
            )),
            kind if !TYPES.contains(&kind) => {
                let why = format!("must be one of {}", TYPES.join(","));
                faults.push(Cause::invalid(&place("type"), &kind.into(), &why));
            }
            _ => {}
        }
        let format = text("format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let why = format!("must be one of {}", FORMATS.join(","));
            faults.push(Cause::invalid(&place("format"), &format.into(), &why));
        }
        match text("jsonPath") {
            "" => faults.push(Cause::required(&place("JSONPath"), "")),
            path if !path.starts_with('.') => {
                faults.push(Cause::invalid(&place("JSONPath"), &path.into(), NO_PATH));
            }
            _ => {}
        }
    }
}

fn scale_faults(scale: &Value, place: &str, faults: &mut Vec<Cause>) {
    if !scale.is_object() {
        return;
    }
    for (field, below) in [
        ("specReplicasPath", ".spec."),
        ("statusReplicasPath", ".status."),
    ] {
        let place = format!("{place}.subresources.scale.{field}");
        match scale[field].as_str().unwrap_or_default() {
            "" => faults.push(Cause::required(&place, "")),
            path if !path.starts_with('.') => {
                faults.push(Cause::invalid(&place, &path.into(), NO_PATH));
            }
            path if !path.starts_with(below) => {
                let why = format!(
                    "should be a json path under {}",
                    below.trim_end_matches('.')
                );
                faults.push(Cause::invalid(&place, &path.into(), &why));
            }
            _ => {}
        }
    }
    let place = format!("{place}.subresources.scale.labelSelectorPath");
    match scale["labelSelectorPath"].as_str().unwrap_or_default() {
        path if path.is_empty() || path.starts_with(".spec.") || path.starts_with(".status.") => {}
        path if !path.starts_with('.') => {
            faults.push(Cause::invalid(&place, &path.into(), NO_PATH));
        }
        path => {
            let why = "should be a json path under either .spec or .status";
            faults.push(Cause::invalid(&place, &path.into(), why));
        }
    }
}

/// A version as Go shows it in a message; what all versions have in common is kept elsewhere.
fn go_version(version: &Value, shared: bool) -> String {
    let flag = |field: &str| version[field] == true;
    let or_null = |field: &str| {
        if shared {
            Value::Null
        } else {
            version[field].clone()
        }
    };
    format!(
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":null}}",
        version["name"],
        flag("served"),
        flag("storage"),
        flag("deprecated"),
        version["deprecationWarning"],
        or_null("schema"),
        or_null("subresources"),
        or_null("additionalPrinterColumns"),
    )
}

/// What clients rely on does not change once it is established.
fn fixed(old: &Value, new: &Value, faults: &mut Vec<Cause>) {
    let conditions = old["status"]["conditions"].as_array().into_iter().flatten();
    let established = conditions
        .into_iter()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    let paths: &[&str] = if established {
        &["/spec/scope", "/spec/names/kind"]
    } else {
        &[]
    };
    for path in ["/spec/group", "/spec/names/plural"].iter().chain(paths) {
        let (before, after) = (old.pointer(path), new.pointer(path));
        if before != after {
            let field = path.trim_start_matches('/').replace('/', ".");
            faults.push(Cause::invalid(
                &field,
                after.unwrap_or(&Value::Null),
                "field is immutable",
            ));
        }
    }
}
