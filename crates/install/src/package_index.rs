//! An index of packages: which image brings which kinds, so that an install can name a kind in
//! place of an image, and whoever lacks a kind learns what would bring it.

use std::collections::BTreeMap;

use api::key;
use objects::Gvk;
use package::image::{OWNED, REQUIRED};
use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Trouble;
use package::image::Reference;

/// Packages that can be had, and what each brings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// The packages, in any order and number of versions.
    #[serde(default)]
    pub packages: Vec<Entry>,
}

/// One version of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its image, with tag or digest or both.
    pub image: String,
    /// Its version.
    pub version: String,
    /// What it calls itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The kinds that it brings.
    #[serde(default)]
    pub owns: Vec<Kind>,
    /// The kinds that it depends on, as its `dependsOn` names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
}

/// A kind that a package brings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// As objects write it.
    pub kind: String,
    /// As URLs and roles write it.
    pub plural: String,
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
}

impl Entry {
    /// What an image says of itself in the annotations of its manifest; none if it is no package
    /// that tells.
    pub fn of_image(image: &Reference, annotations: &BTreeMap<String, String>) -> Option<Self> {
        let said = |key: &str| annotations.get(key).cloned().unwrap_or_default();
        let version = said("org.opencontainers.image.version");
        Some(Self {
            image: image.to_string(),
            version: if version.is_empty() {
                image.tag.clone().unwrap_or_default()
            } else {
                version
            },
            title: said("org.opencontainers.image.title"),
            owns: serde_json::from_str(annotations.get(OWNED)?).ok()?,
            requires: serde_json::from_str(annotations.get(REQUIRED)?).ok()?,
        })
    }

    fn brings(&self, wanted: &key::Reference) -> bool {
        self.owns
            .iter()
            .any(|own| wanted.means(&Gvk::new(&own.group, &own.version, &own.kind), &own.plural))
    }

    /// Versions of the same package are of the same repository.
    fn repository(&self) -> Option<(String, String)> {
        let image = Reference::parse(&self.image).ok()?;
        Some((image.registry, image.repository))
    }

    /// Releases before what comes before releases; what is no version comes last.
    fn rank(&self) -> (bool, Option<Version>) {
        let version = Version::parse(self.version.trim_start_matches('v')).ok();
        (
            version
                .as_ref()
                .is_some_and(|version| version.pre.is_empty()),
            version,
        )
    }
}

impl Index {
    /// Reads an index, in YAML or JSON.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = yaml::parse(text).map_err(|error| error.to_string())?;
        let index: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        for entry in &index.packages {
            Reference::parse(&entry.image).map_err(|bad| format!("{}: {}", bad.what, bad.hint))?;
        }
        Ok(index)
    }

    /// The newest version of each package that brings a kind.
    pub fn that_bring(&self, wanted: &key::Reference) -> Vec<&Entry> {
        let mut newest: BTreeMap<(String, String), &Entry> = BTreeMap::new();
        for entry in self.packages.iter().filter(|entry| entry.brings(wanted)) {
            let Some(repository) = entry.repository() else {
                continue;
            };
            let best = newest.entry(repository).or_insert(entry);
            if entry.rank() > best.rank() {
                *best = entry;
            }
        }
        newest.into_values().collect()
    }

    /// The image of the one package that brings a kind.
    pub fn find(&self, crd: &str) -> Result<Reference, Trouble> {
        let Some(wanted) = key::Reference::parse(crd) else {
            let what = format!("`{crd}` names no kind: write `<kind>.<group>/<version>`");
            return Err(Trouble::new("CRDNameInvalid", what));
        };
        match self.that_bring(&wanted).as_slice() {
            [] if self.packages.is_empty() => {
                let what = format!(
                    "nobody knows what brings {crd}: name the `package`, or start the stack manager with `--index FILE`"
                );
                Err(Trouble::new("NoIndex", what))
            }
            [] => {
                let what = format!("no package of the index brings {crd}: name the `package`");
                Err(Trouble::new("CRDNotFound", what))
            }
            [one] => Reference::parse(&one.image)
                .map_err(|bad| Trouble::new("IndexInvalid", format!("{}: {}", bad.what, bad.hint))),
            several => {
                let images: Vec<&str> = several.iter().map(|entry| entry.image.as_str()).collect();
                let what = format!(
                    "{} all bring {crd}: name one of them as the `package`",
                    images.join(", ")
                );
                Err(Trouble::new("CRDAmbiguous", what))
            }
        }
    }

    /// Whether some version of some package that brings a kind has this image.
    pub fn knows(&self, crd: &str, image: &Reference) -> bool {
        let Some(wanted) = key::Reference::parse(crd) else {
            return false;
        };
        let same = |entry: &&Entry| {
            Reference::parse(&entry.image).is_ok_and(|found| {
                found.registry == image.registry
                    && found.repository == image.repository
                    && found.tag == image.tag
            })
        };
        self.packages
            .iter()
            .filter(|entry| entry.brings(&wanted))
            .any(|entry| same(&entry))
    }

    /// What to install for kinds that are not there, as far as the index knows.
    pub fn advice(&self, missing: &[String]) -> String {
        let known = missing.iter().filter_map(|text| {
            let found = self.that_bring(&key::Reference::parse(text)?);
            let images: Vec<&str> = found.iter().map(|entry| entry.image.as_str()).collect();
            (!images.is_empty()).then(|| format!("{} brings {text}", images.join(" or ")))
        });
        let known: Vec<String> = known.collect();
        if known.is_empty() {
            "install what brings them".to_owned()
        } else {
            known.join("; ")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Entry, Index};
    use package::image::Reference;

    fn index() -> Index {
        Index::read(
            "packages:\n\
             - {image: 'r.org/redis:1.2.0', version: 1.2.0, owns: [{kind: Redis, plural: redises, group: example.org, version: v1}]}\n\
             - {image: 'r.org/redis:1.10.0', version: 1.10.0, owns: [{kind: Redis, plural: redises, group: example.org, version: v1}]}\n\
             - {image: 'r.org/redis:2.0.0-rc.1', version: 2.0.0-rc.1, owns: [{kind: Redis, plural: redises, group: example.org, version: v1}]}\n\
             - {image: 'r.org/mysql:1.0.0', version: 1.0.0, owns: [{kind: Mysql, plural: mysqls, group: db.org, version: v1}]}\n\
             - {image: 'other.org/mysql:3.0.0', version: 3.0.0, owns: [{kind: Mysql, plural: mysqls, group: db.org, version: v1}]}\n",
        )
        .unwrap()
    }

    #[test]
    fn a_kind_is_found_by_any_of_its_names_in_the_newest_release() {
        let index = index();
        for name in [
            "redis.example.org/v1",
            "Redis.example.org/v1",
            "redises.example.org/v1",
            "example.org/v1",
        ] {
            assert_eq!(
                index.find(name).unwrap().to_string(),
                "r.org/redis:1.10.0",
                "{name}"
            );
        }
        for (name, reason, says) in [
            (
                "redis.example.org/v2",
                "CRDNotFound",
                "no package of the index brings redis.example.org/v2",
            ),
            (
                "mysql.db.org/v1",
                "CRDAmbiguous",
                "other.org/mysql:3.0.0, r.org/mysql:1.0.0 all bring mysql.db.org/v1",
            ),
            ("redis", "CRDNameInvalid", "`redis` names no kind"),
        ] {
            let trouble = index.find(name).unwrap_err();
            assert_eq!(trouble.reason, reason);
            assert!(trouble.message.contains(says), "{}", trouble.message);
        }
        let trouble = Index::default().find("redis.example.org/v1").unwrap_err();
        assert!(
            trouble.reason == "NoIndex" && trouble.message.contains("--index"),
            "{trouble:?}"
        );
        let old = Reference::parse("r.org/redis:1.2.0").unwrap();
        assert!(index.knows("redis.example.org/v1", &old) && !index.knows("mysql.db.org/v1", &old));
    }

    #[test]
    fn who_lacks_a_kind_learns_what_brings_it() {
        let missing = ["redis.example.org/v1".to_owned(), "x.y/v1".to_owned()];
        assert_eq!(
            index().advice(&missing),
            "r.org/redis:1.10.0 brings redis.example.org/v1"
        );
        assert_eq!(index().advice(&missing[1..]), "install what brings them");
    }

    #[test]
    fn an_image_tells_what_it_brings() {
        let image = Reference::parse("r.org/redis:1.2.0").unwrap();
        let mut said = BTreeMap::from([
            (
                "stacks.crossplane.io/owned-crds".to_owned(),
                r#"[{"kind":"Redis","plural":"redises","group":"example.org","version":"v1"}]"#
                    .to_owned(),
            ),
            (
                "stacks.crossplane.io/required-crds".to_owned(),
                r#"["deployment.apps/v1"]"#.to_owned(),
            ),
            (
                "org.opencontainers.image.title".to_owned(),
                "Redis".to_owned(),
            ),
        ]);
        let entry = Entry::of_image(&image, &said).unwrap();
        assert_eq!(
            (entry.version.as_str(), entry.title.as_str()),
            ("1.2.0", "Redis")
        );
        let index = Index {
            packages: vec![entry],
        };
        assert_eq!(index.find("redis.example.org/v1").unwrap(), image);
        said.remove("stacks.crossplane.io/owned-crds");
        assert_eq!(Entry::of_image(&image, &said), None);
    }

    #[test]
    fn what_is_no_index_is_said() {
        for (text, says) in [
            (
                "packages: [{image: 'No Image', version: 1.0.0}]",
                "`No Image` is no name of an image",
            ),
            ("packages: [{version: 1.0.0}]", "missing field `image`"),
            ("package: []", "unknown field `package`"),
            ("packages: [", "did not find expected"),
        ] {
            let error = Index::read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
