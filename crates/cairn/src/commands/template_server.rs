//! `cairn template-server`: templates processed over HTTP, as an aggregated API server.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::Value;
use web::{Authority, Options, Place, Registration, Server};

use super::template;
use crate::cli::{Objects, TemplateServer};
use crate::cluster::registries::block_on_many;
use crate::controller_main::stopped;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

pub(crate) fn run(args: &TemplateServer, printer: &Printer) -> Result<Code, Failure> {
    if args.print {
        return print(args, printer);
    }
    printer.log(&args.log);
    block_on_many(async {
        let connected = args.connection.connect().await?;
        let mut registration = registration(args, &connected.namespace);
        let authority = authority(args, &registration)?;
        authority.ca_pem().clone_into(&mut registration.ca);
        let options = Options {
            listen: args.listen,
            authority,
            client: connected.client.clone(),
        };
        let server = Server::bind(options)
            .await
            .map_err(|error| Failure::new(error.to_string()))?;
        let address = server
            .address()
            .map_err(|error| Failure::new(error.to_string()))?;
        registration.port = address.port();
        if args.register {
            register(&registration, &connected.client).await?;
            tracing::info!(
                service = registration.name,
                namespace = registration.namespace,
                "registered"
            );
        }
        tracing::info!(%address, "serving {}", api::template::PROCESSING_API_VERSION);
        tokio::select! {
            () = stopped() => {}
            () = server.run() => {}
        }
        Ok(Code::Ok)
    })?
}

fn registration(args: &TemplateServer, namespace: &str) -> Registration {
    Registration {
        namespace: namespace.to_owned(),
        name: args.service.clone(),
        place: args.external_name.clone().map_or(Place::Pods, Place::Host),
        port: args.listen.port(),
        ca: String::new(),
    }
}

fn authority(args: &TemplateServer, registration: &Registration) -> Result<Authority, Failure> {
    let outcome = match (&args.tls_cert_file, &args.tls_key_file) {
        (Some(certificate), Some(key)) => {
            Authority::from_files(certificate, key, args.tls_ca_file.as_deref())
        }
        _ => Authority::new(&registration.hosts()),
    };
    outcome.map_err(|error| Failure::new(error.to_string()))
}

/// Prints all that a cluster needs; whom to trust is only known where the certificate is.
fn print(args: &TemplateServer, printer: &Printer) -> Result<Code, Failure> {
    let namespace = args
        .connection
        .namespace
        .clone()
        .unwrap_or_else(|| "default".to_owned());
    let mut registration = registration(args, &namespace);
    let mut objects: Vec<Value> = definition().into_iter().collect();
    objects.extend(registration.rights());
    if args.tls_cert_file.is_some() {
        authority(args, &registration)?
            .ca_pem()
            .clone_into(&mut registration.ca);
        objects.extend(registration.objects());
    } else {
        printer.say("the Service and the APIService follow when it runs with --register, or name its certificate here");
    }
    printer.objects(&objects, args.output.unwrap_or(Objects::Yaml))?;
    Ok(Code::Ok)
}

/// The kind of stored templates.
fn definition() -> Option<Value> {
    let name = format!("{}.{}", api::template::PLURAL, api::template::GROUP);
    api::definitions()
        .into_iter()
        .find(|definition| definition["metadata"]["name"] == *name)
}

/// Applies what makes the API server pass requests on.
async fn register(registration: &Registration, client: &Client) -> Result<(), Failure> {
    let params = PatchParams::apply("cairn-template-server").force();
    for object in definition().into_iter().chain(registration.objects()) {
        let kind = template::kind_of(client, &object).await?;
        let name = object["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let api = kind.api(client, Some(&registration.namespace));
        api.patch(&name, &params, &Patch::Apply(&object))
            .await
            .map_err(|error| {
                Failure::new(format!("cannot register {}: {error}", kind.shown(&name)))
                    .hint("`--print` shows the objects, for somebody who may apply them")
            })?;
    }
    Ok(())
}
