//! The seed of a Stack, which its drawn values begin with: made once, kept while instances are, and handed on with them.

use base64::{Engine, engine::general_purpose::STANDARD};
use engine::manage::stack::Run;
use engine::manage::{Claim, inherited, is_kept, keeping, taking_back};
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
    pub(super) async fn seed(&self, key: &Key, run: &Run, claims: &[Claim]) -> Result<(), Error> {
        let name = api::names::seed(&key.name);
        let at = Key::new(&key.namespace, &name);
        match self.world.made(&secrets(), &at) {
            Some(found) if is_kept(&found) => return self.take_back(&at, run).await,
            Some(_) => return Ok(()),
            None => {}
        }
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": run.identity.inside(&name),
            "type": "Opaque", "data": { "seed": self.inherited(key, claims).map_or_else(drawn, Ok)? },
        });
        match self.parts.tenant.create(&secrets(), &secret).await {
            Err(Error::Conflict(_)) => self.find_seed(&secret, run).await,
            outcome => outcome.map(|_| ()),
        }
    }

    /// The seed of a Stack that served instances which this one takes over.
    fn inherited(&self, key: &Key, claims: &[Claim]) -> Option<String> {
        let own = claims.iter().find(|claim| claim.is_of(&key.namespace, &key.name))?;
        let all = self.world.cache_of(&secrets())?.all();
        inherited(own, all.iter().map(|(_, secret)| &**secret)).map(str::to_owned)
    }

    /// The seed is there without our seeing it: the watch is late, or it has lost its labels, which it gets back.
    async fn find_seed(&self, wanted: &Value, run: &Run) -> Result<(), Error> {
        let key = Key::of(wanted);
        let Some(live) = self.parts.tenant.get(&secrets(), &key).await? else { return Ok(()) };
        if is_kept(&live) {
            return self.take_back(&key, run).await;
        }
        let owners = live["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !owners.iter().any(|owner| owner["uid"] == run.identity.uid.as_str()) {
            let what = format!("the Secret {key} is there and is not the stack's: delete it, or rename the stack");
            return Err(Error::Refused(what));
        }
        let label = json!({ "metadata": { "labels": wanted["metadata"]["labels"] } });
        self.parts.tenant.merge(&secrets(), &key, "", &label).await.map(|_| ())
    }

    /// A Stack of the same name has left it with its instances.
    async fn take_back(&self, at: &Key, run: &Run) -> Result<(), Error> {
        let patch = taking_back(&run.identity, &at.name);
        self.parts.tenant.merge(&secrets(), at, "", &patch).await.map(|_| ())
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

/// A new seed.
fn drawn() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| Error::Unavailable(error.to_string()))?;
    Ok(STANDARD.encode(bytes))
}
