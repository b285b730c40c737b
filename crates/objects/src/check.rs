//! Whether a value is of its type, as the API server's decoder sees it, and what of a text it does
//! not know. Bounds, patterns and required fields are not looked at.

mod scalar;
mod strict;

use serde_json::Value;

pub use strict::{strict_error, strict_fields};

use crate::go;
use crate::shape::{MapShape, Scalar, Shape};

/// Refuses a value that the type cannot hold, in the decoder's words: `json: cannot unmarshal
/// string into Go struct field DeploymentSpec.spec.replicas of type int32`. Fields that are not
/// known are passed over, and null fits anywhere.
pub fn check_type(shape: Shape<'_>, value: &Value) -> Result<(), String> {
    Walk {
        owner: "",
        path: Vec::new(),
        converts: false,
    }
    .value(shape, value)
}

/// The same for what server-side apply and strategic merge patches make of an object: it is no text
/// any more, and is converted, for which the API server has other words: `cannot convert float64 to
/// int32`.
pub fn check_converted(shape: Shape<'_>, value: &Value) -> Result<(), String> {
    Walk {
        owner: "",
        path: Vec::new(),
        converts: true,
    }
    .value(shape, value)
}

/// Why the decoder cannot read a value as such a scalar, if it has words of its own for it; a wrong
/// type has none, but for quantities.
pub(crate) fn undecodable(scalar: Scalar, value: &Value) -> Option<String> {
    match scalar::fits(scalar, value) {
        Err(why) => Some(why),
        Ok(false) if scalar == Scalar::Quantity && !value.is_null() => {
            Some(scalar::QUANTITY_FORMAT.to_owned())
        }
        Ok(_) => None,
    }
}

/// The message of the answer, 400, to an object that cannot be decoded.
pub fn decode_error(kind: &str, version: &str, error: &str) -> String {
    format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}")
}

struct Walk<'v> {
    /// The struct that the last field of the path is of.
    owner: &'v str,
    path: Vec<&'v str>,
    /// Whether it is converted from a value, and not read from a text.
    converts: bool,
}

impl<'v> Walk<'v> {
    fn value(&mut self, shape: Shape<'v>, value: &'v Value) -> Result<(), String> {
        let untyped = shape.scalar() == Some(Scalar::Untyped);
        match value {
            Value::Null => Ok(()),
            Value::Object(fields) => match shape.map() {
                Some(map) if shape.scalar() != Some(Scalar::IntOrString) => {
                    self.fields(map, fields)
                }
                _ if untyped => Ok(()),
                _ => self.misfit(shape, value),
            },
            Value::Array(items) => match shape.list() {
                Some(list) if shape.scalar() != Some(Scalar::IntOrString) => items
                    .iter()
                    .try_for_each(|item| self.value(list.item(), item)),
                _ if untyped => Ok(()),
                _ => self.misfit(shape, value),
            },
            _ => match shape.scalar() {
                Some(scalar) => match scalar::fits(scalar, value) {
                    Ok(true) => Ok(()),
                    Ok(false) => self.misfit(shape, value),
                    Err(error) if self.converts && scalar == Scalar::Bytes => {
                        Err(format!("error decoding from json: {error}"))
                    }
                    Err(error) => Err(error),
                },
                None => self.misfit(shape, value),
            },
        }
    }

    fn fields(
        &mut self,
        map: MapShape<'v>,
        fields: &'v serde_json::Map<String, Value>,
    ) -> Result<(), String> {
        for (name, value) in fields {
            if let Some(field) = map.find(name) {
                let outer = self.owner;
                self.owner = map.type_name().unwrap_or(outer);
                self.path.push(name);
                self.value(map.at(field), value)?;
                self.path.pop();
                self.owner = outer;
            } else if let Some(element) = map.element() {
                self.value(element, value)?;
            }
        }
        Ok(())
    }

    fn misfit(&self, shape: Shape<'_>, value: &Value) -> Result<(), String> {
        if shape.scalar() == Some(Scalar::Quantity) {
            return Err(scalar::QUANTITY_FORMAT.to_owned());
        }
        let found = match value {
            Value::Number(number) if is_number(shape) => format!("number {number}"),
            other => super::patch::kind(other).to_owned(),
        };
        let wanted = go_type(shape);
        if self.converts && shape.scalar() != Some(Scalar::IntOrString) {
            return Err(unconverted(shape, value, &wanted));
        }
        Err(if self.path.is_empty() || self.converts {
            format!("json: cannot unmarshal {found} into Go value of type {wanted}")
        } else {
            let path = self.path.join(".");
            format!(
                "json: cannot unmarshal {found} into Go struct field {}.{path} of type {wanted}",
                self.owner
            )
        })
    }
}

/// What is said of a value that cannot be converted to a type: Go converts numbers alone, whole
/// ones to text as well.
fn unconverted(shape: Shape<'_>, value: &Value, wanted: &str) -> String {
    let found = go::type_name(value);
    match shape.scalar() {
        Some(Scalar::Bytes) => format!("cannot restore slice from {found}"),
        Some(Scalar::String | Scalar::Formatted) if found == "int64" => {
            format!("cannot convert {found} to {wanted}")
        }
        Some(_) if is_number(shape) && value.is_number() => {
            format!("cannot convert {found} to {wanted}")
        }
        Some(_) => format!("unrecognized type: {wanted}"),
        None if shape.item().is_some() => format!("cannot restore slice from {found}"),
        None if shape.map().is_some_and(|map| map.element().is_some()) => {
            format!("cannot restore map from {found}")
        }
        None => format!("cannot restore struct from: {found}"),
    }
}

fn is_number(shape: Shape<'_>) -> bool {
    matches!(
        shape.scalar(),
        Some(Scalar::Int32 | Scalar::Int64 | Scalar::Number | Scalar::IntOrString)
    )
}

/// The Go type of a place, as far as the shape tells it.
fn go_type(shape: Shape<'_>) -> String {
    if let Some(scalar) = shape.scalar() {
        return match scalar {
            Scalar::Int32 | Scalar::IntOrString => "int32",
            Scalar::Int64 => "int64",
            Scalar::Number => "float64",
            Scalar::Boolean => "bool",
            Scalar::Bytes => "[]uint8",
            Scalar::Quantity => "resource.Quantity",
            Scalar::String | Scalar::Formatted | Scalar::DateTime => "string",
            Scalar::Untyped => "interface {}",
        }
        .to_owned();
    }
    if let Some(map) = shape.map() {
        return match (map.go_name(), map.element()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(element)) if element.scalar() == Some(Scalar::Quantity) => {
                "v1.ResourceList".to_owned()
            }
            (None, Some(element)) => format!("map[string]{}", go_type(element)),
            (None, None) => "struct {}".to_owned(),
        };
    }
    shape.item().map_or_else(
        || "interface {}".to_owned(),
        |item| format!("[]{}", go_type(item)),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{check_converted, check_type, decode_error, strict_error, strict_fields};
    use crate::shape::Shapes;

    fn shapes() -> Shapes {
        let reference =
            |name: &str| json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}]});
        Shapes::openapi(&json!({
            "io.k8s.api.apps.v1.Deployment": {"type": "object", "properties": {
                "metadata": reference("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"),
                "spec": reference("io.k8s.api.apps.v1.DeploymentSpec"),
            }, "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}]},
            "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {"type": "object", "properties": {
                "name": {"type": "string"},
                "creationTimestamp": {"type": "string", "format": "date-time"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            }},
            "io.k8s.api.apps.v1.DeploymentSpec": {"type": "object", "properties": {
                "replicas": {"type": "integer", "format": "int32"},
                "paused": {"type": "boolean"},
                "maxSurge": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
                "containers": {"type": "array", "items": reference("io.k8s.api.core.v1.Container")},
                "raw": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
                "limits": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}},
                "any": {},
            }},
            "io.k8s.api.core.v1.Container": {"type": "object", "properties": {"name": {"type": "string"}}},
            "io.k8s.apimachinery.pkg.api.resource.Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        }))
    }

    #[test]
    fn what_cannot_be_converted_to_a_type_is_refused_in_the_words_of_the_converter() {
        let shapes = shapes();
        let shape = shapes.of_kind("apps", "v1", "Deployment").unwrap();
        let quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        for (spec, expected) in [
            (json!({"replicas": "x"}), "unrecognized type: int32"),
            (json!({"replicas": 1.5}), "cannot convert float64 to int32"),
            (json!({"paused": "x"}), "unrecognized type: bool"),
            (
                json!({"containers": {}}),
                "cannot restore slice from map[string]interface {}",
            ),
            (
                json!({"containers": ["x"]}),
                "cannot restore struct from: string",
            ),
            (
                json!({"containers": [{"name": 1}]}),
                "cannot convert int64 to string",
            ),
            (
                json!({"containers": [{"name": 1.5}]}),
                "unrecognized type: string",
            ),
            (
                json!({"maxSurge": true}),
                "json: cannot unmarshal bool into Go value of type int32",
            ),
            (
                json!({"raw": {"a": "!!"}}),
                "error decoding from json: illegal base64 data at input byte 0",
            ),
            (json!({"raw": "x"}), "cannot restore map from string"),
            (json!({"limits": {"cpu": "x"}}), quantity),
        ] {
            assert_eq!(
                check_converted(shape, &json!({"spec": spec})).unwrap_err(),
                expected
            );
        }
        assert_eq!(
            check_converted(
                shape,
                &json!({"spec": {"replicas": 1, "limits": {"cpu": "1"}}})
            ),
            Ok(())
        );
    }

    #[test]
    fn what_a_type_cannot_hold_is_refused_in_the_words_of_the_decoder() {
        let shapes = shapes();
        let shape = shapes.of_kind("apps", "v1", "Deployment").unwrap();
        let quantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        for (spec, expected) in [
            (
                json!({"replicas": "x"}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"replicas": 1.5}),
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"replicas": 99_999_999_999_u64}),
                "json: cannot unmarshal number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"replicas": {}}),
                "json: cannot unmarshal object into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                json!({"paused": "x"}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool",
            ),
            (
                json!({"containers": {}}),
                "json: cannot unmarshal object into Go struct field DeploymentSpec.spec.containers of type []v1.Container",
            ),
            (
                json!({"containers": ["x"]}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.containers of type v1.Container",
            ),
            (
                json!({"containers": [{"name": 1}]}),
                "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
            ),
            (
                json!({"maxSurge": true}),
                "json: cannot unmarshal bool into Go struct field DeploymentSpec.spec.maxSurge of type int32",
            ),
            (
                json!({"raw": {"a": 5}}),
                "json: cannot unmarshal number into Go struct field DeploymentSpec.spec.raw of type []uint8",
            ),
            (
                json!({"raw": {"a": "!!"}}),
                "illegal base64 data at input byte 0",
            ),
            (json!({"limits": {"cpu": "x"}}), quantity),
            (json!({"limits": {"cpu": true}}), quantity),
            (json!({"limits": {"cpu": {}}}), quantity),
            (
                json!({"limits": []}),
                "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.limits of type v1.ResourceList",
            ),
        ] {
            assert_eq!(
                check_type(shape, &json!({"spec": spec})).unwrap_err(),
                expected
            );
        }
        for (metadata, expected) in [
            (
                json!([]),
                "json: cannot unmarshal array into Go struct field Deployment.metadata of type v1.ObjectMeta",
            ),
            (
                json!({"labels": {"a": 1}}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                json!({"labels": []}),
                "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
            ),
            (
                json!({"creationTimestamp": 1}),
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
            ),
            (
                json!({"creationTimestamp": "x"}),
                "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
            ),
        ] {
            assert_eq!(
                check_type(shape, &json!({"metadata": metadata})).unwrap_err(),
                expected
            );
        }
        assert_eq!(
            check_type(shape, &json!([])).unwrap_err(),
            "json: cannot unmarshal array into Go value of type v1.Deployment"
        );
        assert_eq!(
            decode_error("Deployment", "v1", "x"),
            "Deployment in version \"v1\" cannot be handled as a Deployment: x"
        );
        let fine = json!({"unknown": 1, "metadata": {"name": null, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {
            "replicas": 3, "maxSurge": "25%", "limits": {"cpu": "100m", "memory": 5}, "raw": {"a": "YQ=="}, "any": [{"x": 1}],
        }});
        assert_eq!(check_type(shape, &fine), Ok(()));
    }

    #[test]
    fn what_is_not_known_or_there_twice_is_told_in_the_order_of_the_text() {
        let shapes = shapes();
        let shape = shapes.of_kind("apps", "v1", "Deployment").unwrap();
        let text = r#"{"spec": {"foo": 1, "containers": [{"bar": {"a": 1}}, {"name": "x", "name": "y"}], "any": {"x": 1}},
            "x": 1, "metadata": {"labels": {"a": "b", "a": "c", "a": "d"}}}"#;
        let found = strict_fields(text, shape);
        assert_eq!(
            found,
            [
                "unknown field \"spec.foo\"",
                "unknown field \"spec.containers[0].bar\"",
                "duplicate field \"spec.containers[1].name\"",
                "unknown field \"x\"",
                "duplicate field \"metadata.labels.a\"",
            ]
        );
        assert_eq!(
            strict_error(&found[..2]),
            "strict decoding error: unknown field \"spec.foo\", unknown field \"spec.containers[0].bar\""
        );
        let many: Value = (0..1000)
            .map(|index| (format!("f{index}"), Value::Null))
            .collect();
        assert_eq!(strict_fields(&many.to_string(), shape).len(), 100);
        assert!(strict_fields("{", shape).is_empty());
    }
}
