//! `cairn template-stack-manager`: the controller of one stack's instances.

use controller::template_stack_manager::{Parts, TemplateStackManager};
use controller::{Metrics, Readiness};

use crate::args::TemplateStackManager as Args;
use crate::failure::{Code, Failure};
use crate::printer::Printer;
use crate::registries::block_on_many;
use crate::verbs::stack_manager::stopped;

pub(crate) fn run(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    printer.log(args.log_json);
    block_on_many(async {
        tokio::select! {
            code = manage(args, printer) => code,
            () = orphaned(args.supervised) => Ok(Code::Ok),
        }
    })?
}

async fn manage(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    let connected = args.connection.connect().await?;
    let readiness = Readiness::default();
    let address = controller::serve(args.listen, Metrics::default(), readiness.clone()).await;
    let address = address.map_err(|error| Failure::new(format!("cannot listen on {}: {error}", args.listen)))?;
    tracing::info!(%address, "serving /healthz, /readyz and /metrics");
    let parts = Parts::new(connected.client, &connected.namespace, &args.stack);
    let manager = TemplateStackManager::start(parts).await;
    readiness.set(true);
    if args.supervised {
        printer.result(b"ready\n")?;
    }
    tracing::info!(stack = args.stack, namespace = connected.namespace, "managing instances");
    let code = tokio::select! {
        () = stopped() => Code::Ok,
        () = manager.run() => Code::Failed,
    };
    readiness.set(false);
    manager.stop();
    Ok(code)
}

/// Ends when standard input does, as it does when the program that holds the other end is gone, however it went.
async fn orphaned(supervised: bool) {
    if !supervised {
        return std::future::pending().await;
    }
    let (gone, ended) = tokio::sync::oneshot::channel::<()>();
    // A thread, which nobody waits for when the program ends for another reason.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(gone);
    });
    let _ = ended.await;
}
