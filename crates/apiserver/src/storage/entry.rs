//! An object as it was at a revision. It is kept as JSON, which every answer is put together from;
//! its value is made of that when somebody needs it, and kept as long as it is used.

use std::{
    fmt,
    ops::Deref,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use serde::{
    Deserialize,
    de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use super::value_cache::Parsed;

/// An object as it was at a revision; clones are the same one.
#[derive(Clone)]
pub struct Entry(Arc<Kept>);

/// What is known of an object at a revision.
pub struct Kept {
    /// The revision that made it so; also in its metadata.
    pub revision: u64,
    /// The object as compact JSON: its kind and version first.
    pub bytes: Bytes,
    /// Where in the JSON kind and version end, so that lists can leave them out.
    pub typed: usize,
    /// Where in the JSON the revision stands; nowhere if it is no object with metadata.
    version: Option<usize>,
    value: Mutex<Option<Arc<Value>>>,
    /// Whether the value was used since it was last asked for.
    used: AtomicBool,
    /// Who decides how long the value is kept; without it, it is kept as long as the object.
    parsed: Option<Arc<Parsed>>,
}

/// An object that is about to be written, with all that can be done before its revision is known.
pub(super) struct Draft {
    value: Value,
    json: Json,
}

impl Draft {
    pub(super) fn new(mut value: Value) -> Self {
        if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
            metadata.insert("resourceVersion".to_owned(), Value::String(String::new()));
        }
        Self {
            json: Json::of(&value),
            value,
        }
    }

    /// The object with its revision written into it.
    pub(super) fn stamped(mut self, revision: u64, parsed: &Arc<Parsed>) -> Entry {
        let version = revision.to_string();
        let bytes = spliced(&self.json.bytes, self.json.version, 0, &version);
        if let Some(Value::Object(metadata)) = self.value.get_mut("metadata") {
            metadata.insert("resourceVersion".to_owned(), Value::String(version));
        }
        let entry = Entry::kept(revision, bytes, &self.json, Some(self.value), Some(parsed));
        parsed.hold(&entry);
        entry
    }
}

impl Entry {
    /// An object as it is, which is kept nowhere.
    pub fn new(value: Value, revision: u64) -> Self {
        let json = Json::of(&value);
        Self::kept(
            revision,
            json.bytes.clone().into(),
            &json,
            Some(value),
            None,
        )
    }

    /// An object of which there is only the JSON, as it was written.
    pub(super) fn read(
        bytes: Bytes,
        revision: u64,
        parsed: &Arc<Parsed>,
    ) -> Result<Self, serde_json::Error> {
        let json = Json::places(&bytes)?;
        Ok(Self::kept(revision, bytes, &json, None, Some(parsed)))
    }

    /// The last state of an object that is gone, with the revision of its end.
    pub(super) fn ended(&self, revision: u64, parsed: &Arc<Parsed>) -> Self {
        let digits = self.0.revision.to_string().len();
        let bytes = spliced(&self.bytes, self.version, digits, &revision.to_string());
        let json = Json {
            bytes: Vec::new(),
            typed: self.typed,
            version: self.version,
        };
        Self::kept(revision, bytes, &json, None, Some(parsed))
    }

    fn kept(
        revision: u64,
        bytes: Bytes,
        json: &Json,
        value: Option<Value>,
        parsed: Option<&Arc<Parsed>>,
    ) -> Self {
        Self(Arc::new(Kept {
            revision,
            bytes,
            typed: json.typed,
            version: json.version,
            value: Mutex::new(value.map(Arc::new)),
            used: AtomicBool::new(false),
            parsed: parsed.cloned(),
        }))
    }

    /// The object.
    pub fn value(&self) -> Arc<Value> {
        if let Some(value) = self.there() {
            return value;
        }
        // What was written was a value, so it can be read.
        let value: Arc<Value> = Arc::new(serde_json::from_slice(&self.bytes).unwrap_or_default());
        *self.slot() = Some(value.clone());
        if let Some(parsed) = &self.parsed {
            parsed.hold(self);
        }
        value
    }

    /// The metadata of the object, without who manages its fields, where that is all that is needed
    /// of many objects: an object with nothing else.
    pub fn head(&self) -> Arc<Value> {
        self.there().unwrap_or_else(|| Arc::new(head(&self.bytes)))
    }

    fn there(&self) -> Option<Arc<Value>> {
        let there = self.slot().clone();
        if there.is_some() {
            self.used.store(true, Ordering::Relaxed);
        }
        there
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Arc<Value>>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the value, unless it was used since this was last asked; returns it, to be
    /// dropped elsewhere.
    pub(super) fn forget(&self) -> Result<Option<Arc<Value>>, ()> {
        if self.used.swap(false, Ordering::Relaxed) {
            Err(())
        } else {
            Ok(self.slot().take())
        }
    }

    pub(super) fn downgrade(&self) -> std::sync::Weak<Kept> {
        Arc::downgrade(&self.0)
    }

    pub(super) fn upgrade(weak: &std::sync::Weak<Kept>) -> Option<Self> {
        weak.upgrade().map(Self)
    }
}

impl Deref for Entry {
    type Target = Kept;

    fn deref(&self) -> &Kept {
        &self.0
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Entry({}, {})",
            self.revision,
            String::from_utf8_lossy(&self.bytes)
        )
    }
}

/// Bytes with a text in place of so many of them.
fn spliced(bytes: &[u8], at: Option<usize>, cut: usize, text: &str) -> Bytes {
    let Some((head, tail)) = at.and_then(|at| Some((bytes.get(..at)?, bytes.get(at + cut..)?)))
    else {
        return Bytes::copy_from_slice(bytes);
    };
    let mut whole = Vec::with_capacity(head.len() + text.len() + tail.len());
    whole.extend_from_slice(head);
    whole.extend_from_slice(text.as_bytes());
    whole.extend_from_slice(tail);
    whole.into()
}

/// Compact JSON as the API server orders it: kind and version, the metadata, then the rest by name.
struct Json {
    bytes: Vec<u8>,
    /// Where kind and version end.
    typed: usize,
    /// Where the text of the resource version begins.
    version: Option<usize>,
}

impl Json {
    fn of(value: &Value) -> Self {
        let Value::Object(fields) = value else {
            return Self {
                bytes: serde_json::to_vec(value).unwrap_or_default(),
                typed: 0,
                version: None,
            };
        };
        let mut json = Self {
            bytes: Vec::with_capacity(1024),
            typed: 1,
            version: None,
        };
        json.bytes.push(b'{');
        let first = ["kind", "apiVersion", "metadata"];
        let rest = fields
            .iter()
            .filter(|(name, _)| !first.contains(&name.as_str()));
        for (name, value) in first
            .into_iter()
            .filter_map(|name| fields.get_key_value(name))
            .chain(rest)
        {
            json.comma();
            if name == "kind" || name == "apiVersion" {
                json.typed = 0;
            } else if json.typed == 0 {
                json.typed = json.bytes.len();
            }
            json.name(name);
            match value {
                Value::Object(metadata) if name == "metadata" => json.metadata(metadata),
                other => json.value(other),
            }
        }
        json.bytes.push(b'}');
        if json.typed == 0 {
            json.typed = json.bytes.len() - 1;
        }
        json
    }

    /// Finds the places in JSON that this has written; there are no bytes in the result.
    fn places(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let places: Places<'_> = serde_json::from_slice(bytes)?;
        let after = |raw: Option<&RawValue>| {
            raw.map(|raw| raw.get().as_bytes().as_ptr_range().end as usize)
        };
        let place = |address: usize| address - bytes.as_ptr() as usize;
        let typed = match after(places.kind).max(after(places.version)).map(place) {
            Some(end) if bytes.get(end) == Some(&b',') => end + 1,
            Some(end) => end,
            None => 1,
        };
        let version = places.metadata.and_then(|metadata| metadata.version);
        let version = version.map(|raw| place(raw.get().as_ptr() as usize) + 1);
        Ok(Self {
            bytes: Vec::new(),
            typed,
            version,
        })
    }

    fn metadata(&mut self, fields: &Map<String, Value>) {
        self.bytes.push(b'{');
        for (name, value) in fields {
            self.comma();
            self.name(name);
            if name == "resourceVersion" && value.is_string() {
                self.version = Some(self.bytes.len() + 1);
            }
            self.value(value);
        }
        self.bytes.push(b'}');
    }

    fn comma(&mut self) {
        if self.bytes.last() != Some(&b'{') {
            self.bytes.push(b',');
        }
    }

    fn name(&mut self, name: &str) {
        self.text(name);
        self.bytes.push(b':');
    }

    /// Strings and what they are in make up nearly all of an object, so they are written here;
    /// numbers are left to those who know them.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes.extend_from_slice(b"null"),
            Value::Bool(true) => self.bytes.extend_from_slice(b"true"),
            Value::Bool(false) => self.bytes.extend_from_slice(b"false"),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.bytes.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.bytes.push(b',');
                    }
                    self.value(item);
                }
                self.bytes.push(b']');
            }
            Value::Object(fields) => {
                self.bytes.push(b'{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        self.bytes.push(b',');
                    }
                    self.name(name);
                    self.value(value);
                }
                self.bytes.push(b'}');
            }
            // Writing into memory does not fail.
            number @ Value::Number(_) => _ = serde_json::to_writer(&mut self.bytes, number),
        }
    }

    fn text(&mut self, text: &str) {
        // All bytes are looked at, without a way out: that is what can be done to many at once.
        let special = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
        if text
            .bytes()
            .fold(false, |found, byte| found | special(byte))
        {
            _ = serde_json::to_writer(&mut self.bytes, text);
            return;
        }
        self.bytes.reserve(text.len() + 2);
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'"');
    }
}

/// What has to be found again in JSON.
#[derive(Deserialize)]
struct Places<'a> {
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow, rename = "apiVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<MetadataPlaces<'a>>,
}

#[derive(Deserialize)]
struct MetadataPlaces<'a> {
    #[serde(borrow, rename = "resourceVersion")]
    version: Option<&'a RawValue>,
}

/// The metadata in the JSON of an object, as far as [`Entry::head`] wants it.
fn head(bytes: &[u8]) -> Value {
    let mut found = Map::new();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    // It ends with an error of its own once it has what it wants.
    _ = Head(&mut found).deserialize(&mut deserializer);
    Value::Object(found)
}

struct Head<'a>(&'a mut Map<String, Value>);

impl<'de> DeserializeSeed<'de> for Head<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Head<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<&str>()? {
            if name == "metadata" {
                let metadata = fields.next_value_seed(Metadata)?;
                self.0.insert(name.to_owned(), metadata);
                return Err(A::Error::custom("that is all"));
            }
            fields.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

struct Metadata;

impl<'de> DeserializeSeed<'de> for Metadata {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metadata {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut metadata = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name == "managedFields" {
                fields.next_value::<IgnoredAny>()?;
            } else {
                metadata.insert(name, fields.next_value()?);
            }
        }
        Ok(Value::Object(metadata))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({"kind": "Thing", "apiVersion": "v1", "data": {"metadata": 1}, "metadata": {
            "name": "x", "labels": {"a": "b"}, "managedFields": [{"manager": "m"}], "uid": "u"}})
    }

    #[test]
    fn the_revision_is_written_into_the_value_and_into_the_json() {
        let parsed = Arc::new(Parsed::default());
        for revision in [1, 12, u64::MAX] {
            let entry = Draft::new(object()).stamped(revision, &parsed);
            let mut wanted = object();
            wanted["metadata"]["resourceVersion"] = revision.to_string().into();
            assert_eq!(*entry.value(), wanted);
            assert_eq!(
                serde_json::from_slice::<Value>(&entry.bytes).unwrap(),
                wanted
            );
            assert!(
                entry
                    .bytes
                    .starts_with(b"{\"kind\":\"Thing\",\"apiVersion\":\"v1\",\"metadata\":{")
            );
            let ended = entry.ended(revision / 2 + 100, &parsed);
            wanted["metadata"]["resourceVersion"] = (revision / 2 + 100).to_string().into();
            assert_eq!(*ended.value(), wanted);
            assert_eq!(ended.typed, entry.typed);
            assert_eq!(
                ended.ended(7, &parsed).value()["metadata"]["resourceVersion"],
                "7"
            );
        }
        let bare = Draft::new(json!({"size": 1})).stamped(3, &parsed);
        assert_eq!(&*bare.bytes, b"{\"size\":1}");
        assert_eq!(bare.ended(4, &parsed).bytes, bare.bytes);
    }

    #[test]
    fn the_json_is_the_same_as_anybody_elses() {
        let odd: String = (0..300_u32)
            .filter_map(char::from_u32)
            .chain("\u{2028}\u{fffd}\u{1f600}".chars())
            .collect();
        for value in [
            json!({"b": [1, -2, 0.5, 1e300, u64::MAX, true, false, null, [], {}, [[]]], "c": {"": "", "x\"y": "z\\"}}),
            json!({"b": {&*odd: &*odd}, "c": "\u{7f}\u{80}"}),
        ] {
            assert_eq!(Json::of(&value).bytes, serde_json::to_vec(&value).unwrap());
        }
    }

    #[test]
    fn a_head_is_the_metadata_without_its_managers() {
        let parsed = Arc::new(Parsed::default());
        let bytes = Entry::new(object(), 1).bytes.clone();
        let entry = Entry::read(bytes, 1, &parsed).unwrap();
        assert_eq!(
            *entry.head(),
            json!({"metadata": {"name": "x", "labels": {"a": "b"}, "uid": "u"}})
        );
        assert_eq!(*entry.value(), object());
        for value in [
            object(),
            json!({"metadata": {"resourceVersion": "12"}}),
            json!({"kind": "K"}),
            json!({}),
        ] {
            let (json, found) = (
                Json::of(&value),
                Json::places(&Entry::new(value.clone(), 1).bytes).unwrap(),
            );
            assert_eq!(
                (json.typed, json.version),
                (found.typed, found.version),
                "{value}"
            );
        }
        for odd in [
            "",
            "[]",
            "{",
            "{\"metadata\":",
            "{\"metadata\":null}",
            "null",
        ] {
            assert_eq!(head(odd.as_bytes()), json!({}), "{odd}");
        }
    }
}
