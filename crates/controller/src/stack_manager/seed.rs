//! The seed of a Stack, which its generated values begin with: made once, in the stack manager's
//! own namespace, kept while instances are, and handed on with them. Only the stack manager can
//! list seeds; a Stack commits to what is in its own.

use std::collections::BTreeMap;
use std::sync::{MutexGuard, PoisonError};

use api::annotations::{ACCEPT_NEW_SEED, SEED, SEED_OWNER};
use api::{PermissionScope, Stack, labels, names};
use base64::{Engine, engine::general_purpose::STANDARD};
use install::reconcile::stack::Run;
use install::{
    Commitment, KindOwnership, Seed, accepts_new_seed, has_generated, inherited, is_kept, keeping,
    lost_seed, seed_bytes, whose_seed,
};
use serde_json::{Value, json};

use super::StackManager;
use super::informers::{stack_resource, strip};
use super::installs::resource_of;
use super::ownership::random;
use crate::Error;
use objects::{Key, Resource};

fn secrets() -> Resource {
    Resource::namespaced("", "v1", "Secret", "secrets")
}

/// Whether an object that was created for a Stack is its seed: the only Secret that is.
pub(super) fn is_seed(resource: &Resource) -> bool {
    resource.plural == "secrets"
}

/// The namespace that a Stack acts in; empty for all.
fn place(run: &Run) -> &str {
    match run.identity.scope {
        PermissionScope::Namespaced => &run.identity.namespace,
        PermissionScope::Cluster => "",
    }
}

impl StackManager {
    /// Sees that the Stack has a seed. It is made once: another would change all generated values.
    /// Answers what is to be done if it was lost.
    pub(super) async fn seed(
        &self,
        key: &Key,
        stack: &Value,
        run: &Run,
        claims: &[KindOwnership],
    ) -> Result<Option<String>, Error> {
        let at = Key::new(&run.identity.manager, &run.identity.seed());
        let own = claims
            .iter()
            .find(|claim| claim.is_of(&key.namespace, &key.name));
        let live = match self.informers.made(&secrets(), &at) {
            Some(live) => Some(Value::clone(&live)),
            // The watch is late, it has lost its labels, or it is gone.
            None => self.parts.tenant.get(&secrets(), &at).await?.map(strip),
        };
        match live {
            Some(secret) => self.settle_seed(stack, &at, &secret, own, run).await,
            None => self.create_seed(stack, &at, own, run).await,
        }
    }

    /// Puts a seed there: the one that was there, the one of a Stack that served the same, or a new
    /// one.
    async fn create_seed(
        &self,
        stack: &Value,
        at: &Key,
        own: Option<&KindOwnership>,
        run: &Run,
    ) -> Result<Option<String>, Error> {
        // What was generated from one that somebody deleted is in use.
        let known = self.seeds().get(&run.identity.uid).cloned();
        let seed = match known {
            Some(known) => known,
            None => match self.inherited(own, run).await? {
                Some(inherited) => inherited,
                None if self.is_lost(stack, run).await? => {
                    return Ok(Some(lost(stack, &format!("Secret {at} was deleted"))));
                }
                None => random()?,
            },
        };
        let mut secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": { "seed": seed },
            "metadata": run.identity.elsewhere(&at.namespace, &at.name),
        });
        secret["metadata"]["annotations"] = json!({ SEED_OWNER: run.identity.uid });
        self.signing_key()
            .await?
            .sign(&mut secret, &run.identity.purpose());
        self.parts.tenant.create(&secrets(), &secret).await?;
        self.commit(stack, at, &secret, run).await?;
        Ok(None)
    }

    /// Whether a Stack without a seed generated values that are in use, and nobody accepts others.
    async fn is_lost(&self, stack: &Value, run: &Run) -> Result<bool, Error> {
        if !has_generated(stack) || accepts_new_seed(stack) {
            return Ok(false);
        }
        let namespace = place(run);
        for live in self
            .informers
            .definitions()
            .iter()
            .filter(|live| run.crds.contains(&live.crd.name))
        {
            let Some(resource) = resource_of(live) else {
                continue;
            };
            match self.parts.tenant.list(&resource, namespace, Some(1)).await {
                Ok(found) if found.is_empty() => {}
                Ok(_) => return Ok(true),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The seed of a Stack that served instances which this one takes over. It is looked for at the
    /// API server: a watch may tell that a Stack is gone before it tells of what it left, and what
    /// is generated now is generated for good.
    async fn inherited(
        &self,
        own: Option<&KindOwnership>,
        run: &Run,
    ) -> Result<Option<String>, Error> {
        let Some(own) = own else { return Ok(None) };
        let ours = format!(
            "{}={}",
            labels::MANAGED_BY,
            labels::MANAGED_BY_STACK_MANAGER
        );
        let all = self
            .parts
            .tenant
            .list_labelled(&secrets(), &run.identity.manager, &ours)
            .await?;
        Ok(inherited(own, place(run), all.iter()).map(str::to_owned))
    }

    /// Makes a seed that is there the Stack's, or puts it aside for others.
    async fn settle_seed(
        &self,
        stack: &Value,
        at: &Key,
        secret: &Value,
        own: Option<&KindOwnership>,
        run: &Run,
    ) -> Result<Option<String>, Error> {
        let uid = secret["metadata"]["uid"].as_str().unwrap_or_default();
        match whose_seed(secret, own, Commitment::of(stack).as_ref(), &run.identity) {
            Seed::Own => {
                self.mark_seed(at, secret, run).await?;
                self.commit(stack, at, secret, run).await?;
            }
            Seed::Back(patch) => {
                let taken = self.parts.tenant.merge(&secrets(), at, "", &patch).await?;
                self.mark_seed(at, &taken, run).await?;
                self.commit(stack, at, &taken, run).await?;
            }
            Seed::Aside(aside) => {
                match self.parts.tenant.create(&secrets(), &aside).await {
                    Ok(_) | Err(Error::Conflict(_)) => {}
                    Err(error) => return Err(error),
                }
                self.parts
                    .tenant
                    .delete(&secrets(), at, uid, "Background")
                    .await?;
                return Err(Error::Conflict(format!(
                    "Secret {at} was moved aside for this stack's own seed"
                )));
            }
            Seed::Stale if self.is_lost(stack, run).await? => {
                let what = format!(
                    "Secret {at} holds the seed of another Stack of this name, which was deleted"
                );
                return Ok(Some(lost(stack, &what)));
            }
            Seed::Invalid if has_generated(stack) && !accepts_new_seed(stack) => {
                let what = format!("Secret {at} does not hold a `seed` of 32 bytes");
                return Ok(Some(lost(stack, &what)));
            }
            Seed::Stale | Seed::Invalid => {
                self.parts
                    .tenant
                    .delete(&secrets(), at, uid, "Background")
                    .await?;
                return Err(Error::Conflict(format!(
                    "Secret {at} has to be created again"
                )));
            }
        }
        Ok(None)
    }

    /// Gives a seed its labels and its signature back.
    async fn mark_seed(&self, at: &Key, secret: &Value, run: &Run) -> Result<(), Error> {
        let mut wanted = json!({ "kind": "Secret", "metadata": run.identity.elsewhere(&at.namespace, &at.name) });
        self.signing_key()
            .await?
            .sign(&mut wanted, &run.identity.purpose());
        if install::covers(&secret["metadata"], &wanted["metadata"]) {
            return Ok(());
        }
        let marks = json!({ "labels": wanted["metadata"]["labels"], "annotations": wanted["metadata"]["annotations"] });
        self.parts
            .tenant
            .merge(&secrets(), at, "", &json!({ "metadata": marks }))
            .await
            .map(|_| ())
    }

    /// Has the Stack say where its seed is and what is in it, and remembers the seed, in case
    /// somebody deletes it.
    async fn commit(
        &self,
        stack: &Value,
        at: &Key,
        secret: &Value,
        run: &Run,
    ) -> Result<(), Error> {
        let Some(bytes) = seed_bytes(secret) else {
            return Ok(());
        };
        let commitment = Commitment::to(&at.namespace, &at.name, &bytes).to_string();
        self.seeds()
            .insert(run.identity.uid.clone(), STANDARD.encode(bytes));
        if stack["metadata"]["annotations"][SEED] == commitment.as_str() {
            return Ok(());
        }
        let patch = json!({ "metadata": { "annotations": { SEED: commitment } } });
        self.parts
            .tenant
            .merge(&stack_resource(), &Key::of(stack), "", &patch)
            .await
            .map(|_| ())
    }

    /// Seeds that were seen, by the uids of their Stacks, to put back those that somebody deletes.
    fn seeds(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.seeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The seed of a Stack, if it has been seen.
    pub(super) fn known_seed(&self, stack: &Stack) -> Option<engine::Seed> {
        let known = self
            .seeds()
            .get(&stack.metadata.uid)
            .and_then(|text| STANDARD.decode(text).ok());
        let at = || {
            let name = names::seed(&stack.metadata.namespace, &stack.metadata.name);
            Key::new(&self.parts.settings.own_namespace, &name)
        };
        let bytes = known.or_else(|| seed_bytes(&*self.informers.made(&secrets(), &at())?));
        bytes.map(engine::Seed::new)
    }

    /// Nobody puts back the seed of a Stack that is gone.
    pub(super) fn forget_seed(&self, stack: &str) {
        self.seeds().remove(stack);
    }

    /// Leaves the seed of a Stack that goes to whoever serves these kinds next, whose instances
    /// stay. `place` is the namespace that it acted in, empty for all.
    pub(super) async fn leave_seed(
        &self,
        own: &KindOwnership,
        place: &str,
        seed: &Key,
        kept: &[Resource],
    ) -> Result<(), Error> {
        let now = jiff::Timestamp::now()
            .strftime("%Y-%m-%dT%H:%M:%SZ")
            .to_string();
        let kinds = kept
            .iter()
            .map(|kind| (kind.gvk.group.as_str(), kind.gvk.kind.as_str()));
        match self
            .parts
            .tenant
            .merge(&secrets(), seed, "", &keeping(own, place, kinds, &now))
            .await
        {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether an object is a seed that was left to others.
    pub(super) fn is_left(resource: &Resource, object: &Value) -> bool {
        is_seed(resource) && is_kept(object)
    }
}

/// What is to be done about a seed that was lost.
fn lost(stack: &Value, what: &str) -> String {
    let key = Key::of(stack);
    format!(
        "{what}, and instances exist whose passwords and other values were generated from the seed of this stack; hint: \
         restore the Secret from a backup, or generate all values again with `kubectl annotate stack {} -n {} \
         {ACCEPT_NEW_SEED}={} --overwrite`",
        key.name,
        key.namespace,
        lost_seed(stack)
    )
}
