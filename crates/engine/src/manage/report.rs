//! What a Stack says of itself: whether it may run, what it waits for, and whether its controller is there.

use api::conditions::{CONTROLLER_AVAILABLE, DEPENDENCIES_SATISFIED, READY};
use api::{Condition, Status};

use super::KIND_TAKEN;
use super::progress::{Conditions, Notice, Trouble};
use super::stack::Decision;

/// The conditions of a Stack, and what is new. `available` says of its controllers whether they run, with a reason and
/// a message.
pub fn report(
    before: &[Condition],
    generation: Option<i64>,
    now: &str,
    decision: &Decision,
    available: Option<(bool, &str, &str)>,
) -> (Vec<Condition>, Vec<Notice>) {
    let mut conditions = Conditions::new(before, generation, now);
    match decision {
        Decision::Refused(reasons) => {
            conditions.trouble(DEPENDENCIES_SATISFIED, &Trouble::new("NotAllowed", reasons.join("; ")));
            conditions.trouble(READY, &Trouble::new("NotAllowed", reasons.join("; ")));
        }
        Decision::Taken(why) => {
            for kind in [DEPENDENCIES_SATISFIED, CONTROLLER_AVAILABLE, READY] {
                conditions.trouble(kind, &Trouble::new(KIND_TAKEN, why));
            }
        }
        Decision::Waiting(kinds) => {
            let message = format!("waiting for {}", kinds.join(", "));
            conditions.trouble(DEPENDENCIES_SATISFIED, &Trouble::new("Waiting", &message));
            conditions.trouble(READY, &Trouble::new("Waiting", message));
        }
        Decision::Run(run) => {
            conditions.done(DEPENDENCIES_SATISFIED, "Satisfied", "all that it depends on is there");
            let (runs, reason, message) = available.unwrap_or((false, "Starting", "its controller is being started"));
            let status = if runs { Status::True } else { Status::False };
            conditions.set(CONTROLLER_AVAILABLE, status, reason, message);
            let notes = if run.notes.is_empty() { String::new() } else { format!(" ({})", run.notes.join("; ")) };
            conditions.set(READY, status, reason, format!("{message}{notes}"));
        }
    }
    conditions.finish(before)
}
