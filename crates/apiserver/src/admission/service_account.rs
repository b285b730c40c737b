//! What a pod has from its service account: the account's token where programs look for it, and
//! what images are pulled with. Nothing runs here, but whoever reads pods finds them as on a real
//! cluster.

use serde_json::{Value, json};

use crate::handlers::status::ApiError;
use crate::random;
use crate::registry::table_name;
use crate::storage::{Key, Store};

/// Where programs look for the token.
const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// What the names of token volumes begin with.
const VOLUME: &str = "kube-api-access-";
/// Pods that a kubelet has made by itself stay as they are.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Completes a new pod by its account, which has to be there.
pub(crate) fn admit(store: &Store, namespace: &str, pod: &mut Value) -> Result<(), ApiError> {
    if pod["metadata"]["annotations"][MIRROR].is_string() || !pod["spec"].is_object() {
        return Ok(());
    }
    let text = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let name =
        text(&pod["spec"]["serviceAccountName"]).or_else(|| text(&pod["spec"]["serviceAccount"]));
    let name = name.unwrap_or_else(|| "default".to_owned());
    pod["spec"]["serviceAccountName"] = name.clone().into();
    let Some(account) = store.get(&Key::new(
        &table_name("", "serviceaccounts"),
        namespace,
        &name,
    )) else {
        // A name that is drawn is drawn after this.
        let own = text(&pod["metadata"]["generateName"]).or_else(|| text(&pod["metadata"]["name"]));
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        );
        return Err(ApiError::forbidden(
            "",
            "pods",
            &own.unwrap_or_default(),
            &why,
        ));
    };
    let wish = |object: &Value| object["automountServiceAccountToken"].as_bool();
    let account = account.value();
    if wish(&pod["spec"])
        .or_else(|| wish(&account))
        .unwrap_or(true)
    {
        mount(&mut pod["spec"]);
    }
    let secrets = account["imagePullSecrets"]
        .as_array()
        .filter(|secrets| !secrets.is_empty());
    if let Some(secrets) = secrets
        && pod["spec"]["imagePullSecrets"]
            .as_array()
            .is_none_or(Vec::is_empty)
    {
        pod["spec"]["imagePullSecrets"] = secrets.clone().into();
    }
    Ok(())
}

/// Mounts the token into every container that has nothing there.
fn mount(spec: &mut Value) {
    let is_token = |volume: &Value| {
        volume["name"]
            .as_str()
            .filter(|name| name.starts_with(VOLUME))
            .map(str::to_owned)
    };
    let there = spec["volumes"]
        .as_array()
        .into_iter()
        .flatten()
        .find_map(is_token);
    let name = there
        .clone()
        .unwrap_or_else(|| format!("{VOLUME}{}", random::suffix()));
    let mut needed = false;
    for list in ["initContainers", "containers"] {
        for container in spec
            .get_mut(list)
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let taken = |mounts: &Vec<Value>| mounts.iter().any(|mount| mount["mountPath"] == PATH);
            if !container.is_object() || container["volumeMounts"].as_array().is_some_and(taken) {
                continue;
            }
            append(
                container,
                "volumeMounts",
                json!({"mountPath": PATH, "name": name, "readOnly": true}),
            );
            needed = true;
        }
    }
    if needed && there.is_none() {
        append(
            spec,
            "volumes",
            json!({"name": name, "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
                {"downwardAPI": {"items": [
                    {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"},
                ]}},
            ]}}),
        );
    }
}

fn append(object: &mut Value, list: &str, item: Value) {
    match &mut object[list] {
        Value::Array(items) => items.push(item),
        // What is no list is refused by the check of types.
        other if other.is_null() => *other = json!([item]),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Change, Expect, Window};

    #[tokio::test]
    async fn a_pod_is_completed_by_its_account() {
        let store = Store::in_memory(Window::default());
        for (name, more) in [
            ("default", json!({})),
            (
                "quiet",
                json!({"automountServiceAccountToken": false, "imagePullSecrets": [{"name": "z"}]}),
            ),
        ] {
            let mut account = more;
            account["metadata"] = json!({"name": name});
            let key = Key::new(&table_name("", "serviceaccounts"), "n", name);
            store
                .commit(vec![Change {
                    key,
                    expect: Expect::Absent,
                    to: Some(account),
                }])
                .await
                .unwrap();
        }
        let made = |spec: Value| {
            let mut pod = json!({"metadata": {"name": "p"}, "spec": spec});
            admit(&store, "n", &mut pod)
                .map(|()| pod["spec"].clone())
                .map_err(|error| error.message)
        };
        let own = json!({"name": "i", "volumeMounts": [{"name": "x", "mountPath": PATH}]});
        let spec = made(json!({"containers": [{"name": "c"}], "initContainers": [own]})).unwrap();
        let volume = spec["volumes"][0]["name"].as_str().unwrap().to_owned();
        assert!(
            volume.starts_with(VOLUME) && volume.len() == VOLUME.len() + 5,
            "{volume}"
        );
        assert_eq!(spec["serviceAccountName"], "default");
        let mounts = json!([{"name": volume, "mountPath": PATH, "readOnly": true}]);
        assert_eq!(
            (
                &spec["containers"][0]["volumeMounts"],
                &spec["initContainers"][0]
            ),
            (&mounts, &own)
        );
        let spec = made(json!({"containers": [{}], "serviceAccountName": "quiet"})).unwrap();
        assert_eq!(
            (&spec["volumes"], &spec["imagePullSecrets"]),
            (&Value::Null, &json!([{"name": "z"}]))
        );
        let spec = made(
            json!({"containers": [{}], "serviceAccountName": "quiet", "automountServiceAccountToken": true}),
        );
        assert!(spec.unwrap()["volumes"].is_array(), "the pod decides");
        let message = "pods \"p\" is forbidden: error looking up service account n/no: serviceaccount \"no\" not found";
        assert_eq!(
            made(json!({"serviceAccountName": "no"})),
            Err(message.to_owned())
        );
        for odd in [
            json!({"containers": 1}),
            json!({"containers": [1, {"volumeMounts": "x"}], "volumes": 2}),
            json!(3),
        ] {
            made(odd).unwrap();
        }
    }
}
