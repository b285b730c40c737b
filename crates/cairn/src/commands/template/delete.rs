//! `cairn template delete`: the end of an instance, by the labels that all of its objects have.

use kube::Client;
use kube::api::DeleteParams;
use kube::discovery::verbs;
use serde_json::Value;
use templates::selector_of;

use super::{kinds, told};
use crate::cli::Delete;
use crate::cluster::registries::block_on;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Delete, printer: &Printer) -> Result<Code, Failure> {
    block_on(async {
        let connected = args.connection.connect().await?;
        let selector = selector_of(&args.instance, &connected.namespace).map_err(Failure::usage)?;
        let (found, unseen) = objects(&connected.client, &connected.namespace, &selector).await?;
        if found.is_empty() {
            let what = format!(
                "there is no instance {} in the namespace {}",
                args.instance, connected.namespace
            );
            let hint = format!("its objects would have the labels {selector}");
            let failure = Failure::new(what).hint(hint);
            return Err(if unseen.is_empty() {
                failure
            } else {
                failure.hint(not_seen(&unseen))
            });
        }
        for (kind, object) in &found {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let namespace = object["metadata"]["namespace"].as_str();
            if !args.dry_run {
                let outcome = kind
                    .api(&connected.client, namespace)
                    .delete(name, &DeleteParams::default())
                    .await;
                match outcome {
                    Ok(_) => {}
                    // Whatever made it go was quicker.
                    Err(kube::Error::Api(status)) if status.code == 404 => {}
                    Err(error) => return Err(told(&error)),
                }
            }
            let how = if args.dry_run {
                "would be deleted"
            } else {
                "deleted"
            };
            if args.outcome.output.is_none() {
                printer.line(&format!("{} {how}", kind.shown(name)))?;
            }
        }
        if let Some(format) = args.outcome.output {
            let objects: Vec<Value> = found.into_iter().map(|(_, object)| object).collect();
            printer.objects(&objects, format)?;
        }
        if !unseen.is_empty() {
            printer.warning(&not_seen(&unseen));
        }
        Ok(Code::Ok)
    })?
}

fn not_seen(kinds: &[String]) -> String {
    format!(
        "you may not list {}, so objects of these kinds stay if there are any",
        kinds.join(", ")
    )
}

/// The objects with these labels, those that hold others last; and the kinds that could not be
/// looked at.
async fn objects(
    client: &Client,
    namespace: &str,
    selector: &str,
) -> Result<(Vec<(kinds::Kind, Value)>, Vec<String>), Failure> {
    let (mut found, mut unseen) = (Vec::new(), Vec::new());
    for kind in kinds::all(client)
        .await?
        .into_iter()
        .filter(|kind| kind.can(verbs::DELETE))
    {
        // A template may name other namespaces; whoever may not see them can still delete what is
        // in this one.
        let mut all = kinds::listed(&kind, client, None, Some(selector)).await?;
        if all.is_none() && kind.namespaced {
            all = kinds::listed(&kind, client, Some(namespace), Some(selector)).await?;
        }
        match all {
            Some(all) => found.extend(all.into_iter().map(|object| (kind.clone(), object))),
            None => unseen.push(kind.resource.plural.clone()),
        }
    }
    // What another object makes goes with that.
    found.retain(|(_, object)| {
        object["metadata"]["ownerReferences"]
            .as_array()
            .is_none_or(Vec::is_empty)
    });
    found.sort_by_key(|(kind, _)| {
        ["CustomResourceDefinition", "Namespace"].contains(&&*kind.resource.kind)
    });
    Ok((found, unseen))
}
