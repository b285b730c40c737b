//! What a new stack and its kind are called, in all the forms that files need.

use engine::Problem;

/// The names of a new stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// As it was given: `web-shop`.
    pub name: String,
    /// The group of its kind.
    pub group: String,
    /// The kind: `WebShop`.
    pub kind: String,
    /// The kind in small letters.
    pub singular: String,
    /// Many of it.
    pub plural: String,
}

impl Names {
    /// The version that a new kind has.
    pub const VERSION: &str = "v1alpha1";

    /// The names that follow from a name and a group, or what is wrong with these.
    pub fn new(name: &str, group: &str) -> Result<Names, Problem> {
        let label = name
            .split('-')
            .all(|part| !part.is_empty() && part.bytes().all(is_small))
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.len() <= 50;
        if !label {
            let words: Vec<&str> = name
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|word| !word.is_empty())
                .collect();
            let fit = words.join("-").to_ascii_lowercase();
            let fit = fit.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
            let example = if fit.is_empty() || fit.len() > 50 {
                "web-shop"
            } else {
                fit
            };
            let what = format!(
                "{name:?} cannot name a stack: it has at most 50 small letters, digits and single dashes, and begins \
                 with a letter"
            );
            return Err(Problem::general(what).hint(format!("for example `{example}`")));
        }
        if !objects::is_subdomain(group) || !group.contains('.') {
            let what =
                format!("{group:?} cannot be the group of a kind: it is a domain, with a dot");
            return Err(Problem::general(what).hint("for example `--group platform.example.org`"));
        }
        let is_below = |domain: &&str| {
            group
                .strip_suffix(*domain)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if ["k8s.io", "kubernetes.io"].iter().any(is_below) {
            let what = format!("the group `{group}` is reserved for Kubernetes");
            return Err(Problem::general(what)
                .hint("use a domain of your own: `--group platform.example.org`"));
        }
        let kind = pascal(name);
        if [name, &kind]
            .iter()
            .any(|word| !yaml::parse(word).is_ok_and(|value| value.is_string()))
        {
            let what = format!(
                "{name:?} cannot name a stack: YAML takes it for something else than a text"
            );
            return Err(Problem::general(what).hint(format!("for example `{name}-app`")));
        }
        let singular = kind.to_ascii_lowercase();
        let plural = plural(&singular);
        Ok(Names {
            name: name.to_string(),
            group: group.to_string(),
            kind,
            singular,
            plural,
        })
    }

    /// The directory of its templates, below `templates`.
    pub fn key(&self) -> String {
        format!("{}.{}/{}", self.singular, self.group, Names::VERSION)
    }

    /// What instances write as `apiVersion`.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, Names::VERSION)
    }

    /// The title that people read: `Web Shop`.
    pub fn title(&self) -> String {
        let words: Vec<String> = self.name.split('-').map(pascal).collect();
        words.join(" ")
    }
}

fn is_small(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// `web-shop` as `WebShop`.
pub(super) fn pascal(name: &str) -> String {
    let mut text = String::new();
    for part in name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
    {
        let (first, rest) = part.split_at(1);
        text.push_str(&first.to_ascii_uppercase());
        text.push_str(rest);
    }
    text
}

/// `web-shop` as `webShop`.
pub(super) fn camel(name: &str) -> String {
    let text = pascal(name);
    match text.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_lowercase() + rest,
        None => text,
    }
}

fn plural(singular: &str) -> String {
    let ends = |ending: &str| singular.ends_with(ending);
    let vowel_y = ["ay", "ey", "oy", "uy"].iter().any(|ending| ends(ending));
    match singular.strip_suffix('y') {
        Some(stem) if !vowel_y => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"]
            .iter()
            .any(|ending| ends(ending)) =>
        {
            format!("{singular}es")
        }
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn the_kind_and_its_plural_follow_from_the_name() {
        for (name, kind, plural) in [
            ("shop", "Shop", "shops"),
            ("web-shop", "WebShop", "webshops"),
            ("redis", "Redis", "redises"),
            ("proxy", "Proxy", "proxies"),
            ("gateway", "Gateway", "gateways"),
            ("box", "Box", "boxes"),
            ("a2b", "A2b", "a2bs"),
        ] {
            let names = Names::new(name, "example.org").unwrap();
            assert_eq!((names.kind.as_str(), names.plural.as_str()), (kind, plural));
        }
        assert_eq!(
            Names::new("web-shop", "example.org").unwrap().key(),
            "webshop.example.org/v1alpha1"
        );
        assert!(Names::new("shop", "myk8s.io").is_ok());
    }

    #[test]
    fn names_that_kubernetes_would_refuse_are_refused_with_one_that_it_takes() {
        for (name, group, hint) in [
            ("Web Shop", "example.org", "web-shop"),
            ("", "example.org", "web-shop"),
            ("9lives", "example.org", "lives"),
            ("a--b", "example.org", "a-b"),
            ("yes", "example.org", "yes-app"),
            ("null", "example.org", "null-app"),
            ("shop", "example", "--group"),
            ("shop", "Example.Org", "--group"),
            ("shop", "k8s.io", "a domain of your own"),
            ("shop", "apps.kubernetes.io", "a domain of your own"),
        ] {
            let problem = Names::new(name, group).unwrap_err();
            assert!(
                problem.hint.as_deref().unwrap_or_default().contains(hint),
                "{problem}"
            );
        }
    }
}
