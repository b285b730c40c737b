//! The labels by which the objects of one use of a template are found again.

use std::collections::BTreeMap;

use api::template::{INSTANCE, INSTANCE_NAMESPACE, TEMPLATE};
use objects::name::label_value_errors;

/// The labels of a use in a namespace; the name of the template may be one that a label cannot
/// hold. Objects of the cluster carry the namespace too, since another may have a use of the same
/// name.
///
/// # Errors
///
/// If the name of the use cannot be the value of a label.
pub fn instance_labels(
    instance: &str,
    template: &str,
    namespace: &str,
) -> Result<BTreeMap<String, String>, String> {
    let mut labels = identity(instance, namespace)?;
    if !template.is_empty() && label_value_errors(template).is_empty() {
        labels.insert(TEMPLATE.to_owned(), template.to_owned());
    }
    Ok(labels)
}

/// What selects the objects of a use.
///
/// # Errors
///
/// If the name of the use cannot be the value of a label.
pub fn selector_of(instance: &str, namespace: &str) -> Result<String, String> {
    let labels = identity(instance, namespace)?.into_iter();
    Ok(labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(","))
}

fn identity(instance: &str, namespace: &str) -> Result<BTreeMap<String, String>, String> {
    let mut errors = label_value_errors(instance);
    if instance.is_empty() {
        errors.push("it is empty".to_owned());
    }
    match errors.first() {
        Some(error) => Err(format!(
            "`{instance}` cannot be the name of an instance: {error}"
        )),
        None => Ok(BTreeMap::from([
            (INSTANCE.to_owned(), instance.to_owned()),
            (INSTANCE_NAMESPACE.to_owned(), namespace.to_owned()),
        ])),
    }
}
