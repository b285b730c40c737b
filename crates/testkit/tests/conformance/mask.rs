//! What differs from run to run, made the same: names of the scene, uids, revisions, times. Equal
//! uids and revisions of one case get equal numbers, so that what has to stay or to change is still
//! seen.

use std::collections::HashMap;

use regex::Regex;
use serde_json::{Map, Value};

/// The masks of one case.
pub struct Mask {
    words: Vec<(String, String)>,
    uids: Numbers,
    revisions: Numbers,
    patterns: Vec<(Regex, &'static str)>,
    uid: Regex,
}

#[derive(Default)]
struct Numbers(HashMap<String, usize>);

impl Numbers {
    fn of(&mut self, value: &str) -> usize {
        let next = self.0.len() + 1;
        *self.0.entry(value.to_owned()).or_insert(next)
    }
}

/// What a random name is made of.
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";

impl Mask {
    /// Masks that know no words yet.
    pub fn new() -> anyhow::Result<Self> {
        let pattern = |text: &str| Regex::new(text);
        Ok(Self {
            words: Vec::new(),
            uids: Numbers::default(),
            revisions: Numbers::default(),
            uid: pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")?,
            patterns: vec![
                (
                    pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")?,
                    "<time>",
                ),
                (pattern(r"current: \d+")?, "current: <rv>"),
                (
                    pattern(r"too old resource version: \d+ \(\d+\)")?,
                    "too old resource version: <rv> (<rv>)",
                ),
                (
                    pattern(r#"(?s)Invalid value: "\{\\"apiVersion.*?\}": "#)?,
                    "Invalid value: \"<object>\": ",
                ),
                (pattern(r"(precondition|record) \(\d+\)")?, "$1 (<rv>)"),
                (
                    pattern("Gen_[bcdfghjklmnpqrstvwxz2456789]{5}")?,
                    "Gen_<5 random>",
                ),
                (pattern(r"10\.96\.\d+\.\d+")?, "<ip>"),
            ],
        })
    }

    /// A word that is another in every run, such as the namespace.
    pub fn word(&mut self, word: &str, shown: &str) {
        self.words.push((word.to_owned(), shown.to_owned()));
        // What contains another is looked for first.
        self.words
            .sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    }

    /// Masks a text.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, shown) in &self.words {
            text = text.replace(word.as_str(), shown);
        }
        for (pattern, shown) in &self.patterns {
            text = pattern.replace_all(&text, *shown).into_owned();
        }
        let found: Vec<String> = self
            .uid
            .find_iter(&text)
            .map(|uid| uid.as_str().to_owned())
            .collect();
        for uid in found {
            let number = self.uids.of(&uid);
            text = text.replace(&uid, &format!("<uid {number}>"));
        }
        text
    }

    /// Masks an answer. Managed fields are hidden unless they are wanted.
    pub fn value(&mut self, value: &mut Value, managed_fields: bool) {
        self.walk(value, managed_fields, "");
    }

    fn walk(&mut self, value: &mut Value, managed_fields: bool, key: &str) {
        match value {
            Value::String(text) => *text = self.scalar(key, text),
            Value::Array(items) => {
                if key == "cells" {
                    items.iter_mut().for_each(mask_age);
                }
                items
                    .iter_mut()
                    .for_each(|item| self.walk(item, managed_fields, ""));
            }
            Value::Object(fields) => self.object(fields, managed_fields),
            _ => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, managed_fields: bool) {
        order_causes(fields);
        let is_list = fields.contains_key("items") || fields.contains_key("rows");
        let is_bookmark = fields.get("type").is_some_and(|kind| kind == "BOOKMARK");
        if let Some(meta) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            if !managed_fields {
                meta.remove("managedFields");
            }
            if let Some(Value::Array(entries)) = meta.get_mut("managedFields") {
                // They are ordered by their times, which may or may not be of the same second.
                let word =
                    |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
                entries.sort_by_key(|entry| {
                    ["operation", "manager", "subresource"].map(|name| word(entry, name))
                });
            }
            if is_list
                && meta
                    .get("resourceVersion")
                    .is_some_and(|revision| revision != "")
            {
                meta.insert("resourceVersion".to_owned(), "<list rv>".into());
            }
            mask_generated_name(meta);
        }
        if let Some(Value::Object(object)) = fields.get_mut("object").filter(|_| is_bookmark)
            && let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            meta.insert("resourceVersion".to_owned(), "<bookmark rv>".into());
        }
        let mut masked = Map::new();
        for (key, mut value) in std::mem::take(fields) {
            self.walk(&mut value, managed_fields, &key);
            masked.insert(self.text(&key), value);
        }
        *fields = masked;
    }

    fn scalar(&mut self, key: &str, text: &str) -> String {
        match key {
            "resourceVersion"
                if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                format!("<rv {}>", self.revisions.of(text))
            }
            "continue" if !text.is_empty() => "<continue>".to_owned(),
            _ => self.text(text),
        }
    }
}

/// The real server finds causes in the order of its maps, which is none, and the same one as often
/// as it checks. Both the causes and the message that lists them are brought into order.
fn order_causes(status: &mut Map<String, Value>) {
    let Some(causes) = status
        .get_mut("details")
        .and_then(|details| details.get_mut("causes")?.as_array_mut())
    else {
        return;
    };
    let text = |cause: &Value| {
        let part = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        format!("{}: {}", part("field"), part("message"))
    };
    causes.sort_by_cached_key(text);
    causes.dedup();
    let listed = causes.iter().map(text).collect::<Vec<_>>().join(", ");
    let message = status
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let list = message
        .split_once(" is invalid: [")
        .filter(|(_, list)| list.len() == listed.len() + 1);
    if let Some((head, _)) = list {
        let message = format!("{head} is invalid: [{listed}]");
        status.insert("message".to_owned(), message.into());
    }
}

/// How old something is, is a matter of the moment.
fn mask_age(cell: &mut Value) {
    let is_age = cell.as_str().is_some_and(|text| {
        !text.is_empty()
            && text.ends_with(['s', 'm', 'h', 'd', 'y'])
            && text.starts_with(|c: char| c.is_ascii_digit())
            && text
                .chars()
                .all(|c| c.is_ascii_digit() || "smhdy".contains(c))
    });
    if is_age {
        *cell = "<age>".into();
    }
}

fn mask_generated_name(meta: &mut Map<String, Value>) {
    let text = |key: &str| meta.get(key).and_then(Value::as_str).map(str::to_owned);
    let (Some(prefix), Some(name)) = (text("generateName"), text("name")) else {
        return;
    };
    if let Some(suffix) = name.strip_prefix(prefix.as_str())
        && suffix.chars().all(|c| RANDOM.contains(c))
    {
        meta.insert(
            "name".to_owned(),
            format!("{prefix}<{} random>", suffix.len()).into(),
        );
    }
}
