//! The few Go structs that functions answer with: times, versions, durations, certificates.

use crate::func::Param;
use crate::value::Value;

/// A value with a type of its own.
#[derive(Clone, Debug)]
pub enum Object {
    /// `time.Duration`, in nanoseconds.
    Duration(i64),
    /// sprig's `certificate`: PEM texts of a certificate and its key.
    Certificate {
        /// The certificate.
        cert: String,
        /// Its private key.
        key: String,
    },
}

/// Something that can be asked of an object with a dot.
pub(crate) struct Method {
    pub is_field: bool,
    pub params: &'static [Param],
    pub body: for<'a> fn(&Object, &[Value<'a>]) -> Result<Value<'a>, String>,
}

impl Object {
    /// The name of its Go type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Object::Duration(_) => "time.Duration",
            Object::Certificate { .. } => "sprig.certificate",
        }
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Object::Duration(_) => "int64",
            Object::Certificate { .. } => "struct",
        }
    }

    /// The number it is, if its Go type is an integer.
    pub(crate) fn integer(&self) -> Option<i64> {
        match self {
            Object::Duration(nanoseconds) => Some(*nanoseconds),
            Object::Certificate { .. } => None,
        }
    }

    /// Go's `==`.
    pub(crate) fn same(&self, other: &Object) -> bool {
        match (self, other) {
            (Object::Duration(one), Object::Duration(other)) => one == other,
            (Object::Certificate { cert, key }, Object::Certificate { cert: other_cert, key: other_key }) => {
                cert == other_cert && key == other_key
            }
            _ => false,
        }
    }

    pub(crate) fn truth(&self) -> bool {
        match self {
            Object::Duration(nanoseconds) => *nanoseconds != 0,
            Object::Certificate { .. } => true,
        }
    }

    /// Its `String` method, if it has one.
    pub(crate) fn string(&self) -> Option<String> {
        match self {
            Object::Duration(nanoseconds) => Some(nanoseconds.to_string()),
            Object::Certificate { .. } => None,
        }
    }

    pub(crate) fn method(&self, name: &str) -> Option<Method> {
        match (self, name) {
            (Object::Certificate { .. }, "Cert") => Some(Method {
                is_field: true,
                params: &[],
                body: |object, _| match object {
                    Object::Certificate { cert, .. } => Ok(Value::text(cert.as_bytes())),
                    _ => Ok(Value::MISSING),
                },
            }),
            (Object::Certificate { .. }, "Key") => Some(Method {
                is_field: true,
                params: &[],
                body: |object, _| match object {
                    Object::Certificate { key, .. } => Ok(Value::text(key.as_bytes())),
                    _ => Ok(Value::MISSING),
                },
            }),
            _ => None,
        }
    }
}
