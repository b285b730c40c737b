//! `cairn template-stack-manager`: the controller of one stack's instances.

use controller::Key;
use controller::template_stack_manager::{Parts, TemplateStackManager};

use crate::args::TemplateStackManager as Args;
use crate::failure::{Code, Failure};
use crate::printer::Printer;
use crate::registries::block_on;
use crate::serving::Serving;

pub(crate) fn run(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    printer.log(&args.serving.log);
    // One thread: there is more waiting than work, and waking another costs more than it would do.
    block_on(async {
        tokio::select! {
            code = manage(args, printer) => code,
            () = orphaned(args.supervised) => Ok(Code::Ok),
        }
    })?
}

async fn manage(args: &Args, printer: &Printer) -> Result<Code, Failure> {
    let connected = args.connection.connect().await?;
    let parts = Parts::new(connected.client, &connected.namespace, &args.stack);
    let lease = Key::new(&connected.namespace, &api::names::templates(&args.stack));
    let mut serving = Serving::start(&args.serving, &parts.cluster, lease, parts.metrics.clone()).await?;
    if !serving.turn().await {
        return Ok(Code::Ok);
    }
    let manager = TemplateStackManager::start(parts).await;
    let worker = manager.clone();
    let mut working = tokio::spawn(async move { worker.run().await });
    tracing::info!(stack = args.stack, namespace = connected.namespace, "managing instances");
    let ready = async {
        manager.ready().await;
        if args.supervised { printer.result(b"ready\n") } else { Ok(()) }
    };
    let code = serving.live(&mut working, ready).await?;
    manager.stop();
    serving.close(code, working).await;
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
