//! The few Go structs that functions answer with: times, versions, durations, certificates. What
//! templates can ask of them with a dot is in `methods`.

mod methods;

use crate::func::Param;
use crate::value::{Kind, Value, Width};
use gocompat::duration::Duration;
use gocompat::semver::Version;
use gocompat::time::{MONTHS, Time, WEEKDAYS};
use gocompat::zone::Zone;

/// A value with a type of its own.
#[derive(Clone, Debug)]
pub enum Object {
    /// `time.Time`.
    Time(Time),
    /// `time.Duration`, in nanoseconds.
    Duration(i64),
    /// `time.Month`, 1 for January.
    Month(u32),
    /// `time.Weekday`, 0 for Sunday.
    Weekday(u32),
    /// `*time.Location`.
    Location(Zone),
    /// `*semver.Version`, or with `value` the struct itself.
    Version {
        /// What was read.
        version: Version,
        /// Whether this is `semver.Version` and not a pointer to one.
        value: bool,
    },
    /// sprig's `certificate`: PEM texts of a certificate and its key.
    Certificate {
        /// The certificate.
        cert: String,
        /// Its private key.
        key: String,
    },
}

/// What a field of a struct holds.
pub(crate) enum Field<'a> {
    Value(Value<'a>),
    /// Nothing, of that type.
    NilPointer(&'static str),
}

/// Something that can be asked of an object with a dot.
pub(crate) struct Method {
    pub is_field: bool,
    pub params: &'static [Param],
    /// Why Go refuses to call it however it is called, after the name of the method.
    pub unfit: Option<Unfit>,
    pub body: for<'a> fn(&Object, &[Value<'a>]) -> Result<Value<'a>, String>,
}

/// What is wrong with the results of a method.
#[derive(Clone, Copy)]
pub(crate) enum Unfit {
    /// There are that many.
    Count(usize),
    /// The second is of that type and no error.
    Second(&'static str),
}

impl Unfit {
    /// Go's words for it.
    pub fn text(self, name: &str) -> String {
        match self {
            Unfit::Count(count) => {
                format!("function {name} has {count} return values; should be 1 or 2")
            }
            Unfit::Second(kind) => {
                format!(
                    "invalid function signature for {name}: second return value should be error; is {kind}"
                )
            }
        }
    }
}

impl Object {
    /// The name of its Go type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Object::Time(_) => "time.Time",
            Object::Duration(_) => "time.Duration",
            Object::Month(_) => "time.Month",
            Object::Weekday(_) => "time.Weekday",
            Object::Location(_) => "*time.Location",
            Object::Version { value: false, .. } => "*semver.Version",
            Object::Version { value: true, .. } => "semver.Version",
            Object::Certificate { .. } => "sprig.certificate",
        }
    }

    pub(crate) fn kind_name(&self) -> &'static str {
        match self {
            Object::Duration(_) => "int64",
            Object::Month(_) | Object::Weekday(_) => "int",
            Object::Location(_) | Object::Version { value: false, .. } => "ptr",
            Object::Time(_) | Object::Version { value: true, .. } | Object::Certificate { .. } => {
                "struct"
            }
        }
    }

    /// The number it is, if its Go type is an integer.
    pub(crate) fn integer(&self) -> Option<i64> {
        match self {
            Object::Duration(nanoseconds) => Some(*nanoseconds),
            Object::Month(number) | Object::Weekday(number) => Some(i64::from(*number)),
            _ => None,
        }
    }

    /// Go's `==`.
    pub(crate) fn same(&self, other: &Object) -> bool {
        match (self, other) {
            (Object::Time(one), Object::Time(other)) => one == other,
            (Object::Location(one), Object::Location(other)) => one == other,
            (
                Object::Version {
                    version: one,
                    value: true,
                },
                Object::Version {
                    version: other,
                    value: true,
                },
            ) => one == other,
            (
                Object::Certificate { cert, key },
                Object::Certificate {
                    cert: other_cert,
                    key: other_key,
                },
            ) => cert == other_cert && key == other_key,
            // Pointers are equal to themselves only.
            (Object::Version { value: false, .. }, Object::Version { value: false, .. }) => {
                std::ptr::eq(self, other)
            }
            _ => {
                self.type_name() == other.type_name()
                    && self.integer().is_some()
                    && self.integer() == other.integer()
            }
        }
    }

    /// `reflect.DeepEqual`, which looks behind pointers.
    pub(crate) fn deep_equal(&self, other: &Object) -> bool {
        match (self, other) {
            (
                Object::Version { version, value },
                Object::Version {
                    version: other,
                    value: other_value,
                },
            ) => version == other && value == other_value,
            _ => self.same(other),
        }
    }

    pub(crate) fn truth(&self) -> bool {
        self.integer() != Some(0)
    }

    /// Its `String` method, if it has one.
    pub(crate) fn string(&self) -> Option<String> {
        let name = |names: &[&str], number: usize| names.get(number).map(ToString::to_string);
        match self {
            Object::Time(time) => Some(time.to_string()),
            Object::Duration(nanoseconds) => Some(Duration(*nanoseconds).to_string()),
            Object::Month(number) => name(&MONTHS, (*number as usize).wrapping_sub(1)),
            Object::Weekday(number) => name(&WEEKDAYS, *number as usize),
            Object::Location(zone) => Some(zone.name().to_string()),
            Object::Version { version, .. } => Some(version.to_string()),
            Object::Certificate { .. } => None,
        }
    }

    /// What `%#v` prints, if its type says so itself.
    pub(crate) fn go_syntax(&self) -> Option<String> {
        match self {
            Object::Time(time) => Some(time.go_syntax()),
            _ => None,
        }
    }

    pub(crate) fn is_pointer(&self) -> bool {
        self.kind_name() == "ptr"
    }

    /// The fields of its struct, if there is one worth showing.
    pub(crate) fn fields<'a>(&self) -> Option<Vec<(&'static str, Field<'a>)>> {
        let number = |value: i64, width| Field::Value(Value::of(Kind::Int(value, width)));
        let text = |text: &[u8]| Field::Value(Value::text(text));
        match self {
            Object::Time(time) => Some(vec![
                ("wall", number(i64::from(time.nanosecond()), Width::Uint64)),
                ("ext", number(time.seconds_since_year_one(), Width::Int64)),
                match time.zone() {
                    Zone::Utc => ("loc", Field::NilPointer("*time.Location")),
                    // Go shows an address here.
                    zone => (
                        "loc",
                        Field::Value(Value::object(Object::Location(zone.clone()))),
                    ),
                },
            ]),
            Object::Version { version, .. } => {
                let number = |value: u64| number(value.cast_signed(), Width::Uint64);
                Some(vec![
                    ("major", number(version.major())),
                    ("minor", number(version.minor())),
                    ("patch", number(version.patch())),
                    ("pre", text(version.prerelease().as_bytes())),
                    ("metadata", text(version.metadata().as_bytes())),
                    ("original", text(version.original().as_bytes())),
                ])
            }
            Object::Certificate { cert, key } => Some(vec![
                ("Cert", text(cert.as_bytes())),
                ("Key", text(key.as_bytes())),
            ]),
            _ => None,
        }
    }

    /// Whether its struct has a field of that name that templates may not see.
    pub(crate) fn hides(&self, name: &str) -> bool {
        match self {
            Object::Time(_) => matches!(name, "wall" | "ext" | "loc"),
            Object::Version { .. } => {
                matches!(
                    name,
                    "major" | "minor" | "patch" | "pre" | "metadata" | "original"
                )
            }
            _ => false,
        }
    }

    /// What Go's JSON makes of it.
    pub(crate) fn json(&self) -> Result<serde_json::Value, String> {
        use serde_json::Value as Json;
        match self {
            Object::Time(time) => match time.marshal_text() {
                Ok(text) => Ok(Json::String(text)),
                Err(error) => Err(format!(
                    "json: error calling MarshalJSON for type time.Time: Time.MarshalJSON: {error}"
                )),
            },
            Object::Version { version, .. } => Ok(Json::String(version.to_string())),
            Object::Certificate { cert, key } => {
                Ok(serde_json::json!({ "Cert": cert, "Key": key }))
            }
            Object::Location(_) => Ok(Json::Object(serde_json::Map::new())),
            Object::Duration(_) | Object::Month(_) | Object::Weekday(_) => {
                Ok(Json::from(self.integer()))
            }
        }
    }

    pub(crate) fn method(&self, name: &str) -> Option<Method> {
        methods::find(self, name)
    }
}
