//! What a condition says of several objects that could not be applied: of the first all, of the
//! others which they are.

use crate::children::desired::Failure;

const ALSO: &str = "; also not applied: ";

/// A status has to stay small, and the events of the instance tell everything of each.
const NAMED: usize = 10;

/// What conditions are to say of failures: that of the first, and the templates of the others.
pub(super) fn summed(failures: &[Failure]) -> Vec<Failure> {
    let Some((first, rest)) = failures.split_first() else {
        return Vec::new();
    };
    let mut others: Vec<&str> = Vec::new();
    for other in rest.iter().map(|failure| failure.template.as_str()) {
        if other != first.template && !others.contains(&other) {
            others.push(other);
        }
    }
    let mut summed = first.clone();
    if !others.is_empty() {
        let named = others
            .iter()
            .take(NAMED)
            .copied()
            .collect::<Vec<_>>()
            .join(", ");
        summed.message.push_str(&format!("{ALSO}{named}"));
        if others.len() > NAMED {
            summed
                .message
                .push_str(&format!(" and {} more", others.len() - NAMED));
        }
    }
    vec![summed]
}

/// What a condition says of the first object that could not be applied, and the templates of the
/// others that it names.
pub fn not_applied(message: &str) -> (&str, Vec<&str>) {
    let Some((first, others)) = message.rsplit_once(ALSO) else {
        return (message, Vec::new());
    };
    let named = others
        .rsplit_once(" and ")
        .filter(|(_, more)| more.ends_with(" more"))
        .map_or(others, |(named, _)| named);
    (first, named.split(", ").collect())
}

#[cfg(test)]
mod tests {
    use super::{not_applied, summed};
    use crate::children::desired::Failure;

    #[test]
    fn a_condition_tells_of_the_first_failure_and_names_the_templates_of_the_others() {
        let failure = |template: &str| Failure {
            template: template.to_owned(),
            reason: "NotOurs",
            message: format!("{template}.yaml: it is not ours; go away"),
        };
        let many: Vec<String> = (0..13).map(|index| format!("t{index}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (templates, suffix, named) in [
            (vec!["a"], "", vec![]),
            (vec!["a", "a"], "", vec![]),
            (
                vec!["a", "b", "b", "a", "c"],
                "; also not applied: b, c",
                vec!["b", "c"],
            ),
            (
                many.clone(),
                "; also not applied: t1, t2, t3, t4, t5, t6, t7, t8, t9, t10 and 2 more",
                many[1..11].to_vec(),
            ),
        ] {
            let failures: Vec<Failure> =
                templates.iter().map(|template| failure(template)).collect();
            let [told] = summed(&failures).try_into().expect("one is told");
            let first = failures[0].message.clone();
            assert_eq!(
                told,
                Failure {
                    message: format!("{first}{suffix}"),
                    ..failures[0].clone()
                }
            );
            assert_eq!(not_applied(&told.message), (first.as_str(), named));
        }
        assert_eq!(summed(&[]), []);
    }
}
