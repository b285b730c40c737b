//! What the real API server says of its built-in kinds, recorded by `cargo xtask capture` and
//! compiled in; one member is inflated at a time, when it is asked for. It interprets nothing;
//! `data/README.md` lists the members.

use std::{collections::HashMap, io::Read, sync::LazyLock};

use flate2::read::DeflateDecoder;
use serde_json::Value;

static PACK: &[u8] = include_bytes!("../data/kubernetes.pack");

/// Where a member lies in the pack, and how long it is when inflated.
struct Member {
    begin: usize,
    end: usize,
    length: usize,
}

static INDEX: LazyLock<HashMap<String, Member>> = LazyLock::new(|| index(PACK).unwrap_or_default());

/// The text of a member, if there is such a one.
pub fn text(name: &str) -> Option<Vec<u8>> {
    let member = INDEX.get(name)?;
    let mut text = Vec::with_capacity(member.length);
    DeflateDecoder::new(PACK.get(member.begin..member.end)?)
        .read_to_end(&mut text)
        .ok()?;
    Some(text)
}

/// A member as a value.
pub fn value(name: &str) -> Option<Value> {
    serde_json::from_slice(&text(name)?).ok()
}

/// The paths below `/openapi/v3/` that have a document, in order: `api/v1`, `apis/apps/v1`,
/// `version`...
pub fn openapi_paths() -> Vec<&'static str> {
    let mut paths: Vec<&str> = INDEX
        .keys()
        .filter_map(|name| name.strip_prefix("schemas/"))
        .collect();
    paths.sort_unstable();
    paths
}

/// The whole OpenAPI document of a path, put together from its two members.
pub fn openapi(path: &str) -> Option<Value> {
    let mut document = value(&format!("paths/{path}"))?;
    let schemas = value(&format!("schemas/{path}"))?;
    document
        .get_mut("components")?
        .as_object_mut()?
        .insert("schemas".to_owned(), schemas);
    Some(document)
}

fn index(pack: &[u8]) -> Option<HashMap<String, Member>> {
    let line = pack.iter().position(|&byte| byte == b'\n')?;
    let listed: Vec<(String, usize, usize)> = serde_json::from_slice(&pack[..line]).ok()?;
    let mut begin = line + 1;
    let place = |(name, deflated, length)| {
        let member = Member {
            begin,
            end: begin + deflated,
            length,
        };
        begin = member.end;
        (name, member)
    };
    Some(listed.into_iter().map(place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_can_be_read_and_is_json() {
        assert!(INDEX.len() > 90, "{}", INDEX.len());
        for (name, member) in INDEX.iter() {
            assert_eq!(
                text(name).map(|text| text.len()),
                Some(member.length),
                "{name}"
            );
            assert!(value(name).is_some(), "{name}");
        }
        assert!(text("no/such/member").is_none());
    }

    #[test]
    fn a_document_has_its_types_and_its_paths() {
        let document = openapi("apis/apps/v1").unwrap();
        assert!(document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"].is_object());
        assert!(document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"].is_object());
        assert!(openapi_paths().contains(&"api/v1"));
    }

    #[test]
    fn resources_and_columns_are_kept_by_path() {
        let resources = value("resources").unwrap();
        assert_eq!(resources["api/v1"]["groupVersion"], "v1");
        let columns = value("columns").unwrap();
        assert_eq!(columns["apis/apps/v1/deployments"][0]["name"], "Name");
    }
}
