//! `cairn template apply`: the objects of a template in a cluster, as one instance that can be
//! found again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use objects::Path;
use serde_json::{Value, json};
use templates::{Claim, Given, Origin, Processed, Template, instance_labels};

use super::source::{self, Loaded};
use super::values::{given, process};
use super::{MANAGER, kinds, told};
use crate::cli::Apply;
use crate::cluster::registries::block_on;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Apply, printer: &Printer) -> Result<Code, Failure> {
    let loaded = source::load(&args.template, false, &args.connection)?;
    let instance = args.instance.clone().unwrap_or_else(|| loaded.name());
    let mut given = given(&args.values, &loaded, printer)?;
    block_on(async {
        let connected = args.connection.connect().await?;
        let (client, namespace) = (connected.client, connected.namespace);
        let marks = instance_labels(&instance, &loaded.name(), &namespace).map_err(|what| {
            let failure = Failure::usage(what);
            if args.instance.is_none() {
                failure.hint("name it with `--instance NAME`")
            } else {
                failure
            }
        })?;
        given.marks.clone_from(&marks);
        let kept = Kept {
            name: format!("{instance}-parameters"),
            namespace: namespace.clone(),
        };
        kept.recall(&client, &loaded, &mut given).await?;
        let processed = process(&loaded, &args.values, given, printer)?;
        let mut objects = processed.objects().to_vec();
        objects.extend(kept.secret(&processed, &marks));
        let known = known(&objects, &client).await?;
        let claim = Claim {
            instance: &instance,
            namespace: &namespace,
            force: args.force_conflicts,
        };
        claimed(&objects, &known, &client, claim, &loaded).await?;
        apply(&objects, &known, &client, &namespace, args, printer).await?;
        if let Some(message) = processed.message() {
            printer.say(message);
        }
        Ok(Code::Ok)
    })?
}

type Known = BTreeMap<(String, String), kinds::Kind>;

fn key(object: &Value) -> (String, String) {
    (object["apiVersion"].to_string(), object["kind"].to_string())
}

/// The kinds of the objects; whether the cluster knows them is known before the first is applied.
async fn known(objects: &[Value], client: &Client) -> Result<Known, Failure> {
    let mut known = Known::new();
    for object in objects {
        if let Entry::Vacant(place) = known.entry(key(object)) {
            place.insert(kinds::of(client, object).await?);
        }
    }
    Ok(known)
}

/// Whether nothing that is there already is somebody else's; all that is, at once.
async fn claimed(
    objects: &[Value],
    known: &Known,
    client: &Client,
    claim: Claim<'_>,
    loaded: &Loaded,
) -> Result<(), Failure> {
    let written = loaded.value["objects"].as_array().map_or(0, Vec::len);
    let mut problems = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let Some(name) = object["metadata"]["name"]
            .as_str()
            .filter(|name| !name.is_empty())
        else {
            continue;
        };
        let kind = &known[&key(object)];
        let shown = kind.shown(name);
        let api = kind.api(
            client,
            Some(
                object["metadata"]["namespace"]
                    .as_str()
                    .unwrap_or(claim.namespace),
            ),
        );
        let live = api
            .get_metadata_opt(name)
            .await
            .map_err(|error| of(&shown, told(&error)))?;
        // The Secret of drawn values comes after those that the template has.
        let place = if index < written {
            Path::fields(&["objects"]).child(index)
        } else {
            Path::root()
        };
        let live = live.map(|live| serde_json::to_value(live).unwrap_or_default());
        problems.extend(live.and_then(|live| claim.objection(&live, &shown, place)));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(loaded.failure(&problems))
    }
}

/// A failure about an object.
fn of(shown: &str, failure: Failure) -> Failure {
    Failure {
        message: format!("{shown}: {}", failure.message),
        ..failure
    }
}

/// Applies objects in their order.
async fn apply(
    objects: &[Value],
    known: &Known,
    client: &Client,
    namespace: &str,
    args: &Apply,
    printer: &Printer,
) -> Result<(), Failure> {
    let params = PatchParams {
        force: args.force_conflicts,
        dry_run: args.dry_run,
        ..PatchParams::apply(MANAGER)
    };
    let mut all = Vec::new();
    for object in objects {
        let kind = &known[&key(object)];
        let own = object["metadata"]["namespace"]
            .as_str()
            .unwrap_or(namespace);
        let api = kind.api(client, Some(own));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let outcome = if name.is_empty() {
            let object: DynamicObject = serde_json::from_value(object.clone())
                .map_err(|error| Failure::new(format!("an object of the template: {error}")))?;
            api.create(
                &PostParams {
                    dry_run: args.dry_run,
                    field_manager: Some(MANAGER.to_owned()),
                },
                &object,
            )
            .await
        } else {
            api.patch(name, &params, &Patch::Apply(object)).await
        };
        let shown = kind.shown(name);
        let made = outcome.map_err(|error| of(&shown, told(&error)))?;
        if args.outcome.output.is_none() {
            let how = if args.dry_run {
                "applied (dry run)"
            } else {
                "applied"
            };
            printer.line(&format!(
                "{} {how}",
                kind.shown(made.metadata.name.as_deref().unwrap_or_default())
            ))?;
        }
        let mut made = serde_json::to_value(&made).unwrap_or_default();
        for field in ["apiVersion", "kind"] {
            made[field] = object[field].clone();
        }
        all.push(made);
    }
    if let Some(format) = args.outcome.output {
        printer.objects(&all, format)?;
    }
    Ok(())
}

/// The Secret that keeps the values which were generated for an instance.
struct Kept {
    name: String,
    namespace: String,
}

impl Kept {
    /// Uses again what was generated before, where nothing else was said.
    async fn recall(
        &self,
        client: &Client,
        loaded: &Loaded,
        given: &mut Given,
    ) -> Result<(), Failure> {
        let Ok((template, _)) = Template::read(&loaded.value) else {
            return Ok(());
        };
        let generated = template
            .parameters
            .iter()
            .filter(|parameter| parameter.is_generated());
        let open: Vec<&str> = generated
            .map(|parameter| parameter.name.as_str())
            .filter(|name| !given.values.iter().any(|(other, _)| other == name))
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let api: Api<k8s_openapi::api::core::v1::Secret> =
            Api::namespaced(client.clone(), &self.namespace);
        let Some(secret) = api
            .get_opt(&self.name)
            .await
            .map_err(|error| told(&error))?
        else {
            return Ok(());
        };
        let data = secret.data.unwrap_or_default();
        for name in open {
            let before = data
                .get(name)
                .and_then(|bytes| String::from_utf8(bytes.0.clone()).ok());
            if let Some(value) = before {
                given.recalled.push((name.to_owned(), value));
            }
        }
        Ok(())
    }

    /// The Secret, if something was generated.
    fn secret(&self, processed: &Processed, labels: &BTreeMap<String, String>) -> Option<Value> {
        let drawn = processed
            .used
            .iter()
            .filter(|used| used.origin == Origin::Generated);
        let data: BTreeMap<&str, String> = drawn
            .map(|used| (used.name.as_str(), STANDARD.encode(&used.value)))
            .collect();
        (!data.is_empty()).then(|| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                "metadata": { "name": self.name, "labels": labels },
                "data": data,
            })
        })
    }
}
