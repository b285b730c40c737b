//! How many instances a stack serves, and how deep instances may make instances: a kind whose
//! templates make two of itself must not fill the cluster.

use std::fmt;
use std::str::FromStr;

use api::annotations;
use serde_json::Value;

/// The reason of a condition that tells of a limit.
pub const LIMIT_REACHED: &str = "LimitReached";

/// The limits of one stack. The defaults are those of `--instance-limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceLimits {
    /// How long a chain of instances that make instances may be.
    pub depth: usize,
    /// How many instances one instance may make.
    pub instance: usize,
    /// How many instances are served in one namespace.
    pub namespace: usize,
    /// How many instances are served in all.
    pub stack: usize,
}

impl Default for InstanceLimits {
    fn default() -> Self {
        Self {
            depth: 8,
            instance: 100,
            namespace: 10_000,
            stack: 50_000,
        }
    }
}

impl fmt::Display for InstanceLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            depth,
            instance,
            namespace,
            stack,
        } = self;
        write!(
            f,
            "depth={depth},instance={instance},namespace={namespace},stack={stack}"
        )
    }
}

impl FromStr for InstanceLimits {
    type Err = String;

    /// `depth=8,instance=100,namespace=10000,stack=50000`; what is left out has its default.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut limits = Self::default();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, number) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}` is not a valid NAME=NUMBER"))?;
            let place = match name {
                "depth" => &mut limits.depth,
                "instance" => &mut limits.instance,
                "namespace" => &mut limits.namespace,
                "stack" => &mut limits.stack,
                _ => {
                    return Err(format!(
                        "unknown limit `{name}`: use depth, instance, namespace or stack"
                    ));
                }
            };
            let number: usize = number
                .parse()
                .map_err(|_| format!("`{number}` is not a valid number"))?;
            *place = Some(number)
                .filter(|number| *number > 0)
                .ok_or_else(|| format!("`{name}` must be at least 1"))?;
        }
        Ok(limits)
    }
}

/// Where an instance stands among the others of its stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many instances are above it: that which made it, that which made that, and so on.
    pub depth: usize,
    /// Older ones that the same instance made.
    pub siblings: usize,
    /// Older ones in its namespace.
    pub neighbours: usize,
    /// Older ones in all.
    pub elders: usize,
}

impl InstanceLimits {
    /// Why an instance is not served, and what to do; none if it is. The oldest are served first.
    pub fn reached(&self, standing: Standing) -> Option<String> {
        let flag = |name: &str| format!("or raise `{name}` in `--instance-limits`");
        if standing.depth > self.depth {
            return Some(format!(
                "it is at the end of a chain of more than {} instances that make instances: put a condition on the \
                 template that makes them, {}",
                self.depth,
                flag("depth")
            ));
        }
        let (limit, where_to, name) = if standing.siblings >= self.instance {
            (
                self.instance,
                "the instance that made it already has",
                "instance",
            )
        } else if standing.neighbours >= self.namespace {
            (
                self.namespace,
                "in its namespace there are already",
                "namespace",
            )
        } else if standing.elders >= self.stack {
            (self.stack, "the stack already serves", "stack")
        } else {
            return None;
        };
        Some(format!(
            "{where_to} {limit} older instances, which is the limit: delete some, {}",
            flag(name)
        ))
    }

    /// Why an instance is not served though its stack could: so many of its stack are what its
    /// namespace has left, by `--limits` of the stack manager, and the older ones have them.
    pub fn beyond_share(share: u64, standing: Standing) -> Option<String> {
        (standing.neighbours as u64 >= share).then(|| {
            format!(
                "the limit of instances of its namespace is reached, and the Stack may have {share} of them, as older \
                 Stacks have theirs first: delete instances, or ask your cluster administrator to raise `instances` in \
                 `--limits`"
            )
        })
    }

    /// Why an instance does not make another one of its stack, which would be the `nth` that it
    /// makes, counted from zero. `others` are all that there are in its namespace and in all, and
    /// it is not one of them.
    pub fn may_make(
        &self,
        depth: usize,
        nth: usize,
        (here, all): (usize, usize),
    ) -> Option<String> {
        let standing = Standing {
            depth: depth + 1,
            siblings: nth,
            neighbours: here,
            elders: all,
        };
        self.reached(standing)
            .map(|why| format!("another instance is not created: {why}"))
    }
}

/// How many instances are above an instance, as the annotation says that its maker wrote. It counts
/// whether or not the instance names an owner: one that is to stay when its maker goes, or that
/// lies outside of its maker's namespace, has none. An edit gains little: the maker writes it
/// again, and all other limits count what is there.
pub fn depth_of(instance: &Value) -> usize {
    let text = instance["metadata"]["annotations"][annotations::DEPTH].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{InstanceLimits, Standing, depth_of};
    use crate::children::desired::desired;
    use crate::random::Seed;

    #[test]
    fn limits_are_read_as_they_are_written() {
        let limits = InstanceLimits {
            depth: 3,
            instance: 4,
            namespace: 5,
            stack: 6,
        };
        assert_eq!(limits.to_string().parse(), Ok(limits));
        assert_eq!("".parse(), Ok(InstanceLimits::default()));
        assert_eq!(
            " stack=6 ,depth=3".parse(),
            Ok(InstanceLimits {
                depth: 3,
                stack: 6,
                ..Default::default()
            })
        );
        for (text, error) in [
            ("depth", "`depth` is not a valid NAME=NUMBER"),
            (
                "width=3",
                "unknown limit `width`: use depth, instance, namespace or stack",
            ),
            ("depth=many", "`many` is not a valid number"),
            ("depth=-1", "`-1` is not a valid number"),
            ("stack=0", "`stack` must be at least 1"),
        ] {
            assert_eq!(
                text.parse::<InstanceLimits>(),
                Err(error.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_oldest_are_served_up_to_each_limit() {
        let limits = InstanceLimits {
            depth: 2,
            instance: 3,
            namespace: 4,
            stack: 5,
        };
        let at = |depth, siblings, neighbours, elders| Standing {
            depth,
            siblings,
            neighbours,
            elders,
        };
        for (standing, expected) in [
            (at(0, 0, 0, 0), None),
            (at(2, 2, 3, 4), None),
            (at(3, 0, 0, 0), Some("chain of more than 2 instances")),
            (
                at(0, 3, 0, 0),
                Some("the instance that made it already has 3"),
            ),
            (at(0, 0, 4, 0), Some("in its namespace there are already 4")),
            (at(0, 0, 0, 5), Some("the stack already serves 5")),
        ] {
            let why = limits.reached(standing);
            assert_eq!(why.is_some(), expected.is_some(), "{standing:?}: {why:?}");
            assert!(
                why.unwrap_or_default()
                    .contains(expected.unwrap_or_default()),
                "{standing:?}"
            );
        }
        assert_eq!(limits.may_make(1, 2, (3, 4)), None);
        for (depth, nth, others) in [
            (2, 0, (0, 0)),
            (0, 3, (0, 0)),
            (0, 0, (4, 0)),
            (0, 0, (0, 5)),
        ] {
            assert!(
                limits.may_make(depth, nth, others).is_some(),
                "{depth} {nth} {others:?}"
            );
        }
    }

    #[test]
    fn a_depth_that_is_not_a_number_is_none() {
        let made = |value: &Value, owners: Value| json!({ "metadata": { "annotations": { "stacks.crossplane.io/depth": value }, "ownerReferences": owners } });
        let of =
            |value: &Value| depth_of(&made(value, json!([{ "uid": "1", "controller": true }])));
        let cases = [
            (json!("3"), 3),
            (json!("-3"), 0),
            (json!("x"), 0),
            (json!(3), 0),
            (json!(null), 0),
        ];
        for (value, expected) in cases {
            assert_eq!(of(&value), expected, "{value}");
        }
        assert_eq!(
            depth_of(&made(&json!("3"), json!([]))),
            3,
            "what made it is not named"
        );
        assert_eq!(depth_of(&json!({})), 0);
    }

    /// Instances that make an instance each, of every sort: owned or to stay, in a namespace or in
    /// none, with any annotation that the template says of the depth itself.
    #[test]
    fn a_chain_ends_at_the_depth_whatever_ties_its_links() {
        let (seed, limits) = (
            Seed::new(*b"a seed for tests"),
            InstanceLimits {
                depth: 5,
                ..Default::default()
            },
        );
        for variant in 0..64_u32 {
            let (mut instance, mut links) = (
                json!({ "metadata": { "name": "w", "namespace": "a", "uid": "0" } }),
                0,
            );
            while limits.may_make(depth_of(&instance), 0, (0, 0)).is_none() {
                let bits = variant.rotate_left(links);
                let (is_orphan, is_namespaced, is_claimed) =
                    (bits & 1 == 1, bits & 2 == 2, bits & 4 == 4);
                let mut annotations = json!({});
                if is_orphan {
                    annotations["stacks.crossplane.io/deletion-policy"] = json!("Orphan");
                }
                if is_claimed {
                    annotations["stacks.crossplane.io/depth"] =
                        json!(["0", "-1", "x"][links as usize % 3]);
                }
                let owner = json!([{ "uid": instance["metadata"]["uid"], "controller": true }]);
                let made = json!({
                    "apiVersion": "example.org/v1", "kind": "Web",
                    "metadata": { "name": format!("w{links}"), "annotations": annotations, "ownerReferences": owner },
                });
                instance = desired(&made, &instance, is_namespaced, &seed, None);
                instance["metadata"]["uid"] = json!(links.to_string());
                if is_namespaced {
                    instance["metadata"]["namespace"] = json!("a");
                }
                links += 1;
                assert!(links <= 5, "variant {variant}: {instance}");
            }
            assert_eq!(links, 5, "variant {variant}");
        }
    }
}
