//! Fields of a text that its type does not have, and fields that are there twice: both are lost in
//! a value, so that the text itself is looked at.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::shape::Shape;

/// The most that is told of one text.
const MOST: usize = 100;

/// What a JSON text has that its type does not know or that is there twice, in the order of the
/// text: `unknown field "spec.foo"`. A text that is no JSON has nothing.
pub fn strict_fields(text: &str, shape: Shape<'_>) -> Vec<String> {
    let mut walk = Walk {
        path: String::new(),
        found: Vec::new(),
        seen: HashSet::new(),
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    match (Place {
        walk: &mut walk,
        shape: Some(shape),
    })
    .deserialize(&mut reader)
    {
        Ok(()) => walk.found,
        Err(_) => Vec::new(),
    }
}

/// The error that all of it makes where it is not let pass.
pub fn strict_error(found: &[String]) -> String {
    format!("strict decoding error: {}", found.join(", "))
}

struct Walk {
    path: String,
    found: Vec<String>,
    seen: HashSet<String>,
}

impl Walk {
    fn tell(&mut self, what: &str) {
        if self.found.len() < MOST {
            let message = format!("{what} field \"{}\"", self.path);
            if self.seen.insert(message.clone()) {
                self.found.push(message);
            }
        }
    }
}

/// A value that is about to be read.
struct Place<'w, 's> {
    walk: &'w mut Walk,
    shape: Option<Shape<'s>>,
}

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let item = self.shape.and_then(Shape::item);
        let length = self.walk.path.len();
        for index in 0.. {
            self.walk.path.push_str(&format!("[{index}]"));
            let more = items.next_element_seed(Place {
                walk: self.walk,
                shape: item,
            })?;
            self.walk.path.truncate(length);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let map = self.shape.and_then(Shape::map);
        let length = self.walk.path.len();
        let mut names = HashSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            if length > 0 {
                self.walk.path.push('.');
            }
            self.walk.path.push_str(&name);
            let shape = map.and_then(|map| map.value(&name));
            if map.is_some() && shape.is_none() {
                self.walk.tell("unknown");
                fields.next_value::<IgnoredAny>()?;
            } else {
                if !names.insert(name) {
                    self.walk.tell("duplicate");
                }
                fields.next_value_seed(Place {
                    walk: self.walk,
                    shape,
                })?;
            }
            self.walk.path.truncate(length);
        }
        Ok(())
    }
}
