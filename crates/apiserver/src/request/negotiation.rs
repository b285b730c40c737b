//! In which form an answer is wanted: whole objects, their metadata alone, or a table; JSON or
//! YAML.

use http::{HeaderMap, header::ACCEPT};

use crate::handlers::status::ApiError;

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum As {
    /// Objects as they are.
    Whole,
    /// Their metadata alone.
    Metadata,
    /// Rows of a table.
    Table,
    /// Groups with their versions and resources, of discovery.
    Discovery,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// What it consists of.
    pub(crate) what: As,
    /// YAML instead of JSON.
    pub(crate) yaml: bool,
}

/// What the real server offers; protobuf is named in its messages though we do not speak it.
const OFFERS: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

impl Form {
    pub(crate) const WHOLE: Self = Self {
        what: As::Whole,
        yaml: false,
    };

    /// The form that the headers prefer among those that can be had.
    pub(crate) fn wanted(headers: &HeaderMap) -> Result<Self, ApiError> {
        let mut ranges: Vec<(f32, &str)> = Vec::new();
        for value in headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
        {
            for range in value
                .split(',')
                .map(str::trim)
                .filter(|range| !range.is_empty())
            {
                let quality = parameter(range, "q")
                    .and_then(|q| q.parse().ok())
                    .unwrap_or(1.0);
                ranges.push((quality, range));
            }
        }
        if ranges.is_empty() {
            return Ok(Self::WHOLE);
        }
        ranges.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranges
            .iter()
            .find_map(|(_, range)| Self::of(range))
            .ok_or_else(|| {
                // The format may be fine, and what it is to hold is not.
                let spoken = ranges.iter().any(|(_, range)| is_yaml(range).is_some());
                ApiError::not_acceptable(&OFFERS, spoken)
            })
    }

    fn of(range: &str) -> Option<Self> {
        let yaml = is_yaml(range)?;
        let (group, version) = (parameter(range, "g"), parameter(range, "v"));
        let meta = group == Some("meta.k8s.io") && matches!(version, Some("v1" | "v1beta1"));
        let what = match parameter(range, "as") {
            None => As::Whole,
            Some("Table") if meta => As::Table,
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") if meta => As::Metadata,
            Some("APIGroupDiscoveryList")
                if group == Some("apidiscovery.k8s.io") && version == Some("v2") =>
            {
                As::Discovery
            }
            Some(_) => return None,
        };
        Some(Self { what, yaml })
    }
}

/// Whether a format is YAML rather than JSON; none if it is neither.
fn is_yaml(range: &str) -> Option<bool> {
    match range.split(';').next().unwrap_or_default().trim() {
        "*/*" | "application/*" | "application/json" => Some(false),
        "application/yaml" => Some(true),
        _ => None,
    }
}

fn parameter<'a>(range: &'a str, name: &str) -> Option<&'a str> {
    let mut parameters = range
        .split(';')
        .skip(1)
        .filter_map(|part| part.trim().split_once('='));
    parameters
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_can_be_had_is_taken() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        for (accept, expected) in [
            ("", Some((As::Whole, false))),
            ("*/*", Some((As::Whole, false))),
            (table, Some((As::Table, false))),
            (
                "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
                Some((As::Metadata, false)),
            ),
            (
                "application/vnd.kubernetes.protobuf, application/json",
                Some((As::Whole, false)),
            ),
            (
                "application/json;q=0.5, application/yaml",
                Some((As::Whole, true)),
            ),
            (
                "application/json;as=Nonsense;v=v1;g=meta.k8s.io, application/json",
                Some((As::Whole, false)),
            ),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                Some((As::Discovery, false)),
            ),
            ("application/vnd.kubernetes.protobuf", None),
            ("text/html", None),
        ] {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            let form = Form::wanted(&headers)
                .ok()
                .map(|form| (form.what, form.yaml));
            assert_eq!(form, expected, "{accept}");
        }
    }
}
