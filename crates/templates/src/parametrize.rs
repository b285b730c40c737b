//! Proposes parameters for an exported template: names, images and replicas become references, with
//! what they are now as defaults. Only places that are known to mean them are changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::pods::{self, CONTAINERS};
use crate::reference::references;
use crate::trail::{Trail, texts};

/// What should become parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Names of objects, with the places that refer to them.
    Names,
    /// Images of containers.
    Images,
    /// Counts of replicas.
    Replicas,
}

impl Wish {
    /// The wish of a name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "names" => Some(Self::Names),
            "images" => Some(Self::Images),
            "replicas" => Some(Self::Replicas),
            _ => None,
        }
    }
}

/// The parameters so far.
struct Proposal {
    /// Names that no parameter may have: something else is meant by them.
    taken: BTreeSet<String>,
    parameters: Vec<Value>,
}

/// Puts parameters into a template that has none. Text that looks like a reference already keeps
/// its meaning, since no parameter is called so.
pub fn parametrize(template: &mut Value, wishes: &[Wish]) {
    let mut taken = BTreeSet::new();
    texts(template, &Trail::start("template"), &mut |_, text, _| {
        taken.extend(references(Dialect::Parentheses, text).map(|found| found.name.to_owned()));
    });
    let mut proposal = Proposal {
        taken,
        parameters: Vec::new(),
    };
    let Some(Value::Array(objects)) = template.get_mut("objects") else {
        return;
    };
    // Replicas and images are called after the objects, so these still have to have their names.
    if wishes.contains(&Wish::Replicas) {
        proposal.replicas(objects);
    }
    if wishes.contains(&Wish::Images) {
        proposal.images(objects);
    }
    if wishes.contains(&Wish::Names) {
        proposal.names(objects);
    }
    proposal.parameters.reverse();
    template["parameters"] = Value::Array(proposal.parameters);
}

impl Proposal {
    fn add(&mut self, base: &str, kind: &str, value: &str, description: &str) -> String {
        let mut name = base.to_owned();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        self.parameters.push(json!({
            "name": name, "description": description, "type": kind, "value": value, "required": true,
        }));
        name
    }

    fn replicas(&mut self, objects: &mut [Value]) {
        for object in objects.iter_mut().rev() {
            let is_workload = pods::shape(object).is_some_and(|shape| shape.template.is_some());
            let Some(count) = object["spec"]["replicas"].as_u64().filter(|_| is_workload) else {
                continue;
            };
            let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
            let about = format!("How many replicas the {kind} {name} has");
            let parameter = self.add(
                &format!("{}_REPLICAS", spelt(&name)),
                "int",
                &count.to_string(),
                &about,
            );
            object["spec"]["replicas"] = Value::String(format!("$(({parameter}))"));
        }
    }

    fn images(&mut self, objects: &mut [Value]) {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for object in objects.iter_mut().rev() {
            let Some(pod) = pods::shape(object).and_then(|shape| shape.pod) else {
                continue;
            };
            let Some(spec) = pod
                .iter()
                .try_fold(object, |value, field| value.get_mut(field))
            else {
                continue;
            };
            for list in CONTAINERS {
                for container in spec
                    .get_mut(list)
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    let Some(image) = container["image"].as_str().map(str::to_owned) else {
                        continue;
                    };
                    let parameter = known.entry(image.clone()).or_insert_with(|| {
                        let about =
                            format!("The image of the container {}", text(&container["name"]));
                        self.add(
                            &format!("{}_IMAGE", spelt(last_part(&image))),
                            "string",
                            &image,
                            &about,
                        )
                    });
                    container["image"] = Value::String(format!("$({parameter})"));
                }
            }
        }
    }

    fn names(&mut self, objects: &mut [Value]) {
        let named = |object: &Value| object["metadata"]["name"].as_str().map(str::to_owned);
        let all: BTreeSet<String> = objects.iter().filter_map(named).collect();
        let mut known = BTreeMap::new();
        for name in all.iter().rev() {
            let base = if all.len() == 1 {
                "NAME".to_owned()
            } else {
                format!("{}_NAME", spelt(name))
            };
            let mut kinds: Vec<String> = objects
                .iter()
                .filter(|object| named(object).as_ref() == Some(name))
                .map(|object| text(&object["kind"]))
                .collect();
            kinds.dedup();
            let parameter = self.add(
                &base,
                "string",
                name,
                &format!("The name of the {}", kinds.join(", ")),
            );
            known.insert(name.clone(), format!("$({parameter})"));
        }
        for object in objects {
            if let Some(reference) = named(object).and_then(|name| known.get(&name)) {
                object["metadata"]["name"] = Value::String(reference.clone());
            }
            rename(object, "", &known);
        }
    }
}

/// Fields that name an object.
const NAMING: [&str; 6] = [
    "claimName",
    "secretName",
    "serviceName",
    "serviceAccountName",
    "serviceAccount",
    "ingressClassName",
];
/// Fields whose `name` is that of an object.
const REFERRING: [&str; 8] = [
    "configMap",
    "secret",
    "service",
    "persistentVolumeClaim",
    "scaleTargetRef",
    "roleRef",
    "subjects",
    "to",
];
/// Mappings whose values often are the name of an object.
const LABELLING: [&str; 3] = ["labels", "matchLabels", "selector"];

/// Puts references where a name is meant.
fn rename(value: &mut Value, parent: &str, known: &BTreeMap<String, String>) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| rename(item, parent, known)),
        Value::Object(fields) => {
            for (key, field) in fields {
                let refers = REFERRING.contains(&parent) || parent.ends_with("Ref");
                let means = NAMING.contains(&key.as_str())
                    || LABELLING.contains(&parent)
                    || key == "name" && refers;
                match field {
                    Value::String(text) if means => {
                        if let Some(reference) = known.get(text) {
                            reference.clone_into(text);
                        }
                    }
                    Value::String(_) => {}
                    _ => rename(field, key, known),
                }
            }
        }
        _ => {}
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A name as the name of a parameter.
fn spelt(name: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    name.chars().map(letter).collect()
}

/// What an image is called, without its registry, tag and digest.
fn last_part(image: &str) -> &str {
    let path = image.split('@').next().unwrap_or_default();
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Wish, parametrize};
    use crate::{Given, process};

    #[test]
    fn a_proposal_gives_back_what_it_was_made_from() {
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "web", "image": "registry.example.org/team/nginx:1.27", "args": ["$(NGINX_IMAGE)"],
                     "env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "web-secret", "key": "web"}}}]},
                ]},
            }},
        });
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-secret"}});
        let objects = vec![secret, deployment];
        let mut template = crate::wrap("shop", objects.clone());
        parametrize(&mut template, &[Wish::Names, Wish::Images, Wish::Replicas]);
        let names: Vec<_> = template["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["name"].clone())
            .collect();
        assert_eq!(
            names,
            [
                "WEB_NAME",
                "WEB_SECRET_NAME",
                "NGINX_IMAGE_2",
                "WEB_REPLICAS"
            ]
        );
        let spec = &template["objects"][1]["spec"];
        assert_eq!(spec["replicas"], "$((WEB_REPLICAS))");
        assert_eq!(spec["selector"]["matchLabels"]["app"], "$(WEB_NAME)");
        let container = &spec["template"]["spec"]["containers"][0];
        assert_eq!(container["name"], "web");
        assert_eq!(container["image"], "$(NGINX_IMAGE_2)");
        assert_eq!(container["args"][0], "$(NGINX_IMAGE)");
        assert_eq!(
            container["env"][0]["valueFrom"]["secretKeyRef"],
            json!({"name": "$(WEB_SECRET_NAME)", "key": "web"})
        );
        let processed = process(template, &Given::default(), &mut || Ok(0)).unwrap();
        assert_eq!(processed.objects(), objects);
    }
}
