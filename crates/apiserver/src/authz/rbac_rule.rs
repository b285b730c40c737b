//! A rule of a role: which verbs on which resources or paths. Rules only ever allow.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value};

use crate::authz::attributes::{About, Question};

/// The most atoms that a rule is taken apart into.
const LARGEST: usize = 10_000;

/// What a role allows, all combinations of the parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The verbs, or `*`.
    pub verbs: Vec<String>,
    /// The API groups, or `*`.
    pub groups: Vec<String>,
    /// The resources: `pods`, `pods/log`, `*/scale` or `*`.
    pub resources: Vec<String>,
    /// Only these objects; none for all.
    pub names: Vec<String>,
    /// Paths that are no resource's; one may end in `*`.
    pub urls: Vec<String>,
}

impl Rule {
    /// The rules of a role.
    pub(crate) fn all_of(role: &Value) -> Vec<Self> {
        role.get("rules")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(Self::read)
            .collect()
    }

    /// Reads one rule; what is not as it should be is left out.
    pub(crate) fn read(value: &Value) -> Self {
        let list = |field: &str| {
            let items = value
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: list("verbs"),
            groups: list("apiGroups"),
            resources: list("resources"),
            names: list("resourceNames"),
            urls: list("nonResourceURLs"),
        }
    }

    /// As reviews show the part about resources, if it has one.
    pub(crate) fn resource_part(&self) -> Option<Value> {
        let parts = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.groups),
            ("resources", &self.resources),
            ("resourceNames", &self.names),
        ];
        (!self.resources.is_empty()).then(|| shown(&parts))
    }

    /// As reviews show the part about paths, if it has one.
    pub(crate) fn url_part(&self) -> Option<Value> {
        (!self.urls.is_empty())
            .then(|| shown(&[("verbs", &self.verbs), ("nonResourceURLs", &self.urls)]))
    }

    /// Whether it allows this.
    pub(crate) fn allows(&self, question: &Question<'_>) -> bool {
        if !has(&self.verbs, question.verb) {
            return false;
        }
        match question.about {
            About::Path(path) => self.urls.iter().any(|url| url_covers(url, path)),
            About::Resource(about) => {
                let named =
                    self.names.is_empty() || self.names.iter().any(|name| name == about.name);
                named
                    && has(&self.groups, about.group)
                    && self
                        .resources
                        .iter()
                        .any(|own| resource_matches(own, about.resource, about.subresource))
            }
        }
    }

    /// Whether it allows everything that another, atomic one does.
    fn covers(&self, atom: &Self) -> bool {
        let names = self.names.is_empty()
            || (!atom.names.is_empty() && atom.names.iter().all(|n| self.names.contains(n)));
        let resource = |wanted: &String| {
            has(&self.resources, wanted)
                || wanted.split_once('/').is_some_and(|(_, sub)| {
                    self.resources
                        .iter()
                        .any(|own| own.strip_prefix("*/") == Some(sub))
                })
        };
        names
            && atom.verbs.iter().all(|verb| has(&self.verbs, verb))
            && atom.groups.iter().all(|group| has(&self.groups, group))
            && atom.resources.iter().all(resource)
            && atom
                .urls
                .iter()
                .all(|url| self.urls.iter().any(|own| url_covers(own, url)))
    }

    /// How many atoms it has.
    fn size(&self) -> usize {
        let resources = self
            .groups
            .len()
            .saturating_mul(self.resources.len())
            .saturating_mul(self.names.len().max(1));
        resources
            .saturating_add(self.urls.len())
            .saturating_mul(self.verbs.len())
    }

    /// The same as many rules of one verb, one resource and one name, or of one verb and one path.
    fn atoms(&self) -> impl Iterator<Item = Self> + '_ {
        let one = |text: &String| vec![text.clone()];
        let resources = self.groups.iter().flat_map(move |group| {
            self.resources.iter().flat_map(move |resource| {
                self.verbs.iter().flat_map(move |verb| {
                    let base = Self {
                        verbs: one(verb),
                        groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.names.is_empty() {
                        vec![base]
                    } else {
                        self.names
                            .iter()
                            .map(|name| Self {
                                names: one(name),
                                ..base.clone()
                            })
                            .collect()
                    }
                })
            })
        });
        let urls = self.urls.iter().flat_map(move |url| {
            self.verbs.iter().map(move |verb| Self {
                verbs: one(verb),
                urls: one(url),
                ..Self::default()
            })
        });
        resources.chain(urls)
    }
}

/// As messages about missing rights show it.
impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ];
        let shown = parts.iter().filter(|(_, items)| !items.is_empty());
        let shown: Vec<String> = shown
            .map(|(name, items)| format!("{name}:{}", quoted(items)))
            .collect();
        write!(formatter, "{{{}}}", shown.join(", "))
    }
}

/// A list as messages show it: quoted, with blanks between.
pub(crate) fn quoted(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

/// Groups, resources and names.
type Place = (Vec<String>, Vec<String>, Vec<String>);

/// What some rules allow and others do not, as lines for a message; none if all is covered. Rules
/// that multiply to more than anybody writes down are not taken apart.
pub(crate) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let mut verbs: BTreeMap<Place, Vec<String>> = BTreeMap::new();
    let mut lines = BTreeSet::new();
    let left = wanted
        .iter()
        .filter(|rule| !held.iter().any(|own| own.covers(rule)));
    for rule in left {
        if rule.size() > LARGEST {
            lines.insert("a rule with too many parts".to_owned());
            continue;
        }
        for atom in rule
            .atoms()
            .filter(|atom| !held.iter().any(|own| own.covers(atom)))
        {
            if atom.urls.is_empty() {
                verbs
                    .entry((atom.groups, atom.resources, atom.names))
                    .or_default()
                    .extend(atom.verbs);
            } else {
                lines.insert(atom.to_string());
            }
        }
    }
    let gathered = |((groups, resources, names), verbs)| Rule {
        verbs,
        groups,
        resources,
        names,
        urls: Vec::new(),
    };
    lines.extend(verbs.into_iter().map(gathered).map(|rule| rule.to_string()));
    lines.into_iter().collect()
}

fn has(items: &[String], wanted: &str) -> bool {
    items.iter().any(|item| item == "*" || item == wanted)
}

fn resource_matches(own: &str, resource: &str, subresource: &str) -> bool {
    if own == "*" || subresource.is_empty() {
        return own == "*" || own == resource;
    }
    let before = own
        .strip_suffix(subresource)
        .and_then(|rest| rest.strip_suffix('/'));
    before.is_some_and(|before| before == "*" || before == resource)
}

fn url_covers(own: &str, path: &str) -> bool {
    own == path || own.ends_with('*') && path.starts_with(own.trim_end_matches('*'))
}

fn shown(parts: &[(&str, &Vec<String>)]) -> Value {
    let parts = parts.iter().filter(|(_, items)| !items.is_empty());
    parts
        .map(|(name, items)| ((*name).to_owned(), Value::from((*items).clone())))
        .collect::<Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::authz::attributes::Resource;

    #[test]
    fn a_rule_allows_what_it_names_and_no_more() {
        let pods = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/scale", "jobs/log"]});
        let named = json!({"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"], "resourceNames": ["a"]});
        let ask = |verb, group, resource, subresource, name| {
            Question::of(
                verb,
                Resource {
                    group,
                    resource,
                    subresource,
                    namespace: "n",
                    name,
                },
            )
        };
        let table = [
            (&pods, ask("get", "", "pods", "", "x"), true),
            (&pods, ask("watch", "", "pods", "", "x"), false),
            (&pods, ask("get", "apps", "pods", "", "x"), false),
            (&pods, ask("get", "", "pods", "log", "x"), false),
            (&pods, ask("get", "", "pods", "scale", "x"), true),
            (&pods, ask("get", "", "jobs", "log", "x"), true),
            (&pods, ask("get", "", "jobs", "", "x"), false),
            // Whoever asks about the words of a rule is answered by them.
            (&pods, ask("get", "", "*/scale", "", "x"), true),
            (
                &named,
                ask("delete", "apps", "deployments", "scale", "a"),
                true,
            ),
            (&named, ask("delete", "apps", "deployments", "", "b"), false),
            (&named, ask("list", "apps", "deployments", "", ""), false),
        ];
        for (rule, question, expect) in table {
            assert_eq!(Rule::read(rule).allows(&question), expect, "{question:?}");
        }
    }

    #[test]
    fn a_path_may_end_in_a_star() {
        let rule =
            Rule::read(&json!({"verbs": ["get"], "nonResourceURLs": ["/healthz", "/api/*"]}));
        for (verb, path, expect) in [
            ("get", "/healthz", true),
            ("get", "/healthz/x", false),
            ("get", "/api/", true),
            ("get", "/api/v1", true),
            ("get", "/api", false),
            ("post", "/healthz", false),
        ] {
            assert_eq!(
                rule.allows(&Question {
                    verb,
                    about: About::Path(path)
                }),
                expect,
                "{verb} {path}"
            );
        }
        let all = Rule::read(&json!({"verbs": ["*"], "nonResourceURLs": ["*"]}));
        assert!(all.allows(&Question {
            verb: "post",
            about: About::Path("/x")
        }));
    }

    #[test]
    fn what_is_missing_is_gathered_by_resource_and_sorted() {
        let held = Rule::read(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}));
        let wanted = [
            Rule::read(
                &json!({"verbs": ["get", "list"], "apiGroups": ["", "apps"], "resources": ["pods", "deployments"]}),
            ),
            Rule::read(
                &json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"]}),
            ),
            Rule::read(&json!({"verbs": ["get", "post"], "nonResourceURLs": ["/x"]})),
        ];
        let expect = [
            r#"{APIGroups:[""], Resources:["deployments"], Verbs:["get" "list"]}"#,
            r#"{APIGroups:[""], Resources:["pods"], Verbs:["list"]}"#,
            r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["get" "list"]}"#,
            r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["b"], Verbs:["get" "list"]}"#,
            r#"{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}"#,
            r#"{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}"#,
            r#"{NonResourceURLs:["/x"], Verbs:["get"]}"#,
            r#"{NonResourceURLs:["/x"], Verbs:["post"]}"#,
        ];
        assert_eq!(missing(&[held], &wanted), expect);
    }

    #[test]
    fn a_rule_of_too_many_parts_is_not_taken_apart() {
        let many: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
        let huge = Rule {
            verbs: many.clone(),
            groups: many.clone(),
            resources: many.clone(),
            names: many,
            urls: Vec::new(),
        };
        let all = Rule::read(&json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}));
        assert_eq!(
            missing(&[all], std::slice::from_ref(&huge)),
            Vec::<String>::new()
        );
        assert_eq!(missing(&[], &[huge]), ["a rule with too many parts"]);
    }

    #[test]
    fn a_wider_rule_covers_a_narrower_one() {
        let rule = |verbs: &[&str], resources: &[&str], names: &[&str]| {
            Rule::read(
                &json!({"verbs": verbs, "apiGroups": ["g"], "resources": resources, "resourceNames": names}),
            )
        };
        let table = [
            (
                rule(&["*"], &["*"], &[]),
                rule(&["get"], &["a", "a/status"], &["x"]),
                true,
            ),
            (
                rule(&["get"], &["*/status"], &[]),
                rule(&["get"], &["a/status"], &[]),
                true,
            ),
            (
                rule(&["get"], &["*/status"], &[]),
                rule(&["get"], &["a"], &[]),
                false,
            ),
            (
                rule(&["get"], &["a"], &["x"]),
                rule(&["get"], &["a"], &[]),
                false,
            ),
            (
                rule(&["get"], &["a"], &["x", "y"]),
                rule(&["get"], &["a"], &["y"]),
                true,
            ),
            (
                rule(&["get"], &["a"], &[]),
                rule(&["*"], &["a"], &[]),
                false,
            ),
            (
                rule(&["get"], &["a"], &[]),
                rule(&["get"], &["*"], &[]),
                false,
            ),
        ];
        for (held, wanted, expect) in table {
            assert_eq!(
                missing(std::slice::from_ref(&held), std::slice::from_ref(&wanted)).is_empty(),
                expect,
                "{held} {wanted}"
            );
        }
    }
}
