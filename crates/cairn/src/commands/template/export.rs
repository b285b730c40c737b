//! `cairn template export`: live objects as a template.

use kube::Client;
use kube::discovery::verbs;
use serde_json::Value;
use templates::{Cleaned, Wish, clean, is_machinery, parametrize, wrap};

use super::{kinds, told, written};
use crate::cli::{Export, WishName};
use crate::cluster::registries::block_on;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &Export, printer: &Printer) -> Result<Code, Failure> {
    let (objects, namespace) = block_on(async {
        let connected = args.connection.connect().await?;
        let objects = chosen(args, &connected.client, &connected.namespace).await?;
        Ok::<_, Failure>((objects, connected.namespace))
    })??;
    let named = !args.objects.is_empty();
    let mut kept = Vec::new();
    let (mut machinery, mut secrets) = (0, 0);
    for object in objects {
        let shown = format!(
            "{} {}",
            text(&object["kind"]),
            text(&object["metadata"]["name"])
        );
        // What somebody named is wanted.
        if is_machinery(&object) && !named {
            machinery += 1;
            continue;
        }
        if object["kind"] == "Secret"
            && object["apiVersion"] == "v1"
            && !args.with_secrets
            && !named
        {
            secrets += 1;
            continue;
        }
        match clean(object) {
            Cleaned::Kept(object) => kept.push(*object),
            Cleaned::Left(reason) if named => {
                printer.warning(&format!("{shown} is left out: {reason}"));
            }
            Cleaned::Left(_) => {}
        }
    }
    if machinery > 0 {
        let what = if machinery == 1 {
            "object of installed packages is"
        } else {
            "objects of installed packages are"
        };
        printer.say(&format!(
            "{machinery} {what} left out; name them to export them: `KIND/NAME`"
        ));
    }
    if secrets > 0 {
        printer.say(&format!(
            "{secrets} Secrets are left out; `--with-secrets` takes them along with what is in them"
        ));
    }
    if kept.is_empty() {
        let what = format!("there is nothing to export in the namespace {namespace}");
        return Err(Failure::new(what)
            .hint("objects that the cluster or other objects make are never exported"));
    }
    let mut template = wrap(args.name.as_deref().unwrap_or(&namespace), kept);
    let wishes: Vec<Wish> = args
        .parametrize
        .iter()
        .map(|wish| match wish {
            WishName::Names => Wish::Names,
            WishName::Images => Wish::Images,
            WishName::Replicas => Wish::Replicas,
        })
        .collect();
    parametrize(&mut template, &wishes);
    written(&template, args.output, printer)?;
    Ok(Code::Ok)
}

/// The objects that were asked for.
async fn chosen(args: &Export, client: &Client, namespace: &str) -> Result<Vec<Value>, Failure> {
    let all = kinds::all(client).await?;
    let selector = args.selector.as_deref();
    let mut found = Vec::new();
    if args.objects.is_empty() {
        let wanted = |kind: &&kinds::Kind| {
            kind.namespaced && kind.can(verbs::CREATE) && kind.can(verbs::LIST)
        };
        for kind in all.iter().filter(wanted) {
            // What may not be seen is not exported; a namespace is rarely all of somebody's.
            found.extend(
                kinds::listed(kind, client, Some(namespace), selector)
                    .await?
                    .unwrap_or_default(),
            );
        }
        return Ok(found);
    }
    for text in &args.objects {
        let (kind, name) = text
            .split_once('/')
            .map_or((text.as_str(), None), |(kind, name)| (kind, Some(name)));
        let kind = kinds::called(&all, client, kind).await?.ok_or_else(|| {
            let near =
                objects::nearest(kind, all.iter().map(|other| other.resource.plural.as_str()));
            let failure = Failure::new(format!("the cluster has no kind `{kind}`"));
            match near {
                Some(near) => failure.hint(format!("is `{near}` meant?")),
                None => failure,
            }
        })?;
        match name {
            Some(name) => {
                let object = kind
                    .api(client, Some(namespace))
                    .get(name)
                    .await
                    .map_err(|error| told(&error))?;
                let mut value = serde_json::to_value(object).unwrap_or_default();
                value["apiVersion"] = kind.resource.api_version.clone().into();
                value["kind"] = kind.resource.kind.clone().into();
                found.push(value);
            }
            None => {
                let listed = kinds::listed(kind, client, Some(namespace), selector).await?;
                let what = || Failure::new(format!("you may not list {}", kind.resource.plural));
                found.extend(listed.ok_or_else(what)?);
            }
        }
    }
    Ok(found)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
