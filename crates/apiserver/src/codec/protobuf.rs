//! Bodies in Kubernetes' protobuf, which Go clients send for built-in kinds: read into what the
//! same object is in JSON. Nothing is written in it; clients that send it take JSON for an answer.

mod field;
mod reader;
mod scalar;

use std::{collections::HashMap, sync::LazyLock};

use serde_json::{Map, Value};

use crate::recorded;
use field::{Field, What};
use reader::Reader;

/// What bodies of this kind begin with.
const MAGIC: &[u8] = b"k8s\0";
/// How deep messages may be nested. Schemas are the deepest, and they are limited further
/// elsewhere.
const DEEPEST: usize = 200;

/// How the built-in kinds are written, by the tags of their Go types; read when the first such body
/// comes.
static BOOK: LazyLock<Book> = LazyLock::new(|| {
    recorded::value("wire")
        .and_then(|wire| Book::read(&wire))
        .unwrap_or_default()
});

#[derive(Default)]
struct Book {
    /// The types of kinds, by `apps/v1/Deployment`.
    kinds: HashMap<String, usize>,
    /// The fields of types.
    types: Vec<Vec<Field>>,
}

impl Book {
    fn read(wire: &Value) -> Option<Self> {
        let kinds = wire["kinds"].as_object()?.iter();
        let kinds = kinds
            .map(|(name, number)| Some((name.clone(), usize::try_from(number.as_u64()?).ok()?)));
        let types = wire["types"].as_array()?.iter().map(|fields| {
            let fields = fields.as_array()?.iter();
            fields.map(Field::read).collect::<Option<Vec<_>>>()
        });
        Some(Self {
            kinds: kinds.collect::<Option<_>>()?,
            types: types.collect::<Option<_>>()?,
        })
    }
}

/// The object in a body; the error says what is wrong with it.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    let rest = body
        .strip_prefix(MAGIC)
        .ok_or("the body does not begin as protobuf of Kubernetes does")?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut envelope = Reader::new(rest);
    while let Some((number, value)) = envelope.next()? {
        match number {
            1 => {
                let mut about = Reader::new(value.bytes()?);
                while let Some((number, value)) = about.next()? {
                    match number {
                        1 => version = scalar::text(value.bytes()?),
                        2 => kind = scalar::text(value.bytes()?),
                        _ => {}
                    }
                }
            }
            2 => raw = value.bytes()?,
            _ => {}
        }
    }
    let name = format!("{version}/{kind}");
    let number = *BOOK
        .kinds
        .get(&name)
        .ok_or_else(|| format!("no kind {kind:?} is registered for version {version:?}"))?;
    let mut object = message(&BOOK, number, raw, 0)?;
    object.insert("apiVersion".to_owned(), version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// Leaves out of an object of a built-in kind what Go does not write: what is empty or zero and
/// need not be there.
pub(crate) fn tidy(version: &str, kind: &str, object: &mut Value) {
    if let Some(number) = BOOK.kinds.get(&format!("{version}/{kind}")) {
        tidy_message(&BOOK, *number, object, 0);
    }
}

fn tidy_message(book: &Book, number: usize, value: &mut Value, depth: usize) {
    let Value::Object(fields) = value else { return };
    if depth > DEEPEST {
        return;
    }
    fields.retain(|name, value| {
        let Some(field) = named(book, number, name, depth) else {
            return true;
        };
        let is_message = field.what == What::Message;
        match value {
            Value::Object(entries) if field.map => {
                if is_message {
                    entries
                        .values_mut()
                        .for_each(|entry| tidy_message(book, field.message, entry, depth + 1));
                }
                !entries.is_empty() || field.keeps(&Value::Null)
            }
            Value::Array(items) if field.repeated && is_message => {
                items
                    .iter_mut()
                    .for_each(|item| tidy_message(book, field.message, item, depth + 1));
                field.keeps(value)
            }
            _ => {
                if is_message && !field.map && !field.repeated {
                    tidy_message(book, field.message, value, depth + 1);
                }
                field.keeps(value)
            }
        }
    });
}

/// The field of a name in JSON, which may be one of a part that stands inline.
fn named<'a>(book: &'a Book, number: usize, name: &str, depth: usize) -> Option<&'a Field> {
    let fields = book.types.get(number).filter(|_| depth <= DEEPEST)?;
    let own = fields
        .iter()
        .find(|field| !field.inline && &*field.name == name);
    own.or_else(|| {
        let inline = fields.iter().filter(|field| field.inline);
        inline
            .into_iter()
            .find_map(|field| named(book, field.message, name, depth + 1))
    })
}

/// The fields of a message.
fn message(
    book: &Book,
    number: usize,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>, String> {
    if depth > DEEPEST {
        return Err("exceeded max depth".to_owned());
    }
    let fields = book.types.get(number).ok_or("a type is not known")?;
    let mut object = Map::new();
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        // Fields that are not known are those of a newer client.
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            continue;
        };
        if field.inline {
            object.extend(message(book, field.message, value.bytes()?, depth + 1)?);
        } else if field.map {
            let (key, value) = entry(book, field, value.bytes()?, depth)?;
            if let Value::Object(entries) = object
                .entry(&*field.name)
                .or_insert_with(|| Value::Object(Map::new()))
            {
                entries.insert(key, value);
            }
        } else if field.repeated {
            let mut new = Vec::new();
            match (field.what, value.bytes()) {
                // Numbers may stand together in one value.
                (What::Int, Ok(packed)) => {
                    let mut packed = Reader::new(packed);
                    while let Some(number) = packed.number()? {
                        new.push(scalar::int(number));
                    }
                }
                _ => new.push(single(book, field, value, depth)?),
            }
            if let Value::Array(items) = object
                .entry(&*field.name)
                .or_insert_with(|| Value::Array(Vec::new()))
            {
                items.append(&mut new);
            }
        } else {
            let value = single(book, field, value, depth)?;
            if field.keeps(&value) {
                object.insert(field.name.to_string(), value);
            }
        }
    }
    Ok(object)
}

fn entry(
    book: &Book,
    field: &Field,
    bytes: &[u8],
    depth: usize,
) -> Result<(String, Value), String> {
    let (mut key, mut found) = (String::new(), None);
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        match number {
            1 => key = scalar::text(value.bytes()?),
            2 => found = Some(single(book, field, value, depth)?),
            _ => {}
        }
    }
    Ok((key, found.unwrap_or_else(|| "".into())))
}

fn single(
    book: &Book,
    field: &Field,
    value: reader::Wire<'_>,
    depth: usize,
) -> Result<Value, String> {
    Ok(match field.what {
        What::Message => Value::Object(message(book, field.message, value.bytes()?, depth + 1)?),
        What::OrArray | What::OrBool => either(book, field.message, value.bytes()?, depth)?,
        what => scalar::read(what, value)?,
    })
}

/// A schema, or in its place a list or a truth value.
fn either(book: &Book, number: usize, bytes: &[u8], depth: usize) -> Result<Value, String> {
    let fields = book.types.get(number).ok_or("a type is not known")?;
    let (mut schema, mut list, mut truth) = (None, Vec::new(), false);
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            continue;
        };
        match field.what {
            What::Bool => truth = value.number()? != 0,
            _ if field.repeated => list.push(single(book, field, value, depth + 1)?),
            _ => schema = Some(single(book, field, value, depth + 1)?),
        }
    }
    let is_list = fields.iter().any(|field| field.repeated);
    Ok(schema.unwrap_or(if is_list {
        Value::Array(list)
    } else {
        Value::Bool(truth)
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A field with bytes in it.
    fn put(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        let mut length = bytes.len();
        while length > 127 {
            out.push(u8::try_from(length & 127).unwrap() | 128);
            length >>= 7;
        }
        out.push(u8::try_from(length).unwrap());
        out.extend_from_slice(bytes);
        out
    }

    fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let about = [put(1, version.as_bytes()), put(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), put(1, &about), put(2, raw)].concat()
    }

    #[test]
    fn a_config_map_is_read_as_json_would_have_it() {
        let time = [8, 5];
        let meta = [
            put(1, b"a"),
            put(2, b""),
            put(8, &[]),
            put(9, &time),
            put(11, &[put(1, b"k"), put(2, b"v")].concat()),
        ];
        let raw = [
            put(1, &meta.concat()),
            put(2, &[put(1, b"x"), put(2, b"")].concat()),
            put(3, &[put(1, b"b"), put(2, &[0, 1])].concat()),
            vec![4 << 3, 0],
        ];
        assert_eq!(
            read(&body("v1", "ConfigMap", &raw.concat())).unwrap(),
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "immutable": false,
                "metadata": {"name": "a", "labels": {"k": "v"}, "deletionTimestamp": "1970-01-01T00:00:05Z"},
                "data": {"x": ""}, "binaryData": {"b": "AAE="},
            })
        );
    }

    #[test]
    fn inline_parts_quantities_and_zeros_behind_pointers_are_read() {
        // A deployment with replicas 0, a port by name, and a limit.
        let port = [vec![8, 1], vec![16, 0], put(3, b"http")].concat();
        let probe = [put(1, &put(2, &put(2, &port))), vec![16, 0]].concat();
        let limits = put(1, &[put(1, b"cpu"), put(2, &put(1, b"100m"))].concat());
        let container = [put(1, b"c"), put(8, &limits), put(10, &probe)].concat();
        let pod = put(2, &container);
        let spec = [vec![8, 0], put(3, &put(2, &pod)), vec![40, 0]].concat();
        let found = read(&body("apps/v1", "Deployment", &put(2, &spec))).unwrap();
        assert_eq!(
            found["spec"],
            json!({"replicas": 0, "template": {"spec": {"containers": [{
                "name": "c", "resources": {"limits": {"cpu": "100m"}}, "livenessProbe": {"httpGet": {"port": "http"}},
            }]}}})
        );
    }

    #[test]
    fn what_go_does_not_write_is_left_out() {
        let mut deployment = json!({
            "metadata": {"name": "a", "labels": {}, "annotations": {"k": ""}, "ownerReferences": []},
            "spec": {"replicas": 0, "minReadySeconds": 0, "paused": false, "strategy": {}, "template": {"spec": {
                "containers": [{"name": "c", "image": "", "env": [], "tty": false, "resources": {}, "livenessProbe": {
                    "initialDelaySeconds": 0, "httpGet": {"port": 0, "path": ""},
                }}],
                "volumes": [{"name": "v", "emptyDir": {"medium": ""}}],
                "nodeSelector": {}, "hostNetwork": false, "automountServiceAccountToken": false,
            }}},
        });
        tidy("apps/v1", "Deployment", &mut deployment);
        assert_eq!(
            deployment,
            json!({
                "metadata": {"name": "a", "annotations": {"k": ""}},
                "spec": {"replicas": 0, "strategy": {}, "template": {"spec": {
                    "containers": [{"name": "c", "resources": {}, "livenessProbe": {"httpGet": {"port": 0}}}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "automountServiceAccountToken": false,
                }}},
            })
        );
        let mut unknown = json!({"a": {}});
        tidy("no/v1", "Such", &mut unknown);
        assert_eq!(unknown, json!({"a": {}}));
    }

    #[test]
    fn lists_within_maps_are_read() {
        let extra = put(
            5,
            &[
                put(1, b"scopes"),
                put(2, &[put(1, b"a"), put(1, b"b")].concat()),
            ]
            .concat(),
        );
        let found = read(&body(
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            &put(2, &extra),
        ))
        .unwrap();
        assert_eq!(found["spec"]["extra"], json!({"scopes": ["a", "b"]}));
    }

    #[test]
    fn schemas_have_lists_and_truths_in_their_place() {
        let kinds = &BOOK.kinds;
        assert!(
            kinds.len() > 250
                && kinds.contains_key("apiextensions.k8s.io/v1/CustomResourceDefinition")
        );
        let number = BOOK
            .types
            .iter()
            .position(|fields| fields.iter().any(|field| field.what == What::OrBool))
            .unwrap();
        let field = BOOK.types[number]
            .iter()
            .find(|field| field.what == What::OrBool)
            .unwrap();
        assert_eq!(
            either(&BOOK, field.message, &[8, 1], 0).unwrap(),
            json!(true)
        );
        assert_eq!(
            either(&BOOK, field.message, &put(2, &[]), 0).unwrap(),
            json!({})
        );
    }

    #[test]
    fn whatever_the_bytes_are_there_is_an_answer() {
        let whole = body("v1", "Pod", &put(2, &put(2, &put(1, b"c"))));
        for end in 0..whole.len() {
            let _ = read(&whole[..end]);
        }
        for at in MAGIC.len()..whole.len() {
            for flip in [1, 7, 128, 255] {
                let mut broken = whole.clone();
                broken[at] ^= flip;
                let _ = read(&broken);
            }
        }
        for bad in [
            &b""[..],
            b"nonsense",
            b"k8s\0",
            b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
