//! Limits per namespace: how many installs, Stacks and instances, and how many bytes of packages.
//! The oldest are served first, so that whoever creates more harms nobody but the newcomer.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Trouble;
use engine::limits::LIMIT_REACHED;

/// How much each namespace may have. What belongs to the whole cluster is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// StackInstalls.
    pub installs: u64,
    /// Stacks, those of installs among them.
    pub stacks: u64,
    /// Instances of the kinds of all its Stacks together.
    pub instances: u64,
    /// Bytes of the files in the packages of all installs together.
    pub package_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            installs: 100,
            stacks: 100,
            instances: 10_000,
            package_bytes: 256 << 20,
        }
    }
}

/// One of the objects of a namespace that a limit counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// When it was created, as Kubernetes writes it: in whole seconds.
    pub created: String,
    /// Whether it has its place already, of those of the same second.
    pub standing: Standing,
    /// Its name.
    pub name: String,
    /// The bytes of its package, as far as they are known.
    pub bytes: u64,
    /// How many instances it has.
    pub instances: u64,
}

impl Member {
    /// The order in which those of a namespace are served.
    fn order(&self) -> (&str, Standing, &str) {
        (&self.created, self.standing, &self.name)
    }
}

/// Whether an object has its place already. Of the same second, who has it keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is served.
    Served,
    /// Nothing was said of it yet.
    New,
    /// It was told that there are too many.
    Limited,
}

impl Standing {
    /// By what an object says of itself, which only the stack manager writes.
    pub fn of(object: &Value) -> Self {
        match object["status"]["conditions"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
        {
            [] => Self::New,
            conditions
                if conditions
                    .iter()
                    .any(|condition| condition["reason"] == LIMIT_REACHED) =>
            {
                Self::Limited
            }
            _ => Self::Served,
        }
    }
}

impl Limits {
    /// Reads `installs=50,stacks=50,instances=500,package-bytes=64Mi`; what is not named is as
    /// before.
    pub fn read(self, text: &str) -> Result<Self, String> {
        let mut limits = self;
        for entry in text
            .split(',')
            .map(str::trim)
            .filter(|entry| !entry.is_empty())
        {
            let (name, value) = entry.split_once('=').ok_or_else(|| {
                format!("`{entry}` is not a valid limit: write NAME=NUMBER, such as `installs=50`")
            })?;
            let number = quantity(value.trim()).ok_or_else(|| {
                format!("`{value}` is not a valid number for the limit `{name}`: write 50, 64Mi or `unlimited`")
            })?;
            match name.trim() {
                "installs" => limits.installs = number,
                "stacks" => limits.stacks = number,
                "instances" => limits.instances = number,
                "package-bytes" => limits.package_bytes = number,
                other => {
                    return Err(format!(
                        "unknown limit `{other}`: use installs, stacks, instances or package-bytes"
                    ));
                }
            }
        }
        Ok(limits)
    }

    /// Why an install of a namespace is not served; `all` are those of the namespace, itself among
    /// them.
    pub fn install(&self, namespace: &str, name: &str, all: &[Member]) -> Option<Trouble> {
        let ahead = ahead(name, all);
        if let Some(trouble) = over(
            namespace,
            "StackInstalls",
            "installs",
            self.installs,
            &ahead,
        ) {
            return Some(trouble);
        }
        let own = all
            .iter()
            .find(|member| member.name == name)
            .map_or(0, |own| own.bytes);
        let before: u64 = ahead
            .iter()
            .map(|member| member.bytes)
            .fold(0, u64::saturating_add);
        let total = before.saturating_add(own);
        (own > 0 && total > self.package_bytes).then(|| {
            let message = format!(
                "the limit package-bytes={} of the namespace {namespace} is reached: older installs use {before} bytes \
                 and this package has {own}; delete an install, or ask your cluster administrator to raise the limit",
                self.package_bytes
            );
            Trouble::new(LIMIT_REACHED, message)
        })
    }

    /// Why a Stack of a namespace is not served; `all` are those of the namespace, itself among
    /// them.
    pub fn stack(&self, namespace: &str, name: &str, all: &[Member]) -> Option<Trouble> {
        over(
            namespace,
            "Stacks",
            "stacks",
            self.stacks,
            &ahead(name, all),
        )
    }

    /// How many instances each Stack of a namespace may serve, by its name: what the older ones
    /// leave. Nothing while all of them together are within the limit, so that nothing is written
    /// below the limit.
    pub fn shares<'m>(&self, all: &'m [Member]) -> BTreeMap<&'m str, u64> {
        let total = all
            .iter()
            .map(|member| member.instances)
            .fold(0, u64::saturating_add);
        if total <= self.instances {
            return BTreeMap::new();
        }
        let mut order: Vec<&Member> = all.iter().collect();
        order.sort_by(|one, other| one.order().cmp(&other.order()));
        let mut left = self.instances;
        let share = |member: &'m Member| {
            let share = left;
            left = left.saturating_sub(member.instances);
            (member.name.as_str(), share)
        };
        order.into_iter().map(share).collect()
    }
}

/// Those that are served before one: the older ones, and of the same second those that have their
/// place already, and then those whose names come first.
fn ahead<'m>(name: &str, all: &'m [Member]) -> Vec<&'m Member> {
    let Some(own) = all.iter().find(|member| member.name == name) else {
        return Vec::new();
    };
    all.iter()
        .filter(|member| member.order() < own.order())
        .collect()
}

fn over(namespace: &str, kind: &str, limit: &str, most: u64, ahead: &[&Member]) -> Option<Trouble> {
    let count = ahead.len() as u64;
    (count >= most).then(|| {
        let message = format!(
            "the limit {limit}={most} of the namespace {namespace} is reached: {count} older {kind} are served first; \
             delete one of them, or ask your cluster administrator to raise the limit"
        );
        Trouble::new(LIMIT_REACHED, message)
    })
}

/// A whole number with the suffixes of Kubernetes' quantities, or `unlimited`.
pub fn quantity(text: &str) -> Option<u64> {
    const SUFFIXES: [(&str, u64); 6] = [
        ("Ki", 1 << 10),
        ("Mi", 1 << 20),
        ("Gi", 1 << 30),
        ("k", 1000),
        ("M", 1_000_000),
        ("G", 1_000_000_000),
    ];
    if text == "unlimited" {
        return Some(u64::MAX);
    }
    let suffix = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, *factor)));
    let (digits, factor) = suffix.unwrap_or((text, 1));
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| plain)?
        .checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::{Limits, Member, Standing};

    #[test]
    fn limits_are_read_and_what_is_wrong_is_said() {
        let limits = Limits::default()
            .read("installs=50, package-bytes=64Mi")
            .unwrap();
        assert_eq!(
            limits,
            Limits {
                installs: 50,
                stacks: 100,
                instances: 10_000,
                package_bytes: 64 << 20
            }
        );
        assert_eq!(Limits::default().read("instances=7").unwrap().instances, 7);
        assert_eq!(
            Limits::default().read("stacks=unlimited").unwrap().stacks,
            u64::MAX
        );
        assert_eq!(Limits::default().read("").unwrap(), Limits::default());
        for (text, expected) in [
            (
                "installs",
                "`installs` is not a valid limit: write NAME=NUMBER, such as `installs=50`",
            ),
            (
                "installs=x",
                "`x` is not a valid number for the limit `installs`",
            ),
            (
                "installs=-1",
                "`-1` is not a valid number for the limit `installs`",
            ),
            ("installs=+1", "`+1` is not a valid number"),
            ("installs=", "`` is not a valid number"),
            (
                "package-bytes=99999999999999Gi",
                "is not a valid number for the limit `package-bytes`",
            ),
            (
                "pods=1",
                "unknown limit `pods`: use installs, stacks, instances or package-bytes",
            ),
        ] {
            let error = Limits::default().read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_oldest_are_served_and_only_the_newcomer_is_not() {
        let limits = Limits {
            installs: 3,
            stacks: 3,
            instances: 9,
            package_bytes: 100,
        };
        let member = |name: &str, created: &str, bytes| {
            let standing = if name == "aa" {
                Standing::Limited
            } else {
                Standing::New
            };
            Member {
                created: created.into(),
                standing,
                name: name.into(),
                bytes,
                instances: 0,
            }
        };
        let all = [
            member("d", "2026-01-01T00:00:04Z", 1),
            member("a", "2026-01-01T00:00:03Z", 30),
            member("b", "2026-01-01T00:00:01Z", 60),
            member("c", "2026-01-01T00:00:03Z", 20),
            member("aa", "2026-01-01T00:00:05Z", 0),
        ];
        for (name, says) in [
            ("b", None),
            ("a", None),
            (
                "c",
                Some("older installs use 90 bytes and this package has 20"),
            ),
            (
                "d",
                Some(
                    "the limit installs=3 of the namespace team is reached: 3 older StackInstalls",
                ),
            ),
            ("aa", Some("4 older StackInstalls are served first")),
            ("unknown", None),
        ] {
            let found = limits.install("team", name, &all);
            assert_eq!(found.is_some(), says.is_some(), "{name}: {found:?}");
            if let (Some(found), Some(says)) = (found, says) {
                assert!(
                    found.reason == "LimitReached" && found.message.contains(says),
                    "{}",
                    found.message
                );
            }
        }
        // A newcomer of the same second takes the place of none that has it, whatever its name.
        let same = |name: &str, standing| Member {
            standing,
            ..member(name, "2026-01-01T00:00:01Z", 0)
        };
        let mut all_at_once = vec![
            same("x", Standing::Served),
            same("y", Standing::Served),
            same("z", Standing::Served),
        ];
        all_at_once.push(same("a", Standing::New));
        for (name, served) in [("x", true), ("y", true), ("z", true), ("a", false)] {
            assert_eq!(
                limits.install("team", name, &all_at_once).is_none(),
                served,
                "{name}"
            );
        }
        assert!(limits.stack("team", "c", &all).is_none());
        let stack = limits.stack("team", "d", &all).unwrap();
        assert!(
            stack
                .message
                .starts_with("the limit stacks=3 of the namespace team is reached"),
            "{}",
            stack.message
        );
    }

    #[test]
    fn older_stacks_have_their_instances_before_younger_ones() {
        let limits = Limits {
            instances: 10,
            ..Limits::default()
        };
        let member = |name: &str, second: u32, instances| {
            let created = format!("2026-01-01T00:00:{second:02}Z");
            Member {
                created,
                standing: Standing::Served,
                name: name.into(),
                bytes: 0,
                instances,
            }
        };
        for (members, expected) in [
            (vec![], vec![]),
            (vec![member("a", 1, 10), member("b", 2, 0)], vec![]),
            (vec![member("a", 1, 11)], vec![("a", 10)]),
            (
                vec![
                    member("young", 3, 2),
                    member("old", 1, 6),
                    member("next", 2, 3),
                ],
                vec![("next", 4), ("old", 10), ("young", 1)],
            ),
            // What one has beyond its share takes nothing from the others that it would not have
            // taken anyway.
            (
                vec![member("a", 1, 50), member("b", 2, 1)],
                vec![("a", 10), ("b", 0)],
            ),
            (
                vec![member("a", 1, u64::MAX), member("b", 2, u64::MAX)],
                vec![("a", 10), ("b", 0)],
            ),
        ] {
            let found: Vec<(&str, u64)> = limits.shares(&members).into_iter().collect();
            assert_eq!(found, expected);
        }
    }
}
