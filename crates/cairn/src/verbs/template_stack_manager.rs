//! `cairn template-stack-manager`: the controller of one stack's instances.

use std::time::Duration;

use controller::template_stack_manager::{Parts, TemplateStackManager};
use controller::{Lease, Readiness};

use crate::args::TemplateStackManager as Args;
use crate::failure::{Code, Failure};
use crate::printer::Printer;
use crate::registries::block_on_many;
use crate::verbs::stack_manager::{hostname, lost, stopped};

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
    let parts = Parts::new(connected.client, &connected.namespace, &args.stack);
    let readiness = Readiness::default();
    let address = controller::serve(args.listen, parts.metrics.clone(), readiness.clone()).await;
    let address = address.map_err(|error| Failure::new(format!("cannot listen on {}: {error}", args.listen)))?;
    tracing::info!(%address, "serving /healthz, /readyz and /metrics");
    let identity = format!("{}-{}", hostname(), std::process::id());
    let name = api::names::templates(&args.stack);
    let mut lease = Lease::new(parts.cluster.clone(), &connected.namespace, &name, &identity);
    if args.leader_elect {
        tracing::info!(lease = name, "waiting for the Lease");
        lease.acquire().await;
    }
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    let mut working = tokio::spawn(async move { worker.run().await });
    tracing::info!(stack = args.stack, namespace = connected.namespace, "managing instances");
    let ready = async {
        manager.ready().await;
        readiness.set(true);
        let told = if args.supervised { printer.result(b"ready\n") } else { Ok(()) };
        match told {
            Ok(()) => std::future::pending().await,
            Err(failure) => failure,
        }
    };
    let code = tokio::select! {
        () = stopped() => Code::Ok,
        () = lost(&mut lease, args.leader_elect) => {
            tracing::error!("the Lease is lost");
            Code::Failed
        }
        _ = &mut working => Code::Failed,
        failure = ready => return Err(failure),
    };
    readiness.set(false);
    manager.stop();
    // What is being done is done to its end, unless it hangs.
    let _ = tokio::time::timeout(Duration::from_secs(10), working).await;
    if args.leader_elect && code == Code::Ok {
        lease.release().await;
    }
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
