//! `cairn template-stack-manager`: the controller of one stack's instances.

use std::io::Read;
use std::time::Duration;

use controller::template_stack_manager::{Parts, TemplateStackManager};
use kube::Client;
use objects::Key;

use crate::cli::TemplateStackManager as Args;
use crate::cluster::connect::install_tls;
use crate::cluster::registries::block_on;
use crate::controller_main::Serving;
use crate::terminal::error::{Code, Failure};
use crate::terminal::printer::Printer;

/// How long work may go on after the program that supervises this one is gone.
const LAST_WORK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    printer.log(&args.serving.log);
    // One thread: there is more waiting than work, and waking another costs more than it would do.
    block_on(async {
        if !args.supervised {
            let connected = args.connection.connect().await?;
            return manage(args, connected.client, &connected.namespace, printer).await;
        }
        // Credentials come from the program that started this one, and from nowhere else.
        install_tls();
        let (client, ended) = controller::supervised(Supervisor(std::io::stdin()));
        let namespace = args.connection.namespace.as_deref().unwrap_or_default();
        let managed = async {
            let client = client
                .await
                .map_err(|why| Failure::new(format!("cannot connect: {why}")))?;
            manage(args, client, namespace, printer).await
        };
        tokio::select! {
            code = managed => code,
            ended = ended => ended.map(|()| Code::Ok).map_err(Failure::new),
        }
    })?
}

async fn manage(
    args: &Args,
    client: Client,
    namespace: &str,
    printer: &Printer,
) -> Result<Code, Failure> {
    let (render, compile) = (args.budget.render(), args.budget.compile());
    let parts = Parts {
        render,
        compile,
        limits: args.instance_limits,
        ..Parts::new(client, namespace, &args.stack)
    };
    let lease = Key::new(namespace, &api::names::templates(&args.stack));
    let mut serving =
        Serving::start(&args.serving, &parts.cluster, lease, parts.metrics.clone()).await?;
    if !serving.turn().await {
        return Ok(Code::Ok);
    }
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    let mut working = tokio::spawn(async move { worker.run().await });
    tracing::info!(stack = args.stack, namespace, "managing instances");
    let ready = async {
        manager.ready().await;
        if args.supervised {
            printer.result(b"ready\n")
        } else {
            Ok(())
        }
    };
    let code = serving.live(&mut working, ready).await?;
    manager.stop();
    serving.close(code, working).await;
    Ok(code)
}

/// The pipe to the program that supervises this one. It ends when that program is gone, however it
/// went, and then this one ends too: stuck in work, it would go on for nobody.
struct Supervisor(std::io::Stdin);

impl Read for Supervisor {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(buffer);
        if matches!(read, Ok(0) | Err(_)) {
            std::thread::spawn(|| {
                std::thread::sleep(LAST_WORK);
                std::process::exit(0);
            });
        }
        read
    }
}
