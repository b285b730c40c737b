//! Faults that tests ask for: at the n-th request that matches, fail, lose the answer, wait, or
//! show the past.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::authn::user::User;
use crate::handlers::status::ApiError;
use crate::request::info::Attributes;

/// Which requests; what is empty matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Such as `patch`.
    pub verb: Option<String>,
    /// The plural.
    pub resource: Option<String>,
    /// Such as `status`; an empty one for requests on the resource itself.
    pub subresource: Option<String>,
    /// The user's name.
    pub user: Option<String>,
}

impl Filter {
    /// Requests of a verb on a resource; `widgets/status` names a subresource.
    pub fn of(verb: &str, resource: &str) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Self {
            verb: Some(verb.to_owned()),
            resource: Some(resource.to_owned()),
            subresource: Some(subresource.to_owned()),
            user: None,
        }
    }

    fn matches(&self, attributes: &Attributes, user: &str) -> bool {
        let fits =
            |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        fits(&self.verb, attributes.verb.as_str())
            && fits(&self.resource, &attributes.resource)
            && fits(&self.subresource, &attributes.subresource)
            && fits(&self.user, user)
    }
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// It fails with this, and nothing is done.
    Fail(ApiError),
    /// It is done, but the answer is lost.
    LoseAnswer,
    /// It waits until the gate is opened.
    Wait(Gate),
    /// A read is answered as of this revision.
    Stale(u64),
}

/// One fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Which requests.
    pub filter: Filter,
    /// At which of them, counted from one; zero is at all of them.
    pub at: usize,
    /// What happens.
    pub trouble: Trouble,
}

/// All faults; they can be added while the server runs.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan(Arc<Mutex<Vec<(Fault, usize)>>>);

impl FaultPlan {
    /// No fault.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds a fault; its count begins now.
    pub fn add(&self, fault: Fault) {
        self.lock().push((fault, 0));
    }

    /// Takes all faults away. Gates stay as they are.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Fault, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is to happen to this request.
    pub(crate) fn next(&self, attributes: &Attributes, user: &User) -> Vec<Trouble> {
        let mut found = Vec::new();
        for (fault, seen) in self
            .lock()
            .iter_mut()
            .filter(|(fault, _)| fault.filter.matches(attributes, &user.name))
        {
            *seen += 1;
            if fault.at == 0 || fault.at == *seen {
                found.push(fault.trouble.clone());
            }
        }
        found
    }
}

/// Where requests wait until a test lets them go on.
#[derive(Clone, Debug)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            open: Arc::new(watch::Sender::new(false)),
            waiting: Arc::new(watch::Sender::new(0)),
        }
    }
}

impl Gate {
    /// A closed one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets all go on, now and later.
    pub fn release(&self) {
        self.open.send_replace(true);
    }

    /// Returns once so many requests have come to the gate.
    pub async fn reached(&self, count: usize) {
        // The sender is in self, so waiting cannot fail.
        _ = self
            .waiting
            .subscribe()
            .wait_for(|&waiting| waiting >= count)
            .await;
    }

    pub(crate) async fn pass(&self) {
        self.waiting.send_modify(|waiting| *waiting += 1);
        _ = self.open.subscribe().wait_for(|&open| open).await;
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;
    use crate::request::info::Asked;

    fn attributes(method: &str, uri: &str) -> Attributes {
        let (parts, ()) = Request::builder()
            .method(method)
            .uri(uri)
            .body(())
            .unwrap()
            .into_parts();
        Asked::read(&parts).unwrap().attributes
    }

    #[test]
    fn a_fault_strikes_at_its_number_among_those_that_match() {
        let plan = FaultPlan::none();
        plan.add(Fault {
            filter: Filter::of("get", "pods"),
            at: 2,
            trouble: Trouble::LoseAnswer,
        });
        let ann = User::new("ann", &[]);
        let pod = attributes("GET", "/api/v1/namespaces/a/pods/p");
        let status = attributes("GET", "/api/v1/namespaces/a/pods/p/status");
        let struck: Vec<usize> = [&pod, &status, &pod, &pod]
            .iter()
            .map(|it| plan.next(it, &ann).len())
            .collect();
        assert_eq!(struck, [0, 0, 1, 0]);
        plan.clear();
        plan.add(Fault {
            filter: Filter {
                user: Some("bob".into()),
                ..Filter::default()
            },
            at: 0,
            trouble: Trouble::Stale(1),
        });
        assert!(
            plan.next(&pod, &ann).is_empty() && plan.next(&pod, &User::new("bob", &[])).len() == 1
        );
    }

    #[tokio::test]
    async fn a_gate_holds_until_it_is_released() {
        let gate = Gate::new();
        let passing = tokio::spawn({
            let gate = gate.clone();
            async move { gate.pass().await }
        });
        gate.reached(1).await;
        assert!(!passing.is_finished());
        gate.release();
        passing.await.unwrap();
    }
}
