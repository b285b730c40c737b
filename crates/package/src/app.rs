//! Reads `app.yaml`.

use api::App;
use serde_json::Value;

use crate::fields::{self, Kind};
use crate::problem::Problems;

const FIELDS: [(&str, Kind); 19] = [
    ("title", Kind::Text),
    ("overviewShort", Kind::Text),
    ("shortOverview", Kind::Text),
    ("overview", Kind::Text),
    ("readme", Kind::Text),
    ("version", Kind::Tag),
    (
        "icons",
        Kind::Objects(&["base64Data", "base64data", "mediatype"]),
    ),
    ("maintainers", Kind::Objects(&["name", "email"])),
    ("owners", Kind::Objects(&["name", "email"])),
    ("company", Kind::Text),
    ("category", Kind::Text),
    ("keywords", Kind::Texts),
    ("website", Kind::Text),
    ("source", Kind::Text),
    ("license", Kind::Text),
    ("permissionScope", Kind::Scope),
    ("dependsOn", Kind::Objects(&["crd"])),
    ("apiVersion", Kind::Ignored),
    ("packageType", Kind::Ignored),
];

/// What the file says; none if it cannot be read at all.
pub(crate) fn read(file: &str, bytes: &[u8], problems: &mut Problems) -> Option<App> {
    let mut found = fields::read(file, bytes, &FIELDS, "`app.yaml`", "title", problems)?;
    // Both spellings mean the same field, which can be there only once.
    if found.fields.contains_key("overviewShort") {
        found.fields.remove("shortOverview");
    }
    Some(serde_json::from_value(Value::Object(found.fields)).unwrap_or_default())
}
