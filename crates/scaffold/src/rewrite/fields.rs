//! What of the manifests becomes fields of a spec: images, numbers of replicas and the hosts of
//! Ingresses.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use yaml::Step;

use super::common_name::rest;
use crate::manifests::split::Piece;
use crate::names::{camel, pascal};

/// What an Ingress takes for a host. Nothing of this form can end the text that it is printed into.
const HOST: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/// The same for a host that stands for all below a domain, or may.
const WILDCARD: &str = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A field of the spec.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub name: String,
    pub description: String,
    /// What the schema says beside the description and the default.
    pub rules: Value,
    /// What the manifests have.
    pub default: Value,
}

impl Field {
    /// Another value that the field takes.
    pub fn other(&self) -> Value {
        match (self.default.as_u64(), self.default.as_str()) {
            (Some(number), _) => json!(number + 1),
            (_, Some(host)) if self.rules.get("pattern").is_some() => {
                let (wildcard, domain) = host.split_at(if host.starts_with("*.") { 2 } else { 0 });
                let other = format!("{wildcard}other.{domain}");
                // The longest host there may be has none longer beside it.
                if other.len() > 253 {
                    json!(host)
                } else {
                    json!(other)
                }
            }
            (_, Some(text)) => json!(format!(
                "other-{}",
                text.rsplit('/').next().unwrap_or_default()
            )),
            _ => self.default.clone(),
        }
    }

    /// Its text, if it is one that means the same wherever it is found: a host, or an image that
    /// says more than a word.
    pub fn telling(&self) -> Option<&str> {
        let is_host = self.rules.get("pattern").is_some();
        self.default.as_str().filter(|text| {
            text.contains(if is_host {
                &['.'][..]
            } else {
                &[':', '/', '@'][..]
            })
        })
    }
}

/// What a scalar of an object is, if it is one that instances should choose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Image {
        image: String,
        container: String,
        is_main: bool,
    },
    Count {
        object: usize,
        key: &'static str,
    },
    Host(String),
}

/// The fields, and which scalar of which object stands for which.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub all: Vec<Field>,
    roles: Vec<(Role, usize)>,
}

impl Fields {
    /// Finds the fields of all objects.
    pub fn of(pieces: &[Piece], base: &str) -> Fields {
        let mut found: Vec<(Role, usize)> = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let Ok(spanned) = yaml::parse_spanned(&piece.text) else {
                continue;
            };
            for scalar in spanned
                .spans
                .scalars()
                .into_iter()
                .filter(|scalar| !scalar.is_key)
            {
                let Some(role) = role(pieces, index, &scalar.path) else {
                    continue;
                };
                match found.iter_mut().find(|(known, _)| key(known) == key(&role)) {
                    // What an init container shares is called after the container that stays.
                    Some((known, _)) if !is_main(known) && is_main(&role) => *known = role,
                    Some(_) => {}
                    None => found.push((role, index)),
                }
            }
        }
        let mut fields = Fields::default();
        let mut taken = BTreeSet::new();
        let count = |of: fn(&Role) -> bool| found.iter().filter(|(role, _)| of(role)).count();
        let images = count(|role| matches!(role, Role::Image { .. }));
        let hosts = count(|role| matches!(role, Role::Host(_)));
        for (role, object) in &found {
            let piece = &pieces[*object];
            let owner = rest(piece.name(), base);
            let same = |role: &Role, other: &Role| matches!((role, other), (Role::Count { key, .. }, Role::Count { key: other, .. }) if key == other);
            let alone = match role {
                Role::Image { .. } => images == 1,
                Role::Host(_) => hosts == 1,
                Role::Count { .. } => {
                    found.iter().filter(|(other, _)| same(role, other)).count() == 1
                }
            };
            let wanted = names(role, &owner, base, alone);
            let name = wanted.iter().find(|name| !taken.contains(*name)).cloned();
            let name = name
                .unwrap_or_else(|| numbered(wanted.last().map_or("field", String::as_str), &taken));
            taken.insert(name.clone());
            fields.all.push(field(name, role, piece));
            fields.roles.push((role.clone(), fields.all.len() - 1));
        }
        fields
    }

    /// The hosts that are fields, as they are written, and that are sure to mean the same wherever
    /// they stand: `localhost` and addresses are everywhere. The schema sees to it that every other
    /// has the form of a host too.
    pub fn hosts(&self) -> impl Iterator<Item = (&str, &Field)> {
        let is_domain = |host: &str| {
            let last = host.rsplit('.').next().unwrap_or_default();
            objects::is_subdomain(host)
                && host.contains('.')
                && last.contains(|c: char| c.is_ascii_alphabetic())
        };
        self.roles.iter().filter_map(move |(role, at)| match role {
            Role::Host(host) if is_domain(host) => Some((host.as_str(), self.all.get(*at)?)),
            _ => None,
        })
    }

    /// The field that a scalar stands for.
    pub fn at(&self, pieces: &[Piece], index: usize, path: &[Step]) -> Option<&Field> {
        let role = role(pieces, index, path)?;
        let (_, at) = self
            .roles
            .iter()
            .find(|(known, _)| key(known) == key(&role))?;
        self.all.get(*at)
    }
}

/// What makes two scalars one field: an image is the same wherever it runs.
fn key(role: &Role) -> (u8, &str, usize) {
    match role {
        Role::Image { image, .. } => (0, image, 0),
        Role::Count { object, key } => (1, key, *object),
        Role::Host(host) => (2, host, 0),
    }
}

fn is_main(role: &Role) -> bool {
    matches!(role, Role::Image { is_main: true, .. })
}

fn role(pieces: &[Piece], index: usize, path: &[Step]) -> Option<Role> {
    let piece = pieces.get(index)?;
    let value = super::edit::look(&piece.value, path)?;
    let keys: Vec<&str> = path
        .iter()
        .map(|step| {
            if let Step::Key(key) = step {
                &**key
            } else {
                ""
            }
        })
        .collect();
    let container = super::edit::look(&piece.value, path.split_last()?.1);
    match keys.as_slice() {
        [.., "containers" | "initContainers", "", "image"] => Some(Role::Image {
            image: value
                .as_str()
                .filter(|image| !image.is_empty())?
                .to_string(),
            container: container?["name"].as_str().unwrap_or_default().to_string(),
            is_main: keys.contains(&"containers"),
        }),
        ["spec", "replicas"] if scales(&piece.gvk.kind) && value.is_u64() => Some(Role::Count {
            object: index,
            key: "replicas",
        }),
        ["spec", key @ ("minReplicas" | "maxReplicas")]
            if piece.gvk.kind == "HorizontalPodAutoscaler" && value.is_u64() =>
        {
            Some(Role::Count {
                object: index,
                key: if *key == "minReplicas" {
                    "minReplicas"
                } else {
                    "maxReplicas"
                },
            })
        }
        ["spec", "rules", "", "host"] | ["spec", "tls", "", "hosts", ""]
            if piece.gvk.kind == "Ingress" =>
        {
            Some(Role::Host(
                value.as_str().filter(|host| !host.is_empty())?.to_string(),
            ))
        }
        _ => None,
    }
}

fn scales(kind: &str) -> bool {
    [
        "Deployment",
        "StatefulSet",
        "ReplicaSet",
        "ReplicationController",
    ]
    .contains(&kind)
}

/// Names for a field, best first.
fn names(role: &Role, owner: &str, base: &str, alone: bool) -> Vec<String> {
    match role {
        Role::Image { container, .. } => {
            let mut names = vec![format!("{}Image", camel(container))];
            if alone || container == base {
                names.insert(0, "image".to_string());
            }
            names.push(format!("{}{}Image", camel(owner), pascal(container)));
            names.retain(|name| name != "Image");
            names
        }
        Role::Count { key, .. } if alone || owner.is_empty() => {
            vec![
                (*key).to_string(),
                format!("{}{}", camel(owner), pascal(key)),
            ]
        }
        Role::Count { key, .. } => vec![format!("{}{}", camel(owner), pascal(key))],
        Role::Host(_) if alone => vec!["host".to_string()],
        Role::Host(host) => {
            let first = host
                .split('.')
                .next()
                .unwrap_or_default()
                .replace('*', "wildcard");
            vec![format!("{}Host", camel(&first))]
        }
    }
}

fn numbered(name: &str, taken: &BTreeSet<String>) -> String {
    let name = if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.to_string()
    } else {
        format!("field{name}")
    };
    let next = (2..)
        .map(|number| format!("{name}{number}"))
        .find(|name| !taken.contains(name));
    next.unwrap_or(name)
}

fn field(name: String, role: &Role, piece: &Piece) -> Field {
    let title = piece.title();
    let (description, rules, default) = match role {
        Role::Image {
            image, container, ..
        } => (
            format!("The image of the container {container}."),
            json!({"type": "string", "minLength": 1}),
            json!(image),
        ),
        Role::Count { key, .. } => {
            let words = match *key {
                "minReplicas" => "The fewest replicas",
                "maxReplicas" => "The most replicas",
                _ => "How many replicas there are",
            };
            let least = u64::from(*key != "replicas");
            let words = format!(
                "{words}, in the {}.",
                title.split(' ').next().unwrap_or_default()
            );
            (
                words,
                json!({"type": "integer", "minimum": least}),
                piece.value["spec"][*key].clone(),
            )
        }
        Role::Host(host) => {
            let is_host = objects::is_subdomain(host.strip_prefix("*.").unwrap_or(host));
            let rules = if is_host {
                json!({"type": "string", "maxLength": 253, "pattern": if host.starts_with('*') { WILDCARD } else { HOST }})
            } else {
                json!({"type": "string", "minLength": 1})
            };
            (
                "The host under which it answers.".to_string(),
                rules,
                json!(host),
            )
        }
    };
    Field {
        name,
        description,
        rules,
        default,
    }
}
