//! Real templates of OpenShift, where they are at hand: all of them are processed in both forms,
//! and a check that knows nothing of how references are found confirms that they are gone and
//! nothing else has changed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test may panic and tell"
)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use templates::{Dialect, Given, Template, process};

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn corpus() -> Vec<(String, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/openshift");
    if !root.is_dir() {
        eprintln!("the templates are not at hand: nothing is checked");
        return Vec::new();
    }
    let mut found = Vec::new();
    files(&root, &mut found);
    found.sort();
    assert_eq!(found.len(), 119);
    let read = |path: PathBuf| {
        (
            path.display().to_string(),
            yaml::parse(&std::fs::read_to_string(path).unwrap()).unwrap(),
        )
    };
    found.into_iter().map(read).collect()
}

fn random() -> impl FnMut() -> Result<u64, String> {
    let mut bits = 1_u64;
    move || {
        bits = bits
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(0x1234_5678_9abc_def1);
        Ok(bits)
    }
}

fn names(template: &Value) -> Vec<String> {
    let parameters = template["parameters"].as_array().unwrap();
    parameters
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn all_are_processed_in_both_forms_with_blanks_filled() {
    for (file, template) in corpus() {
        let (read, _) =
            Template::read(&template).unwrap_or_else(|problems| panic!("{file}: {problems:?}"));
        let blank = read
            .parameters
            .iter()
            .filter(|parameter| parameter.required && parameter.is_blank());
        let given = Given::values(blank.map(|parameter| (parameter.name.as_str(), "filled")));
        let processed = process(template.clone(), &given, &mut random())
            .unwrap_or_else(|problems| panic!("{file}: {problems:?}"));
        assert_eq!(processed.dialect, Dialect::Braces, "{file}");
        let (list, whole) = (processed.clone().into_list(), processed.into_template());
        assert_eq!(list["items"], whole["objects"], "{file}");
        let text =
            serde_json::to_string(&json!([list, whole["labels"], whole["message"]])).unwrap();
        for name in names(&template) {
            assert!(!text.contains(&format!("${{{name}}}")), "{file}: {name}");
        }
    }
}

/// The mark that stands for a parameter; it is in no template.
fn mark(index: usize) -> String {
    format!("zq{index:04}qz")
}

/// What a template is but for its references, labels, fixed namespaces and groups that it leaves
/// out, all undone or taken away by other means than those that did it.
fn plain(template: &Value, labels: &Value) -> Value {
    let mut objects = template["objects"].clone();
    for object in objects.as_array_mut().unwrap() {
        let group = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        if let Some((group, version)) = group.split_once('/')
            && group.ends_with(".openshift.io")
        {
            object["apiVersion"] = json!(version);
        }
        let Some(metadata) = object["metadata"].as_object_mut() else {
            continue;
        };
        if let Some(own) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
            own.retain(|key, _| labels.get(key).is_none());
        }
        if metadata
            .get("labels")
            .is_some_and(|labels| labels == &json!({}))
        {
            metadata.remove("labels");
        }
        if metadata
            .get("namespace")
            .is_some_and(|namespace| !namespace.to_string().contains("${"))
        {
            metadata.remove("namespace");
        }
    }
    json!([
        objects,
        template["message"],
        template["labels"],
        template["metadata"]["name"]
    ])
}

#[test]
fn every_reference_is_gone_and_nothing_else_has_changed() {
    for (file, template) in corpus() {
        let names = names(&template);
        assert!(!template.to_string().contains("zq0"), "{file}");
        let marks: Vec<String> = (0..names.len()).map(mark).collect();
        let given = Given::values(
            names
                .iter()
                .zip(&marks)
                .map(|(name, mark)| (name.as_str(), mark.as_str())),
        );
        let result = process(template.clone(), &given, &mut random())
            .unwrap()
            .into_template();
        let mut undone = result.to_string();
        for (name, mark) in names.iter().zip(&marks) {
            undone = undone.replace(mark.as_str(), &format!("${{{name}}}"));
        }
        // Where all of a text is a typed reference, a text was put, so that the same reference
        // comes back untyped.
        let mut original = template.to_string();
        for name in &names {
            original =
                original.replace(&format!("\"${{{{{name}}}}}\""), &format!("\"${{{name}}}\""));
        }
        let undone: Value = serde_json::from_str(&undone).unwrap();
        let original: Value = serde_json::from_str(&original).unwrap();
        let labels = original["labels"].clone();
        assert_eq!(plain(&undone, &labels), plain(&original, &labels), "{file}");
        for object in result["objects"].as_array().unwrap() {
            for (key, value) in result["labels"].as_object().into_iter().flatten() {
                assert_eq!(object["metadata"]["labels"][key], *value, "{file}");
            }
        }
    }
}

#[test]
fn processing_again_changes_nothing() {
    for (file, template) in corpus() {
        let filled: Vec<String> = names(&template);
        let given = Given::values(filled.iter().map(|name| (name.as_str(), "filled")));
        let once = process(template, &given, &mut random())
            .unwrap()
            .into_template();
        let twice = process(once.clone(), &Given::default(), &mut random())
            .unwrap()
            .into_template();
        assert_eq!(once, twice, "{file}");
    }
}
