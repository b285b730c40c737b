//! The labels by which the objects of one use of a template are found again.

use std::collections::BTreeMap;

/// Which use of a template an object belongs to.
pub const INSTANCE_LABEL: &str = api::template::INSTANCE;
/// Which template an object was made from.
pub const TEMPLATE_LABEL: &str = api::template::TEMPLATE;

/// The labels of a use; the name of the template may be unknown or none that a label can hold.
///
/// # Errors
///
/// If the name of the use cannot be the value of a label.
pub fn instance_labels(instance: &str, template: &str) -> Result<BTreeMap<String, String>, String> {
    let mut errors = objects::name::label_value_errors(instance);
    if instance.is_empty() {
        errors.push("it is empty".to_owned());
    }
    if let Some(error) = errors.first() {
        return Err(format!("`{instance}` cannot be the name of an instance: {error}"));
    }
    let mut labels = BTreeMap::from([(INSTANCE_LABEL.to_owned(), instance.to_owned())]);
    if !template.is_empty() && objects::name::label_value_errors(template).is_empty() {
        labels.insert(TEMPLATE_LABEL.to_owned(), template.to_owned());
    }
    Ok(labels)
}
