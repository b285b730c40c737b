//! Workloads that an autoscaler keeps at a number: a stack that set it too would undo what the
//! autoscaler does.

use yaml::Step;

use crate::manifests::split::Piece;
use crate::rewrite::edit::without;
use engine::Problem;

/// The objects, without the replicas of those that are scaled by another of them.
pub(crate) fn unfixed(pieces: &[Piece], notes: &mut Vec<Problem>) -> Vec<Piece> {
    let mut unfixed = Vec::new();
    for piece in pieces {
        let scaler = pieces.iter().find(|scaler| {
            let target = &scaler.value["spec"]["scaleTargetRef"];
            // The autoscaler of KEDA need not say that it means a Deployment.
            let kind = target["kind"].as_str().unwrap_or("Deployment");
            ["HorizontalPodAutoscaler", "ScaledObject"].contains(&scaler.gvk.kind.as_str())
                && target["name"] == piece.name()
                && kind == piece.gvk.kind
        });
        match scaler.filter(|_| piece.value["spec"].get("replicas").is_some()) {
            Some(scaler) => {
                let what = format!(
                    "{}: `spec.replicas` is left out: {} sets it",
                    piece.title(),
                    scaler.title()
                );
                let hint = "an instance without replicas begins with one, and the autoscaler does the rest";
                notes.push(Problem::at(piece.place(), what).warning().hint(hint));
                unfixed.push(without(
                    piece,
                    &[vec![Step::from("spec"), Step::from("replicas")]],
                ));
            }
            None => unfixed.push(piece.clone()),
        }
    }
    unfixed
}
