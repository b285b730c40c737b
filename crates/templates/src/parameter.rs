//! A parameter: what a template says of it, and whether a value fits it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Anything.
    #[default]
    String,
    /// An optional minus and digits.
    Int,
    /// `true` or `false`.
    Bool,
    /// Text that is base64 already; nothing is encoded.
    Base64,
}

impl Kind {
    /// The names of all kinds.
    pub const NAMES: &'static str = "string, int, bool or base64";

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "string" => Some(Self::String),
            "int" | "integer" => Some(Self::Int),
            "bool" | "boolean" => Some(Self::Bool),
            "base64" => Some(Self::Base64),
            _ => None,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Int => "int",
            Self::Bool => "bool",
            Self::Base64 => "base64",
        }
    }

    /// What is wrong with a value, if something is. Nothing fits everything: whether it may be is
    /// another question.
    pub fn refuses(self, value: &str) -> Option<&'static str> {
        let digits = value.strip_prefix('-').unwrap_or(value);
        let fits = match self {
            _ if value.is_empty() => true,
            Self::String => true,
            Self::Int => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Bool => matches!(value, "true" | "false"),
            Self::Base64 => STANDARD.decode(value).is_ok(),
        };
        match self {
            _ if fits => None,
            Self::String => None,
            Self::Int => Some("is no whole number"),
            Self::Bool => Some("is neither `true` nor `false`"),
            Self::Base64 => Some("is not base64"),
        }
    }
}

/// A parameter as its template declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// What references call it.
    pub name: String,
    /// What people call it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub display_name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its value unless another is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it may not be empty.
    pub required: bool,
    /// What values it takes.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// What makes its value, in OpenShift's dialect; only `expression` is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<String>,
    /// What it is generated from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

impl Parameter {
    /// Whether somebody has to say a value.
    pub fn is_blank(&self) -> bool {
        self.value.as_deref().unwrap_or_default().is_empty() && !self.is_generated()
    }

    /// Whether its value is drawn.
    pub fn is_generated(&self) -> bool {
        self.generate.is_some() && self.value.as_deref().unwrap_or_default().is_empty()
    }

    /// Whether its value is better not shown, by what its name says.
    pub fn is_secret(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        let words = [
            "password",
            "passwd",
            "passphrase",
            "secret",
            "token",
            "credential",
            "private_key",
            "apikey",
            "api_key",
        ];
        // The name of a Secret is none, nor is that of a user.
        let is_name = ["name", "user", "username"]
            .iter()
            .any(|end| name.ends_with(end))
            || self.description.to_ascii_lowercase().contains("name of");
        !is_name && (words.iter().any(|word| name.contains(word)) || name.ends_with("pwd"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Parameter};

    #[test]
    fn a_value_fits_its_kind_or_the_reason_is_told() {
        for (kind, good, bad) in [
            (Kind::String, &["", "x", " "][..], &[][..]),
            (
                Kind::Int,
                &["", "0", "-1", "007", "99999999999999999999"],
                &["-", "1.0", "+1", " 1", "0x1", "1e3"],
            ),
            (
                Kind::Bool,
                &["", "true", "false"],
                &["True", "yes", "1", "on"],
            ),
            (
                Kind::Base64,
                &["", "YWI=", "YWJj"],
                &["YWI", "a b", "=", "YW-_"],
            ),
        ] {
            for value in good {
                assert_eq!(kind.refuses(value), None, "{kind:?} {value:?}");
            }
            for value in bad {
                assert!(kind.refuses(value).is_some(), "{kind:?} {value:?}");
            }
        }
    }

    #[test]
    fn passwords_are_told_by_their_names_and_names_of_secrets_are_none() {
        for (name, expected) in [
            ("MONGODB_PASSWORD", true),
            ("GITHUB_WEBHOOK_SECRET", true),
            ("ROOT_PWD", true),
            ("HTTPS_SECRET_NAME", false),
            ("MONGODB_USER", false),
            ("REPLICA_COUNT", false),
        ] {
            let parameter = Parameter {
                name: name.to_owned(),
                ..Parameter::default()
            };
            assert_eq!(parameter.is_secret(), expected, "{name}");
        }
        let description = "The name of the secret containing the keystore file".to_owned();
        let parameter = Parameter {
            name: "HTTPS_SECRET".to_owned(),
            description,
            ..Parameter::default()
        };
        assert!(!parameter.is_secret());
    }
}
