//! sprig's functions for semantic versions.

use Flow::Compute;
use Param::Text;

use super::entry::{Answer, fixed};
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::object::Object;
use crate::value::Value;
use gocompat::semver::{Constraints, Version};

pub(crate) const TABLE: &[Func] = &[
    fixed("semver", &[Text], Compute, |call| {
        Ok(Value::object(Object::Version {
            version: version(call, 0)?,
            value: false,
        }))
    }),
    fixed("semverCompare", &[Text, Text], Compute, compare),
];

fn version(call: &Call<'_, '_, '_>, index: usize) -> Result<Version, Fault> {
    Version::parse(call.text(index)).map_err(|error| Fault::new(error.to_string()))
}

fn compare<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let constraints =
        Constraints::parse(call.text(0)).map_err(|error| Fault::new(error.to_string()))?;
    Ok(Value::bool(constraints.check(&version(call, 1)?)))
}
