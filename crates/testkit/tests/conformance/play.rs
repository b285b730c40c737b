//! Playing a case: every step is asked of a cluster over raw HTTP, and its answer is put into the
//! words that the case expects or is recorded with.

use std::{collections::HashMap, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use testkit::{Cluster, Identity, Scene};

use crate::{
    generate,
    mask::Mask,
    pick,
    script::{Case, Step},
};

/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(25);

/// A case being played.
struct Play<'a> {
    cluster: &'a Cluster,
    scene: Option<Scene<'a>>,
    words: HashMap<String, String>,
    mask: Mask,
    watches: HashMap<String, Watch>,
}

/// An open watch, and what has come of it that is no whole line yet.
struct Watch {
    body: Body,
    rest: Vec<u8>,
}

/// A raw answer.
struct Answer {
    code: u16,
    kind: String,
    warnings: Vec<String>,
    location: Option<String>,
    bytes: Vec<u8>,
}

/// The answers to all steps of a case, in its words.
pub async fn answers(cluster: &Cluster, case: &Case) -> Result<Vec<String>> {
    let mut play = Play {
        cluster,
        scene: None,
        words: HashMap::new(),
        mask: Mask::new()?,
        watches: HashMap::new(),
    };
    let mut answers = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let what = || format!("step {}: {} {}", index + 1, step.verb, step.target);
        if play.scene.is_none() && mentions_scene(step) {
            let scene = cluster.scene("case").await?;
            play.know("group", scene.group());
            play.know("ns", scene.namespace());
            play.scene = Some(scene);
        }
        let patience = cluster.backend().patience();
        let answer = tokio::time::timeout(patience, play.step(step)).await;
        let answer = answer.map_err(|_| anyhow::anyhow!("no answer in {} s", patience.as_secs()));
        answers.push(answer.and_then(|answer| answer).with_context(what)?);
    }
    Ok(answers)
}

/// A scene costs a namespace, so there is one only for those who name it.
fn mentions_scene(step: &Step) -> bool {
    let headers = step
        .headers
        .iter()
        .chain(&step.directives)
        .map(|(_, value)| value);
    [&step.target, &step.body]
        .into_iter()
        .chain(headers)
        .any(|text| text.contains("$ns") || text.contains("$group"))
        || step.verb == "CRD"
}

impl Play<'_> {
    fn know(&mut self, name: &str, value: &str) {
        self.words.insert(name.to_owned(), value.to_owned());
        self.mask.word(value, &format!("${name}"));
    }

    fn fill(&self, text: &str) -> String {
        let mut names: Vec<&String> = self.words.keys().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.into_iter().fold(text.to_owned(), |text, name| {
            text.replace(&format!("${name}"), &self.words[name])
        })
    }

    async fn step(&mut self, step: &Step) -> Result<String> {
        match step.verb.as_str() {
            "CRD" => self.crd(step).await,
            "WATCH" => self.watch(step).await,
            "EVENTS" => self.events(step).await,
            "END" => self.end(step).await,
            _ => self.request(step).await,
        }
    }

    /// Installs a kind of the scene's group whose `spec` has the schema in the body.
    async fn crd(&mut self, step: &Step) -> Result<String> {
        let scene = self.scene.as_ref().context("no scene")?;
        let spec =
            yaml::parse(&self.fill(&step.body)).map_err(|error| anyhow::anyhow!("{error}"))?;
        scene.install_crd(&scene.crd(&step.target, &spec)).await?;
        Ok(String::new())
    }

    async fn request(&mut self, step: &Step) -> Result<String> {
        let times: usize = step
            .directive("repeat")
            .map_or(Ok(1), str::parse)
            .context("how often to repeat")?;
        let mut answer = None;
        for number in 0..times {
            if step.directive("repeat").is_some() {
                self.words.insert("i".to_owned(), number.to_string());
            }
            answer = Some(self.ask_until(step).await?);
        }
        let answer = answer.context("nothing was asked")?;
        if let Some(saved) = step.directive("save") {
            let (name, path) = saved
                .split_once(' ')
                .context("what to save, and from where")?;
            let value = pick::find(&answer.value(), path)
                .with_context(|| format!("{path} is not in {}", answer.show()))?;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            self.words.insert(name.to_owned(), text);
        }
        if step.quiet {
            ensure!(answer.code < 300, "{} {}", answer.code, answer.show());
            return Ok(String::new());
        }
        self.tell(step, &answer)
    }

    /// Asks once, or again and again until the answer is the wanted one.
    async fn ask_until(&mut self, step: &Step) -> Result<Answer> {
        let Some(wanted) = step.directive("until") else {
            return self.ask(step).await;
        };
        let wanted = self.fill(wanted);
        loop {
            let answer = self.ask(step).await?;
            let met = match wanted.split_once(" = ") {
                Some((path, text)) => {
                    let value = yaml::parse(text).map_err(|error| anyhow::anyhow!("{error}"))?;
                    pick::at(&answer.value(), path) == value
                }
                None => {
                    wanted
                        .strip_prefix("code ")
                        .and_then(|code| code.parse().ok())
                        == Some(answer.code)
                }
            };
            if met {
                return Ok(answer);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn ask(&mut self, step: &Step) -> Result<Answer> {
        let (parts, body) = self.admitted(step).await?.into_parts();
        let header = |name: &str| -> Vec<String> {
            let values = parts.headers.get_all(name).iter();
            values
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                .collect()
        };
        let (code, kind) = (parts.status.as_u16(), header("content-type").concat());
        let (warnings, location) = (header("warning"), header("location").pop());
        let bytes = body
            .collect()
            .await
            .context("the answer broke off")?
            .to_bytes()
            .to_vec();
        Ok(Answer {
            code,
            kind,
            warnings,
            location,
            bytes,
        })
    }

    /// Asks again whoever says that it is too early: the real server does, of a kind that has just
    /// been made.
    async fn admitted(&mut self, step: &Step) -> Result<Response<Body>> {
        loop {
            let response = self.send(step).await?;
            if response.status() != StatusCode::TOO_MANY_REQUESTS {
                return Ok(response);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn send(&mut self, step: &Step) -> Result<Response<Body>> {
        let (method, content) = match step.verb.as_str() {
            "JSON-PATCH" => ("PATCH", "application/json-patch+json"),
            "MERGE-PATCH" => ("PATCH", "application/merge-patch+json"),
            "STRATEGIC-PATCH" => ("PATCH", "application/strategic-merge-patch+json"),
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            "WATCH" => ("GET", ""),
            other => (other, "application/json"),
        };
        let path = step.target.split(' ').next_back().unwrap_or_default();
        let body = self.body(step)?;
        let mut request = Request::builder().method(method).uri(self.fill(path));
        request = request.header(
            "Accept",
            step.directive("accept").unwrap_or("application/json"),
        );
        if !body.is_empty() {
            request = request.header("Content-Type", step.directive("type").unwrap_or(content));
        }
        for (name, value) in &step.headers {
            request = request.header(name, self.fill(value));
        }
        let who = match step.directive("as") {
            None => Identity::Admin,
            Some("anonymous") => Identity::Anonymous,
            Some(who) => {
                let mut words = who.split(' ').map(|word| self.fill(word));
                Identity::User {
                    name: words.next().unwrap_or_default(),
                    groups: words.collect(),
                }
            }
        };
        let client = self.cluster.backend().plain_client(&who)?;
        Ok(client.send(request.body(Body::from(body))?).await?)
    }

    fn body(&self, step: &Step) -> Result<Vec<u8>> {
        if let Some(what) = step.directive("body-of") {
            return generate::body(&self.fill(what));
        }
        let text = self.fill(&step.body);
        if step.directive("raw").is_some() || text.is_empty() {
            return Ok(text.into_bytes());
        }
        let value = yaml::parse(&text).map_err(|error| anyhow::anyhow!("the body: {error}"))?;
        Ok(serde_json::to_vec(&value)?)
    }

    /// The answer in the words of the cases: the code, a content type that is not the usual one,
    /// warnings, and the masked value as YAML.
    fn tell(&mut self, step: &Step, answer: &Answer) -> Result<String> {
        let mut text = format!("< {}", answer.code);
        if answer.kind != "application/json" {
            text.push_str(&format!(" {}", answer.kind));
        }
        for warning in &answer.warnings {
            text.push_str(&format!("\n< warning: {}", self.mask.text(warning)));
        }
        if let Some(location) = &answer.location {
            text.push_str(&format!("\n< location: {}", self.mask.text(location)));
        }
        let mut value = answer.value();
        leave_out_the_usual(&mut value, answer.code);
        self.mask
            .value(&mut value, step.directive("managed-fields").is_some());
        text.push('\n');
        text.push_str(&self.shown(step, value)?);
        Ok(text.trim_end().to_owned())
    }

    fn shown(&self, step: &Step, mut value: Value) -> Result<String> {
        step.all("hide")
            .flat_map(str::split_whitespace)
            .for_each(|path| pick::hide(&mut value, path));
        if step.directive("brief").is_some() && value.get("reason").is_some() {
            value = brief(&value);
        }
        let value = match step.directive("show") {
            // An error is told in full, whatever was to be shown.
            Some(paths) if value.get("reason").is_none() => pick::show(&value, paths),
            _ => value,
        };
        if value == json!({}) {
            return Ok(String::new());
        }
        yaml::emit(&value).map_err(|error| anyhow::anyhow!("{error}"))
    }

    async fn watch(&mut self, step: &Step) -> Result<String> {
        let name = step.target.split(' ').next().unwrap_or_default().to_owned();
        let response = self.admitted(step).await?;
        let code = response.status().as_u16();
        let kind = response
            .headers()
            .get("content-type")
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let kind = kind.to_owned();
        if code == 200 {
            self.watches.insert(
                name,
                Watch {
                    body: response.into_body(),
                    rest: Vec::new(),
                },
            );
            return Ok(if kind == "application/json" {
                "< 200".to_owned()
            } else {
                format!("< 200 {kind}")
            });
        }
        let bytes = response.into_body().collect().await?.to_bytes().to_vec();
        self.tell(
            step,
            &Answer {
                code,
                kind,
                warnings: Vec::new(),
                location: None,
                bytes,
            },
        )
    }

    /// The next events of a watch: `EVENTS name number`.
    async fn events(&mut self, step: &Step) -> Result<String> {
        let (name, number) = step
            .target
            .split_once(' ')
            .context("of which watch, and how many")?;
        let number: usize = number.parse().context("how many events")?;
        let mut events = Vec::new();
        while events.len() < number {
            let watch = self
                .watches
                .get_mut(name)
                .with_context(|| format!("there is no watch {name}"))?;
            let line = watch
                .line()
                .await?
                .with_context(|| format!("the watch ended after {events:?}"))?;
            let mut event: Value = serde_json::from_slice(&line).context("an event is no JSON")?;
            // A server may tell at any time how far it is; only the end of the initial events is at
            // a fixed place.
            let ends = &event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
            if event["type"] == "BOOKMARK" && ends.is_null() {
                continue;
            }
            self.mask
                .value(&mut event, step.directive("managed-fields").is_some());
            step.all("hide")
                .flat_map(str::split_whitespace)
                .for_each(|path| pick::hide(&mut event, path));
            let is_error = event["type"] == "ERROR";
            events.push(match step.directive("show") {
                Some(paths) if !is_error => pick::show(&event, paths),
                _ => event,
            });
        }
        Ok(yaml::emit(&Value::Array(events))
            .map_err(|error| anyhow::anyhow!("{error}"))?
            .trim_end()
            .to_owned())
        .map(|text| format!("< events\n{text}"))
    }

    /// A watch ends on its own, without further events.
    async fn end(&mut self, step: &Step) -> Result<String> {
        let mut watch = self
            .watches
            .remove(&step.target)
            .with_context(|| format!("no watch {}", step.target))?;
        if let Some(line) = watch.line().await? {
            bail!("another event: {}", String::from_utf8_lossy(&line));
        }
        Ok("< end".to_owned())
    }
}

/// An error without its words, where those of the real server are about Go.
fn brief(error: &Value) -> Value {
    let causes = error["details"]["causes"].as_array().into_iter().flatten();
    let causes: Vec<Value> = causes
        .map(|cause| json!({"field": cause["field"], "reason": cause["reason"]}))
        .collect();
    json!({"reason": error["reason"], "causes": causes})
}

/// What all errors have in common says nothing: the kind, and the code once more.
fn leave_out_the_usual(value: &mut Value, code: u16) {
    let usual = [
        ("apiVersion", json!("v1")),
        ("code", json!(code)),
        ("kind", json!("Status")),
        ("metadata", json!({})),
        ("status", json!("Failure")),
    ];
    if let Some(fields) = value.as_object_mut()
        && usual
            .iter()
            .all(|(name, value)| fields.get(*name) == Some(value))
    {
        usual
            .iter()
            .for_each(|(name, _)| drop(fields.remove(*name)));
    }
}

impl Watch {
    async fn line(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
                let line = self.rest.drain(..=end).collect();
                return Ok(Some(line));
            }
            match self.body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame.context("the watch broke off")?.into_data() {
                        self.rest.extend_from_slice(&data);
                    }
                }
                None if self.rest.is_empty() => return Ok(None),
                None => return Ok(Some(std::mem::take(&mut self.rest))),
            }
        }
    }
}

impl Answer {
    /// The answer as a value; a text that is neither JSON nor YAML is a value of its own.
    fn value(&self) -> Value {
        if self.bytes.is_empty() {
            return json!({});
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let parsed = if self.kind.contains("yaml") {
            yaml::parse(&text).ok()
        } else {
            serde_json::from_str(&text).ok()
        };
        parsed
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({"text": text.chars().take(300).collect::<String>()}))
    }

    fn show(&self) -> String {
        String::from_utf8_lossy(&self.bytes)
            .chars()
            .take(2000)
            .collect()
    }
}
