//! Who may do what, and what happens by itself: rights, escalation, acting as others, reviews,
//! tokens, owners and namespaces, in the words and codes of the real server.

pub mod namespaces;
pub mod owners;
pub mod rights;
pub mod tokens;

use anyhow::{Context, Result, ensure};
use http::{Request, StatusCode};
use kube::Client;
use serde_json::{Value, json};
use testkit::Scene;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";
const WHO: &str = "/apis/authentication.k8s.io/v1";

/// What a request was answered with.
struct Answer {
    code: u16,
    body: Value,
}

impl Answer {
    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// Fails unless it is this code and this message.
    fn says(&self, code: u16, message: &str) -> Result<()> {
        ensure!(
            (self.code, self.message()) == (code, message),
            "{} {} instead of {code} {message}",
            self.code,
            self.body
        );
        Ok(())
    }

    /// The body of an answer that is no failure.
    fn good(self) -> Result<Value> {
        ensure!(self.code < 300, "{} {}", self.code, self.body);
        Ok(self.body)
    }
}

/// Sends a request with headers, and takes any answer.
async fn ask(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Result<Answer> {
    let mut request = Request::builder().method(method).uri(path);
    let content = if method == "PATCH" {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    if body.is_some() {
        request = request.header("Content-Type", content);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let bytes = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
    match client.request::<Value>(request.body(bytes)?).await {
        Ok(body) => Ok(Answer {
            code: StatusCode::OK.as_u16(),
            body,
        }),
        Err(kube::Error::Api(status)) => Ok(Answer {
            code: status.code,
            body: serde_json::to_value(&status)?,
        }),
        Err(error) => Err(error).with_context(|| format!("{method} {path}")),
    }
}

async fn get(client: &Client, path: &str) -> Result<Answer> {
    ask(client, "GET", path, &[], None).await
}

async fn post(client: &Client, path: &str, body: &Value) -> Result<Answer> {
    ask(client, "POST", path, &[], Some(body)).await
}

async fn make(client: &Client, path: &str, body: &Value) -> Result<Value> {
    post(client, path, body)
        .await?
        .good()
        .with_context(|| format!("POST {path} {body}"))
}

/// Asks again and again until the answer is as wanted; the authorizer of the real server lags a
/// moment.
async fn until(
    scene: &Scene<'_>,
    what: &str,
    client: &Client,
    path: &str,
    wanted: impl Fn(&Answer) -> bool,
) -> Result<Answer> {
    let asking = async {
        loop {
            let answer = get(client, path).await?;
            if wanted(&answer) {
                return Ok(answer);
            }
            tokio::task::yield_now().await;
        }
    };
    scene.within(what, asking).await
}

async fn until_gone(scene: &Scene<'_>, path: &str) -> Result<()> {
    until(
        scene,
        &format!("{path} to go"),
        &scene.client(),
        path,
        |answer| answer.code == 404,
    )
    .await
    .map(drop)
}

fn role(name: &str, rules: &Value) -> Value {
    json!({"metadata": {"name": name}, "rules": rules})
}

fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}

fn binding(name: &str, kind: &str, role: &str, subject: &Value) -> Value {
    json!({"metadata": {"name": name}, "roleRef": {"kind": kind, "name": role}, "subjects": [subject]})
}

fn user(name: &str) -> Value {
    json!({"kind": "User", "name": name})
}

/// Gives a user rules in the scene's namespace, and waits until they hold.
async fn grant(scene: &Scene<'_>, who: &str, rules: &Value) -> Result<()> {
    let (admin, space) = (scene.client(), scene.namespace());
    make(
        &admin,
        &format!("{RBAC}/namespaces/{space}/roles"),
        &role(who, rules),
    )
    .await?;
    make(
        &admin,
        &format!("{RBAC}/namespaces/{space}/rolebindings"),
        &binding(who, "Role", who, &user(who)),
    )
    .await?;
    let first = |field: &str| rules[0][field][0].clone();
    let wanted = json!({"namespace": space, "verb": first("verbs"), "group": first("apiGroups"), "resource": first("resources")});
    let review = json!({"spec": {"user": who, "resourceAttributes": wanted}});
    let holding = async {
        while make(&admin, &format!("{REVIEWS}/subjectaccessreviews"), &review).await?["status"]["allowed"]
            != true
        {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    scene.within("a role to hold", holding).await
}
