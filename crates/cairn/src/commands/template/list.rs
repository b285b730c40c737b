//! `cairn template list`: the templates of a namespace, as a library to choose from.

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use serde_json::Value;
use templates::Template;

use super::{source, told};
use crate::cli::ListTemplates;
use crate::cluster::registries::block_on;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

/// How much of a description is shown.
const WIDTH: usize = 80;

pub(crate) fn run(args: &ListTemplates, printer: &Printer) -> Result<Code, Failure> {
    let found = block_on(async {
        let connected = args.listing.connection.connect().await?;
        let resource = source::resource();
        let api: Api<DynamicObject> = if args.listing.all_namespaces {
            Api::all_with(connected.client, &resource)
        } else {
            Api::namespaced_with(connected.client, &connected.namespace, &resource)
        };
        let list = api
            .list(&ListParams::default())
            .await
            .map_err(|error| match &error {
                kube::Error::Api(status) if status.code == 404 => Failure::new(
                    "the cluster stores no templates",
                )
                .hint("the stack manager adds the kind Template: `cairn stack-manager --help`"),
                _ => told(&error),
            })?;
        let values = list
            .items
            .into_iter()
            .map(|item| serde_json::to_value(item).unwrap_or_default());
        Ok::<Vec<Value>, Failure>(values.collect())
    })??;
    match args.listing.output {
        Some(format) => printer.objects(&found, format)?,
        None if found.is_empty() => printer.line("there are no templates")?,
        None => {
            let mut head = vec!["NAME", "DESCRIPTION", "PARAMETERS", "OBJECTS"];
            if args.listing.all_namespaces {
                head.insert(0, "NAMESPACE");
            }
            let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
            rows.extend(
                found
                    .iter()
                    .map(|value| row(value, args.listing.all_namespaces)),
            );
            printer.table(&rows)?;
        }
    }
    Ok(Code::Ok)
}

fn row(value: &Value, with_namespace: bool) -> Vec<String> {
    let text = |field: &str| value["metadata"][field].as_str().unwrap_or("-").to_owned();
    let mut row = if with_namespace {
        vec![text("namespace")]
    } else {
        Vec::new()
    };
    row.push(text("name"));
    match Template::read(value) {
        Ok((template, _)) => {
            let shown: String = template.description.chars().take(WIDTH).collect();
            row.push(if shown.is_empty() {
                "-".to_owned()
            } else {
                shown
            });
            row.push(parameters(&template));
            row.push(template.objects.to_string());
        }
        // It was stored all the same; using it tells what is wrong.
        Err(problems) => row.extend([
            format!("broken: {}", problems[0].what),
            "-".to_owned(),
            "-".to_owned(),
        ]),
    }
    row
}

/// How many there are, and what somebody has to say.
fn parameters(template: &Template) -> String {
    let all = template.parameters.len();
    let blank = template
        .parameters
        .iter()
        .filter(|parameter| parameter.is_blank())
        .count();
    let generated = template
        .parameters
        .iter()
        .filter(|parameter| parameter.is_generated())
        .count();
    match (all, blank, generated) {
        (0, _, _) => "0".to_owned(),
        (_, 1.., _) => format!("{all} ({blank} blank)"),
        (_, 0, 1..) => format!("{all} ({generated} generated)"),
        _ => format!("{all} (all set)"),
    }
}
