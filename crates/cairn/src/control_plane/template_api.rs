//! Templates with parameters on the embedded API server: the group that processes them, answered in
//! this process.

use std::sync::Arc;

use apiserver::{Call, Extension};
use kube::Client;
use web::Question;

/// The group `processing.stacks.crossplane.io`, for a server to start with.
pub(crate) fn extension() -> Extension {
    Extension {
        group: api::template::PROCESSING_GROUP.to_owned(),
        version: api::VERSION.to_owned(),
        resources: web::resources(),
        openapi: web::openapi(),
        handler: Arc::new(|call: Call| {
            Box::pin(async move {
                let client = Client::new(call.in_process_service, "default");
                let asked = call.attributes;
                let stored = (!asked.name.is_empty()).then_some(asked.name);
                let question = Question {
                    namespace: asked.namespace,
                    stored,
                    query: call.query,
                    body: call.body,
                };
                web::answer(&client, question).await
            })
        }),
    }
}
