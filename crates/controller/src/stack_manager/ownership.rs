//! What the stack manager created: it is signed, created under a name that was free, and kept as it
//! should be. What others created is never changed and never deleted.

use std::sync::{Arc, PoisonError};

use api::names::SIGNING_KEY;
use api::{Stack, annotations, labels};
use base64::{Engine, engine::general_purpose::STANDARD};
use install::{Correction, Purpose, SigningKey, corrected, corrected_workload};
use serde_json::{Value, json};

use super::StackManager;
use super::informers::{Work, stack_resource, strip};
use crate::{Cluster, Error};
use objects::{Key, Resource};

/// An object that was created for something.
pub(super) type Owned = (Resource, Key, Arc<Value>);

impl StackManager {
    /// The key that everything is signed with, which is created with the first use.
    pub(super) async fn signing_key(&self) -> Result<&SigningKey, Error> {
        self.key.get_or_try_init(|| self.load_key()).await
    }

    async fn load_key(&self) -> Result<SigningKey, Error> {
        let secrets = Resource::namespaced("", "v1", "Secret", "secrets");
        let at = Key::new(&self.parts.settings.own_namespace, SIGNING_KEY);
        let found = match self.parts.tenant.get(&secrets, &at).await? {
            Some(found) => found,
            None => {
                let secret = json!({
                    "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                    "metadata": {
                        "name": at.name, "namespace": at.namespace,
                        "labels": { labels::MANAGED_BY: labels::MANAGED_BY_STACK_MANAGER },
                    },
                    "data": { "key": random()? },
                });
                self.parts.tenant.create(&secrets, &secret).await?
            }
        };
        let bytes = found["data"]["key"]
            .as_str()
            .and_then(|text| STANDARD.decode(text).ok())
            .unwrap_or_default();
        SigningKey::new(&bytes).ok_or_else(|| {
            let length = SigningKey::LENGTH;
            Error::Refused(format!(
                "Secret {at} does not hold a `key` of {length} bytes: restore it from a backup, since everything that the \
                 stack manager created is recognized by it"
            ))
        })
    }

    /// Whether an object was created for this, as its signature says or as it said before somebody
    /// removed that.
    pub(super) fn is_owned(&self, key: &SigningKey, object: &Value, purpose: &Purpose) -> bool {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if key.owns(object).as_ref() == Some(purpose) {
            created
                .entry(uid.to_owned())
                .or_insert_with(|| purpose.clone());
            return true;
        }
        created.get(uid) == Some(purpose)
    }

    /// What was created for this, in the order in which it goes.
    pub(super) async fn owned(&self, purpose: &Purpose) -> Result<Vec<Owned>, Error> {
        let key = self.signing_key().await?;
        let claimed = purpose.to_string();
        // Few objects claim to be what is looked for, and only of those it has to be found out.
        let mut found = {
            let known = self.created.lock().unwrap_or_else(PoisonError::into_inner);
            // Beside its namespace, what is made for a Stack is in no namespace and in the stack
            // manager's; only a cluster install's may have more, in those that it is limited to.
            let own = self.parts.settings.own_namespace.as_str();
            let places = match purpose {
                Purpose::Stack { namespace, .. } if self.parts.settings.is_reserved(namespace) => {
                    None
                }
                Purpose::Stack { namespace, .. } => Some(["", namespace.as_str(), own]),
                Purpose::Namespace(name) => Some(["", name.as_str(), own]),
                Purpose::ClusterInstall(_) => None,
            };
            self.informers
                .made_where(places.as_ref().map(<[&str; 3]>::as_slice), |object| {
                    let metadata = &object["metadata"];
                    let uid = metadata["uid"].as_str().unwrap_or_default();
                    metadata["annotations"][annotations::CREATED_FOR] == claimed.as_str()
                        || known.get(uid) == Some(purpose)
                })
        };
        found.retain(|(_, _, object)| self.is_owned(key, object, purpose));
        Ok(found)
    }

    /// Deletes what was created.
    pub(super) async fn delete_owned(&self, owned: &Owned, propagation: &str) -> Result<(), Error> {
        let (resource, key, object) = owned;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        self.cluster_of(resource)
            .delete(resource, key, uid, propagation)
            .await?;
        self.created
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uid);
        Ok(())
    }

    /// Creates an object that is signed, or corrects it. Answers whether it could: an object of
    /// that name that was not created for the same is left as it is.
    pub(super) async fn put(&self, wanted: &Value, purpose: &Purpose) -> Result<bool, Error> {
        let Some(resource) = Resource::builtin(wanted) else {
            return Ok(true);
        };
        let key = self.signing_key().await?;
        let live = self.informers.made(&resource, &Key::of(wanted));
        let is_owned = |live: &Value| self.is_owned(key, live, purpose);
        Ok(
            match settle(&self.parts.tenant, &resource, wanted, live, &is_owned).await? {
                Settled::Theirs => false,
                Settled::AsItWas => true,
                Settled::Written(answer) => {
                    self.informers.wrote(&resource, answer);
                    true
                }
            },
        )
    }

    /// Puts the Stack of an install in place, signed, with all of its spec as the install says.
    pub(super) async fn put_record(&self, wanted: &Value) -> Result<(), Error> {
        let key = self.signing_key().await?;
        let bad = |error: serde_json::Error| Error::Refused(error.to_string());
        let stack: Stack = serde_json::from_value(wanted.clone()).map_err(bad)?;
        let owner = &wanted["metadata"]["ownerReferences"][0];
        let mut wanted = wanted.clone();
        let signature = key.sign_record(&stack, owner["uid"].as_str().unwrap_or_default());
        wanted["metadata"]["annotations"][annotations::SIGNATURE] = json!(signature);
        let (resource, at) = (stack_resource(), Key::of(&wanted));
        let live = match self.informers.stacks.get(&at) {
            Some(live) => live,
            None => match self.parts.tenant.create(&resource, &wanted).await {
                Ok(answer) => {
                    self.informers.wrote(&resource, answer);
                    return Ok(());
                }
                // The watch may be late to show what was created before.
                Err(Error::Conflict(why)) => match self.parts.tenant.get(&resource, &at).await? {
                    Some(live) if is_controlled_by(&live, owner) => Arc::new(strip(live)),
                    Some(_) => {
                        let why =
                            format!("Stack {at} already exists and is not owned by this install");
                        return Err(Error::Refused(why));
                    }
                    None => return Err(Error::Conflict(why)),
                },
                Err(error) => return Err(error),
            },
        };
        let mut object = Value::clone(&live);
        for part in ["labels", "annotations"] {
            for (key, value) in wanted["metadata"][part].as_object().into_iter().flatten() {
                object["metadata"][part][key] = value.clone();
            }
        }
        let owners = live["metadata"]["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if !owners.contains(owner) {
            let others = owners
                .into_iter()
                .filter(|other| other["uid"] != owner["uid"]);
            object["metadata"]["ownerReferences"] =
                json!(others.chain([owner.clone()]).collect::<Vec<_>>());
        }
        let same = serde_json::from_value::<Stack>(Value::clone(&live))
            .is_ok_and(|live| live.spec == stack.spec);
        if !same {
            object["spec"] = wanted["spec"].clone();
        }
        if object == *live {
            return Ok(());
        }
        let answer = self.parts.tenant.replace(&resource, &object).await?;
        self.informers.wrote(&resource, answer);
        Ok(())
    }

    /// The install that a Stack belongs to, if it has one: its work, and its uid.
    pub(super) fn install_of(&self, key: &Key, stack: &Value) -> Option<(Work, String)> {
        let owners = stack["metadata"]["ownerReferences"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        let uid = &stack["metadata"]["uid"];
        let at = [
            (key.clone(), &self.informers.installs),
            (Key::new("", &key.name), &self.informers.cluster_installs),
        ];
        at.into_iter().find_map(|(at, installs)| {
            let install = installs.get(&at)?;
            let own = install["metadata"]["uid"].as_str()?;
            // One that lost its owner is still what the install recorded.
            let recorded = install["status"]["stackRecord"]["uid"] == *uid;
            let owned = owners
                .iter()
                .any(|owner| owner["uid"] == own && owner["controller"] == true);
            (owned || recorded).then(|| (Work::Install(at), own.to_owned()))
        })
    }
}

/// Whether an object has an owner for its controller.
fn is_controlled_by(object: &Value, owner: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    owners
        .iter()
        .any(|found| found["uid"] == owner["uid"] && found["controller"] == true)
}

/// What became of an object that is to be there.
pub(super) enum Settled {
    /// Another of that name is there, and was left as it is.
    Theirs,
    /// It was there as it should be.
    AsItWas,
    /// It was created or corrected; the answer of the API server.
    Written(Value),
}

/// Creates an object that is signed, or corrects it. One of that name that neither carries the same
/// signature nor `is_owned` is left as it is.
pub(super) async fn settle(
    cluster: &Cluster,
    resource: &Resource,
    wanted: &Value,
    live: Option<Arc<Value>>,
    is_owned: &(dyn Fn(&Value) -> bool + Sync),
) -> Result<Settled, Error> {
    let key = Key::of(wanted);
    let live = match live {
        Some(live) => live,
        // Created and not applied: whoever creates one of this name first has it.
        None => match cluster.create(resource, wanted).await {
            Ok(answer) => return Ok(Settled::Written(answer)),
            Err(Error::Conflict(_)) => match cluster.get(resource, &key).await? {
                Some(live) => Arc::new(strip(live)),
                None => {
                    return Err(Error::Conflict(format!(
                        "{resource} {key} was deleted meanwhile"
                    )));
                }
            },
            Err(error) => return Err(error),
        },
    };
    let signature =
        |object: &Value| object["metadata"]["annotations"][annotations::SIGNATURE].clone();
    if signature(&live) != signature(wanted) && !is_owned(&live) {
        return Ok(Settled::Theirs);
    }
    if !live["metadata"]["deletionTimestamp"].is_null() {
        return Err(Error::Unavailable(format!(
            "{resource} {key} is being deleted and has to be created again"
        )));
    }
    let correct = if resource.plural == "deployments" {
        corrected_workload
    } else {
        corrected
    };
    match correct(&live, wanted) {
        Correction::None => Ok(Settled::AsItWas),
        Correction::Replace(object) => {
            Ok(Settled::Written(cluster.replace(resource, &object).await?))
        }
        Correction::Recreate => {
            let uid = live["metadata"]["uid"].as_str().unwrap_or_default();
            cluster.delete(resource, &key, uid, "Background").await?;
            Err(Error::Conflict(format!(
                "{resource} {key} has to be created again"
            )))
        }
    }
}

/// Why a Stack cannot run where an object of somebody else has the name of one of its own.
pub(super) fn in_the_way(object: &Value) -> Error {
    let kind = object["kind"].as_str().unwrap_or_default();
    let key = Key::of(object);
    Error::Refused(format!(
        "{kind} {key} already exists and the stack manager did not create it for this stack: delete it or rename the stack"
    ))
}

/// 32 random bytes, in base64.
pub(super) fn random() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Unavailable(format!("cannot read random bytes: {error}")))?;
    Ok(STANDARD.encode(bytes))
}
