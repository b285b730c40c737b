//! Fields of the spec that a template prints for every instance, though not every instance has
//! them.

use gotpl::Step;
use objects::Schema;

use super::dry_run::Sketch;
use crate::problem::Problem;
use crate::stack::Kind;

/// Warns of every such field, once for each place.
pub(super) fn check(sketch: &Sketch<'_>, kind: &Kind, problems: &mut Vec<Problem>) {
    let Some(schema) = &kind.schema else {
        return;
    };
    for (path, place) in sketch.always_printed() {
        if matches!(path.0.first(), Some(Step::Key(root)) if &**root == "spec")
            && may_be_unset(schema, &path.0)
        {
            let what = format!(
                "`.{path}` is not set in every instance, and without it this template fails"
            );
            let hint =
                "guard it with `if` or `with`, give it a default in the CRD, or require it there";
            problems.push(Problem::at(place, what).hint(hint).warning());
        }
    }
}

/// Whether the API server takes an object without a field. Of what the schema leaves open, nothing
/// is said.
fn may_be_unset(schema: &Schema, steps: &[Step]) -> bool {
    let mut schema = schema;
    let mut unset = false;
    for (depth, step) in steps.iter().enumerate() {
        let Step::Key(name) = step else {
            return false;
        };
        let Some(field) = schema.properties.get(&**name) else {
            return false;
        };
        // An instance without a spec at all has nothing of what it is made for, and hardly ever is.
        let always =
            field.default.is_some() || schema.required.iter().any(|required| **required == **name);
        unset |= depth > 0 && !always;
        schema = field;
    }
    unset
}
