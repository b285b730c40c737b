//! `cairn template store`: a template of a file as an object of a cluster.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::json;
use templates::{Severity, check, to_store};

use super::{MANAGER, source, told};
use crate::cli::StoreTemplate;
use crate::cluster::registries::block_on;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &StoreTemplate, printer: &Printer) -> Result<Code, Failure> {
    let loaded = source::load(&args.template, true, &args.connection)?;
    let (errors, warnings): (Vec<_>, Vec<_>) = check(&loaded.value)
        .into_iter()
        .partition(|problem| problem.severity == Severity::Error);
    loaded.warn(&warnings, printer);
    if !errors.is_empty() {
        return Err(loaded.failure(&errors));
    }
    let name = args.name.clone().unwrap_or_else(|| loaded.name());
    if !objects::is_subdomain(&name) {
        let failure = Failure::usage(format!("`{name}` is not a valid name of an object"));
        return Err(
            failure.hint("name it with `--name NAME`: lower-case letters, digits, `-` and `.`")
        );
    }
    let template =
        to_store(loaded.value.clone(), &name).map_err(|problems| loaded.failure(&problems))?;
    let (stored, namespace) = block_on(async {
        let connected = args.connection.connect().await?;
        let api: Api<DynamicObject> = Api::namespaced_with(
            connected.client.clone(),
            &connected.namespace,
            &source::resource(),
        );
        let params = PatchParams {
            force: args.force_conflicts,
            dry_run: args.dry_run,
            ..PatchParams::apply(MANAGER)
        };
        let stored = api
            .patch(&name, &params, &Patch::Apply(&template))
            .await
            .map_err(|error| match &error {
                kube::Error::Api(status) if status.code == 404 => {
                    source::no_templates(&error, &connected.namespace)
                }
                _ => told(&error),
            })?;
        Ok::<_, Failure>((stored, connected.namespace))
    })??;
    match args.outcome.output {
        Some(format) => {
            let mut stored = serde_json::to_value(&stored).unwrap_or_default();
            stored["apiVersion"] = json!(api::template::API_VERSION);
            stored["kind"] = json!(api::template::KIND);
            printer.object(&stored, format)?;
        }
        None => {
            let how = if args.dry_run {
                "stored (dry run)"
            } else {
                "stored"
            };
            printer.line(&format!(
                "template.{}/{name} {how} in the namespace {namespace}",
                api::template::GROUP
            ))?;
        }
    }
    Ok(Code::Ok)
}
