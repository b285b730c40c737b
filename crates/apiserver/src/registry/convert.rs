//! Objects from one version of their resource to another. Custom resources differ in nothing but
//! the name of the version; of the built-in ones only two have several.

use serde_json::{Value, json};

use super::Served;

/// From the stored version to the one that is served.
pub(crate) fn convert(object: &mut Value, served: &Served) {
    match (&*served.group, &*served.version, &*served.plural) {
        ("events.k8s.io", "v1", "events") => {
            rename_all(object, &EVENT);
            if let Some(fields) = object.as_object_mut() {
                // These are always there in the core group, and in the other one only if they say
                // something.
                fields.retain(|name, value| {
                    !matches!(&**name, "reportingController" | "reportingInstance") || value != ""
                });
            }
        }
        ("autoscaling", "v1", "horizontalpodautoscalers") => scaler_to_v1(object),
        _ => {}
    }
    object["apiVersion"] = served.api_version().into();
}

/// From the version that is served to the stored one.
pub(crate) fn to_stored(object: &mut Value, served: &Served) {
    match (&*served.group, &*served.version, &*served.plural) {
        ("events.k8s.io", "v1", "events") => {
            rename_all(object, &EVENT.map(|(old, new)| (new, old)));
        }
        ("autoscaling", "v1", "horizontalpodautoscalers") => scaler_to_v2(object),
        _ => {}
    }
    object["apiVersion"] = served.stored_as.as_str().into();
}

/// The fields of an event, in the core group and in its own.
const EVENT: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

fn rename_all(object: &mut Value, names: &[(&str, &str)]) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    for (old, new) in names {
        if let Some(value) = fields.remove(*old) {
            fields.insert((*new).to_owned(), value);
        }
    }
}

/// The one metric that the first version knows.
fn is_cpu(metric: &Value) -> bool {
    metric["type"] == "Resource" && metric["resource"]["name"] == "cpu"
}

fn scaler_to_v1(object: &mut Value) {
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("behavior");
        let metrics = spec.remove("metrics").unwrap_or_default();
        let cpu = metrics
            .as_array()
            .and_then(|metrics| metrics.iter().find(|metric| is_cpu(metric)));
        if let Some(target) = cpu
            .map(|metric| &metric["resource"]["target"]["averageUtilization"])
            .filter(|it| it.is_number())
        {
            spec.insert("targetCPUUtilizationPercentage".to_owned(), target.clone());
        }
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("conditions");
        let metrics = status.remove("currentMetrics").unwrap_or_default();
        let cpu = metrics
            .as_array()
            .and_then(|metrics| metrics.iter().find(|metric| is_cpu(metric)));
        if let Some(now) = cpu
            .map(|metric| &metric["resource"]["current"]["averageUtilization"])
            .filter(|it| it.is_number())
        {
            status.insert("currentCPUUtilizationPercentage".to_owned(), now.clone());
        }
    }
}

fn scaler_to_v2(object: &mut Value) {
    if let Some(spec) = object["spec"].as_object_mut()
        && let Some(target) = spec.remove("targetCPUUtilizationPercentage")
    {
        let target = json!({"type": "Utilization", "averageUtilization": target});
        spec.insert(
            "metrics".to_owned(),
            json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]),
        );
    }
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut)
        && let Some(now) = status.remove("currentCPUUtilizationPercentage")
    {
        let current = json!({"averageUtilization": now});
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
        status.insert("currentMetrics".to_owned(), json!([metric]));
    }
}
