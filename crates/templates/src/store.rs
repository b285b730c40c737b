//! A template as it is stored in a cluster, whatever it was written for.

use serde_json::{Map, Value, json};

use crate::dialect::decide;
use crate::fields;
use crate::problem::Problem;
use crate::process::say_dialect;
use crate::template::Template;

/// A template as an object of the kind that clusters store, under this name. Its references mean
/// the same as before: where only its `apiVersion` told how they are written, an annotation does.
///
/// # Errors
///
/// Everything that is wrong with it.
pub fn to_store(mut value: Value, name: &str) -> Result<Value, Vec<Problem>> {
    let (template, _) = Template::read(&value)?;
    let dialect = decide(&template, &value).map_err(|problem| vec![problem])?;
    fields::settle_labels(&mut value);
    value["apiVersion"] = json!(api::template::API_VERSION);
    if !value["metadata"].is_object() {
        value["metadata"] = Value::Object(Map::new());
    }
    value["metadata"]["name"] = json!(name);
    if let Some(metadata) = value["metadata"].as_object_mut() {
        // What another cluster wrote, and where it was.
        for field in [
            "creationTimestamp",
            "generation",
            "managedFields",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        ] {
            metadata.remove(field);
        }
    }
    let (stored, _) = Template::read(&value)?;
    if decide(&stored, &value).ok() != Some(dialect) {
        say_dialect(&mut value, dialect);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::to_store;
    use crate::{Dialect, Template};

    #[test]
    fn a_stored_template_means_what_it_meant_before() {
        let objects =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${NAME}"}}]);
        let plain = json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]);
        for (version, objects, says) in [
            ("v1", &objects, false),
            ("template.openshift.io/v1", &objects, false),
            ("template.openshift.io/v1", &plain, true),
            ("v1", &plain, false),
            (api::template::API_VERSION, &plain, false),
        ] {
            let template = json!({
                "apiVersion": version, "kind": "Template", "objects": objects,
                "metadata": {"name": "old", "namespace": "openshift", "uid": "1", "labels": {"a": "b"}},
                "objectLabels": {"x": "y"}, "parameters": [{"name": "NAME", "value": "x"}],
            });
            let before = Template::read(&template)
                .unwrap()
                .0
                .dialect(&template)
                .unwrap();
            let stored = to_store(template, "new").unwrap();
            assert_eq!(stored["apiVersion"], api::template::API_VERSION);
            assert_eq!(stored["labels"], json!({"x": "y"}));
            assert_eq!(stored["objectLabels"], Value::Null);
            assert_eq!(stored["metadata"]["name"], "new");
            assert_eq!(stored["metadata"]["labels"], json!({"a": "b"}));
            assert_eq!(stored["metadata"]["namespace"], Value::Null);
            assert_eq!(
                Template::read(&stored).unwrap().0.dialect(&stored).unwrap(),
                before,
                "{version}"
            );
            assert_eq!(
                stored["metadata"]["annotations"].is_object(),
                says,
                "{version} {objects}"
            );
        }
        assert!(to_store(json!({"kind": "Template"}), "x").is_err());
        assert_eq!(Dialect::named("braces"), Some(Dialect::Braces));
    }
}
