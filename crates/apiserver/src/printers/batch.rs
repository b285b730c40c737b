//! Jobs, cron jobs and autoscalers, as rows.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::format::{age, duration, either, items, number, or_none, selector, text};

/// The cell, if the kind has one of its own there.
pub(super) fn cell(plural: &str, column: &str, object: &Value) -> Option<Value> {
    Some(match (plural, column) {
        ("jobs", "Status") => state(object).into(),
        ("jobs", "Completions") => completions(object).into(),
        ("jobs", "Duration") => took(object).into(),
        ("jobs", "Selector") => selector(object, "/spec/selector"),
        ("cronjobs", "Schedule") => text(object, "/spec/schedule").into(),
        ("cronjobs", "Timezone") => or_none(text(object, "/spec/timeZone")),
        ("cronjobs", "Suspend") => match object.pointer("/spec/suspend").and_then(Value::as_bool) {
            Some(true) => "True".into(),
            Some(false) => "False".into(),
            None => "<unset>".into(),
        },
        ("cronjobs", "Active") => json!(items(object, "/status/active").len()),
        ("cronjobs", "Last Schedule") => match text(object, "/status/lastScheduleTime") {
            "" => "<none>".into(),
            time => age(time),
        },
        ("cronjobs", "Containers" | "Images") => {
            let field = if column == "Images" { "image" } else { "name" };
            super::format::joined(
                items(object, "/spec/jobTemplate/spec/template/spec/containers"),
                field,
            )
        }
        ("cronjobs", "Selector") => selector(object, "/spec/jobTemplate/spec/selector"),
        ("horizontalpodautoscalers", "Reference") => format!(
            "{}/{}",
            text(object, "/spec/scaleTargetRef/kind"),
            text(object, "/spec/scaleTargetRef/name")
        )
        .into(),
        ("horizontalpodautoscalers", "Targets") => targets(object).into(),
        ("horizontalpodautoscalers", "MinPods") => either(object, "/spec/minReplicas", "<unset>"),
        ("horizontalpodautoscalers", "MaxPods") => json!(number(object, "/spec/maxReplicas")),
        ("horizontalpodautoscalers", "Replicas") => {
            json!(number(object, "/status/currentReplicas"))
        }
        _ => return None,
    })
}

fn state(job: &Value) -> &'static str {
    let holds = |kind: &str| {
        let conditions = items(job, "/status/conditions");
        conditions
            .iter()
            .any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    let known = [
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    if let Some((_, shown)) = known.iter().find(|(kind, _)| holds(kind)) {
        return shown;
    }
    if job["metadata"]["deletionTimestamp"].is_string() {
        "Terminating"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let done = number(job, "/status/succeeded");
    if let Some(wanted) = job.pointer("/spec/completions").and_then(Value::as_i64) {
        return format!("{done}/{wanted}");
    }
    match number(job, "/spec/parallelism") {
        parallel if parallel > 1 => format!("{done}/1 of {parallel}"),
        _ => format!("{done}/1"),
    }
}

fn took(job: &Value) -> String {
    let at = |pointer: &str| text(job, pointer).parse::<Timestamp>().ok();
    let Some(start) = at("/status/startTime") else {
        return String::new();
    };
    let end = at("/status/completionTime").unwrap_or_else(Timestamp::now);
    duration(end.as_second() - start.as_second())
}

/// What is measured, and what it should be: `cpu: <unknown>/80%`.
fn targets(scaler: &Value) -> String {
    if let Some(percent) = scaler
        .pointer("/spec/targetCPUUtilizationPercentage")
        .and_then(Value::as_i64)
    {
        let now = scaler
            .pointer("/status/currentCPUUtilizationPercentage")
            .and_then(Value::as_i64);
        return format!(
            "cpu: {}/{percent}%",
            now.map_or("<unknown>".to_owned(), |now| format!("{now}%"))
        );
    }
    let metrics = items(scaler, "/spec/metrics");
    let shown: Vec<String> = metrics.iter().take(2).map(target).collect();
    match metrics.len() {
        0 => "<none>".to_owned(),
        more if more > 2 => format!("{} + {} more...", shown.join(", "), more - 2),
        _ => shown.join(", "),
    }
}

fn target(metric: &Value) -> String {
    let kind = match text(metric, "/type") {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        _ => "external",
    };
    let Some(source) = metric.get(kind) else {
        return "<unknown type>".to_owned();
    };
    let wanted = match source
        .pointer("/target/averageUtilization")
        .and_then(Value::as_i64)
    {
        Some(percent) => format!("{percent}%"),
        None => ["averageValue", "value"]
            .iter()
            .find_map(|field| source["target"][field].as_str())
            .unwrap_or("<auto>")
            .to_owned(),
    };
    match text(source, "/name") {
        "" => format!("<unknown>/{wanted}"),
        name => format!("{name}: <unknown>/{wanted}"),
    }
}
