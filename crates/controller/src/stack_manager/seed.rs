//! The seed of a Stack, which its drawn values begin with: made once, kept while instances are, and handed on with them.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use api::labels;
use base64::{Engine, engine::general_purpose::STANDARD};
use engine::manage::stack::Run;
use engine::manage::{Claim, Notice, Seed, inherited, is_kept, keeping, whose_seed};
use serde_json::{Value, json};

use super::StackManager;
use crate::Error;
use crate::resource::{Key, Resource};

fn secrets() -> Resource {
    Resource::namespaced("", "v1", "Secret", "secrets")
}

/// Whether an object that was made for a Stack is its seed.
pub(super) fn is_seed(stack: &Key, resource: &Resource, made: &Key) -> bool {
    resource.plural == "secrets" && made.name == api::names::seed(&stack.name)
}

impl StackManager {
    /// Sees that the Stack has a seed. It is made once: another would change all drawn values.
    pub(super) async fn seed(&self, key: &Key, stack: &Value, run: &Run, claims: &[Claim]) -> Result<(), Error> {
        let at = Key::new(&key.namespace, &api::names::seed(&key.name));
        let own = claims.iter().find(|claim| claim.is_of(&key.namespace, &key.name));
        if let Some(secret) = self.world.made(&secrets(), &at) {
            return self.settle(&secret, own, run).await;
        }
        // What was drawn from one that somebody deleted is in use.
        let known = self.seeds().get(&run.identity.uid).cloned();
        let seed = match known {
            Some(known) => known,
            None => match self.inherited(key, own).await? {
                Some(inherited) => inherited,
                None => {
                    let has_drawn = stack["status"]["renderedKinds"].as_array().is_some_and(|kinds| !kinds.is_empty());
                    self.tell(stack, has_drawn.then(|| lost(&at)).as_slice()).await;
                    drawn()?
                }
            },
        };
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": run.identity.inside(&at.name),
            "type": "Opaque", "data": { "seed": seed },
        });
        match self.parts.tenant.create(&secrets(), &secret).await {
            Err(Error::Conflict(_)) => self.find_seed(&secret, own, run).await,
            outcome => outcome.map(|_| self.remember_seed(run, &secret)),
        }
    }

    /// The seed of a Stack that served instances which this one takes over. It is looked for at the API server: a watch
    /// may tell that a Stack is gone before it tells of what it left, and what is drawn now is drawn for good.
    async fn inherited(&self, key: &Key, own: Option<&Claim>) -> Result<Option<String>, Error> {
        let Some(own) = own else { return Ok(None) };
        let ours = format!("{}={}", labels::MANAGED_BY, labels::MANAGED_BY_STACK_MANAGER);
        let all = self.parts.tenant.list_labelled(&secrets(), &key.namespace, &ours).await?;
        Ok(inherited(own, all.iter()).map(str::to_owned))
    }

    /// The seed is there without our seeing it: the watch is late, or it has lost its labels, which it gets back.
    async fn find_seed(&self, wanted: &Value, own: Option<&Claim>, run: &Run) -> Result<(), Error> {
        let key = Key::of(wanted);
        let Some(live) = self.parts.tenant.get(&secrets(), &key).await? else { return Ok(()) };
        if is_kept(&live) {
            return self.settle(&live, own, run).await;
        }
        let owners = live["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !owners.iter().any(|owner| owner["uid"] == run.identity.uid.as_str()) {
            let what = format!("the Secret {key} is there and is not the stack's: delete it, or rename the stack");
            return Err(Error::Refused(what));
        }
        let label = json!({ "metadata": { "labels": wanted["metadata"]["labels"] } });
        self.parts.tenant.merge(&secrets(), &key, "", &label).await.map(|_| ())
    }

    /// Makes a seed that is there the Stack's, or puts it aside for others.
    async fn settle(&self, secret: &Value, own: Option<&Claim>, run: &Run) -> Result<(), Error> {
        let (at, uid) = (Key::of(secret), secret["metadata"]["uid"].as_str().unwrap_or_default());
        match whose_seed(secret, own, &run.identity) {
            Seed::Own => self.remember_seed(run, secret),
            Seed::Back(patch) => {
                self.parts.tenant.merge(&secrets(), &at, "", &patch).await?;
            }
            Seed::Aside(aside) => {
                match self.parts.tenant.create(&secrets(), &aside).await {
                    Ok(_) | Err(Error::Conflict(_)) => {}
                    Err(error) => return Err(error),
                }
                self.parts.tenant.delete(&secrets(), &at, uid, "Background").await?;
                return Err(Error::Conflict(format!("the Secret {at} made place for the stack's own")));
            }
        }
        Ok(())
    }

    /// Seeds that were seen, by the uids of their Stacks, to put back those that somebody deletes.
    fn seeds(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.seeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember_seed(&self, run: &Run, secret: &Value) {
        if let Some(seed) = secret["data"]["seed"].as_str() {
            self.seeds().insert(run.identity.uid.clone(), seed.to_owned());
        }
    }

    /// Nobody puts back the seed of a Stack that is gone.
    pub(super) fn forget_seed(&self, stack: &str) {
        self.seeds().remove(stack);
    }

    /// Leaves the seed of a Stack that goes to whoever serves these kinds next, whose instances stay.
    pub(super) async fn leave_seed(&self, own: &Claim, seed: &Key, kept: &[Resource]) -> Result<(), Error> {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let kinds = kept.iter().map(|kind| (kind.gvk.group.as_str(), kind.gvk.kind.as_str()));
        match self.parts.tenant.merge(&secrets(), seed, "", &keeping(own, kinds, &now)).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn lost(seed: &Key) -> Notice {
    let message = format!(
        "the Secret {} was gone, and nobody knows what was in it: what templates draw, such as passwords, is drawn anew; \
         put the Secret back from a backup to have the old values again",
        seed.name
    );
    Notice { warning: true, reason: "SeedLost".to_owned(), message }
}

/// A new seed.
fn drawn() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::Unavailable(error.to_string()))?;
    Ok(STANDARD.encode(bytes))
}
