//! A user's role, once the API server knows it: a real one takes a moment.

use std::fmt::Debug;

use anyhow::Result;
use kube::Api;
use kube::api::ListParams;
use serde::de::DeserializeOwned;
use testkit::Scene;

/// Waits until a user may list what an API has.
pub async fn permitted<K: Clone + Debug + DeserializeOwned>(
    scene: &Scene<'_>,
    api: &Api<K>,
) -> Result<()> {
    let permitted = async {
        while api.list(&ListParams::default()).await.is_err() {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    scene.within("the permissions of a user", permitted).await
}
