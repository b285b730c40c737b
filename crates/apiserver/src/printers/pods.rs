//! Pods, as rows. Their status is told by the first container that is in trouble, as `kubectl get`
//! does.

use serde_json::{Value, json};

use super::format::{age, items, number, or_none, text};

/// The cell, if pods have one of their own there.
pub(super) fn cell(column: &str, pod: &Value) -> Option<Value> {
    Some(match column {
        "Ready" => {
            let ready = items(pod, "/status/containerStatuses")
                .iter()
                .filter(|status| status["ready"] == true)
                .count();
            format!("{ready}/{}", items(pod, "/spec/containers").len()).into()
        }
        "Status" => state(pod).into(),
        "Restarts" => restarts(pod),
        "IP" => or_none(match items(pod, "/status/podIPs").first() {
            Some(first) => text(first, "/ip"),
            None => text(pod, "/status/podIP"),
        }),
        "Node" => or_none(text(pod, "/spec/nodeName")),
        "Nominated Node" => or_none(text(pod, "/status/nominatedNodeName")),
        "Readiness Gates" => gates(pod),
        _ => return None,
    })
}

fn state(pod: &Value) -> String {
    let lost = text(pod, "/status/reason") == "NodeLost";
    if pod
        .pointer("/metadata/deletionTimestamp")
        .is_some_and(Value::is_string)
    {
        return if lost { "Unknown" } else { "Terminating" }.to_owned();
    }
    let mut state = match text(pod, "/status/reason") {
        "" => text(pod, "/status/phase").to_owned(),
        reason => reason.to_owned(),
    };
    let conditions = items(pod, "/status/conditions");
    if conditions
        .iter()
        .any(|condition| text(condition, "/reason") == "SchedulingGated")
    {
        state = "SchedulingGated".to_owned();
    }
    if let Some(initial) = initializing(pod) {
        return initial;
    }
    for status in items(pod, "/status/containerStatuses").iter().rev() {
        if let Some(trouble) = trouble(status) {
            state = trouble;
        }
    }
    state
}

/// How far a pod is with its initial containers, unless it is past them.
fn initializing(pod: &Value) -> Option<String> {
    let all = items(pod, "/spec/initContainers").len();
    for (index, status) in items(pod, "/status/initContainerStatuses")
        .iter()
        .enumerate()
    {
        let ended = status.pointer("/state/terminated");
        if ended.is_some_and(|ended| number(ended, "/exitCode") == 0) || status["started"] == true {
            continue;
        }
        let waits = text(status, "/state/waiting/reason");
        return Some(match (trouble(status), waits) {
            (Some(trouble), _)
                if ended.is_some() || (!waits.is_empty() && waits != "PodInitializing") =>
            {
                format!("Init:{trouble}")
            }
            _ => format!("Init:{index}/{all}"),
        });
    }
    None
}

fn trouble(status: &Value) -> Option<String> {
    let waits = text(status, "/state/waiting/reason");
    if !waits.is_empty() {
        return Some(waits.to_owned());
    }
    let ended = status.pointer("/state/terminated")?;
    Some(match (text(ended, "/reason"), number(ended, "/signal")) {
        ("", 0) => format!("ExitCode:{}", number(ended, "/exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    })
}

fn restarts(pod: &Value) -> Value {
    let statuses = items(pod, "/status/containerStatuses");
    let number: i64 = statuses
        .iter()
        .map(|status| number(status, "/restartCount"))
        .fold(0, i64::saturating_add);
    let last = statuses
        .iter()
        .map(|status| text(status, "/lastState/terminated/finishedAt"))
        .max()
        .unwrap_or_default();
    match age(last) {
        Value::String(ago) if number > 0 && !last.is_empty() => {
            format!("{number} ({ago} ago)").into()
        }
        _ => json!(number.to_string()),
    }
}

fn gates(pod: &Value) -> Value {
    let gates = items(pod, "/spec/readinessGates");
    if gates.is_empty() {
        return "<none>".into();
    }
    let open = |gate: &&Value| {
        let conditions = items(pod, "/status/conditions");
        conditions.iter().any(|condition| {
            condition["type"] == gate["conditionType"] && condition["status"] == "True"
        })
    };
    format!("{}/{}", gates.iter().filter(open).count(), gates.len()).into()
}
