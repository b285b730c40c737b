//! The names of objects that Cairn makes, and values cut so that Kubernetes takes them.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The most characters of a label value.
pub const LABEL_VALUE: usize = 63;

/// On an install: it may go only after what it installed.
pub const INSTALL_FINALIZER: &str = "stacks.crossplane.io/install";
/// On a Stack: it may go only after its instances, its controller and its roles.
pub const STACK_FINALIZER: &str = "stacks.crossplane.io/stack";
/// On an instance: it may go only after children that need an order, or that the garbage collector
/// cannot see.
pub const CHILDREN_FINALIZER: &str = "stacks.crossplane.io/children";

/// What a ClusterRole of a stack is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The stack's own controller.
    System,
    /// Whoever administrates objects of the stack's kinds.
    Admin,
    /// Whoever edits objects of the stack's kinds.
    Edit,
    /// Whoever looks at objects of the stack's kinds.
    View,
    /// The owned kinds alone, for others to bind.
    Types,
    /// What the stack's own controller needs in the stack's own namespace; a Role.
    Own,
    /// The stack's own seed, in the namespace of the stack manager; a Role.
    Seed,
}

impl Role {
    /// The last part of the role's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Admin => "admin",
            Self::Edit => "edit",
            Self::View => "view",
            Self::Types => "types",
            Self::Own => "own",
            Self::Seed => "seed",
        }
    }
}

/// The ClusterRole of a stack.
pub fn role(namespace: &str, stack: &str, role: Role) -> String {
    format!("stack:{namespace}:{stack}:{}", role.as_str())
}

/// The ClusterRole of a persona (`admin`, `edit` or `view`) in a namespace.
pub fn persona(namespace: &str, persona: &str) -> String {
    format!("crossplane:ns:{namespace}:{persona}")
}

/// The label key of what is in use in a namespace.
pub fn namespace_label(namespace: &str) -> String {
    format!("{}{namespace}", crate::labels::NAMESPACE_PREFIX)
}

/// The Deployment that runs the controller which a stack's package brings.
pub fn controller(stack: &str) -> String {
    workload(stack, "-controller")
}

/// The Deployment that renders a stack's templates.
pub fn templates(stack: &str) -> String {
    workload(stack, "-templates")
}

/// The Secret in the stack manager's namespace that the generated values of a stack begin with. A
/// namespace has no dot in its name, so that no two stacks share it.
pub fn seed(namespace: &str, stack: &str) -> String {
    cut(&format!("seed.{namespace}.{stack}"), NAME)
}

/// The Secret in the stack manager's namespace with the key that it signs what it creates with.
pub const SIGNING_KEY: &str = "stack-manager-key";

/// The ServiceAccount of a stack.
pub fn account(stack: &str) -> String {
    cut(&format!("stack-{stack}"), NAME)
}

/// The ServiceAccount of a stack where [`account`] is the name of an account that the stack manager
/// did not create.
pub fn other_account(namespace: &str, stack: &str) -> String {
    let name = cut(&format!("stack-{stack}"), NAME - HASH);
    format!("{name}-{}", hash(&format!("account {namespace}/{stack}")))
}

/// The namespace of a ClusterStackInstall's Stack, below the one that the stack manager was given.
pub fn cluster_stack(base: &str, install: &str) -> String {
    cut(&format!("{base}-{install}").replace('.', "-"), LABEL_VALUE)
}

/// The namespace of a ClusterStackInstall's Stack where [`cluster_stack`] is a namespace that the
/// stack manager did not create. It depends on the install's uid, so that nobody knows it
/// beforehand.
pub fn other_cluster_stack(base: &str, install: &str, uid: &str) -> String {
    let name = cut(&cluster_stack(base, install), LABEL_VALUE - HASH);
    format!(
        "{}-{}",
        name.trim_end_matches('-'),
        hash(&format!("namespace {install} {uid}"))
    )
}

fn workload(stack: &str, suffix: &str) -> String {
    format!("{}{suffix}", cut(stack, LABEL_VALUE - suffix.len()))
}

/// The field manager of a stack in server-side apply, which takes 128 characters.
pub fn field_manager(namespace: &str, stack: &str) -> String {
    cut(&format!("stack:{namespace}:{stack}"), 128)
}

/// The label key by which an install marks CRDs that it needs, under
/// [`crate::labels::PARENT_PREFIX`]. An install of the whole cluster has no namespace.
pub fn parent_label(namespace: &str, install: &str) -> String {
    // Neither a dot nor an underscore can be in the name of a namespace, so that no two installs
    // share a key.
    let namespace = if namespace.is_empty() {
        "cluster_"
    } else {
        namespace
    };
    format!(
        "{}{}",
        crate::labels::PARENT_PREFIX,
        cut(&format!("{namespace}.{install}"), LABEL_VALUE)
    )
}

/// A text as a label value: what is too long is cut and ends in a hash, what is not allowed is
/// replaced and gets one.
///
/// Different texts have different values, as far as eight hexadecimal digits can tell.
pub fn label_value(text: &str) -> String {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let sound =
        bytes.iter().all(|byte| allowed(*byte)) && edge(bytes.first()) && edge(bytes.last());
    if sound && text.len() <= LABEL_VALUE {
        return text.to_owned();
    }
    let clean: String = bytes
        .iter()
        .map(|byte| {
            if allowed(*byte) {
                char::from(*byte)
            } else {
                '-'
            }
        })
        .collect();
    let clean = clean.trim_start_matches(|first: char| !first.is_ascii_alphanumeric());
    let short = &clean[..clean.len().min(LABEL_VALUE - HASH)];
    let short = short.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
    let hash = hash(text);
    if short.is_empty() {
        hash
    } else {
        format!("{short}-{hash}")
    }
}

/// The most characters of most names.
const NAME: usize = 253;
/// A dash and eight digits.
const HASH: usize = 9;

/// A name cut to `most` bytes, ending in a hash if it was longer.
fn cut(name: &str, most: usize) -> String {
    if name.len() <= most {
        return name.to_owned();
    }
    let mut end = most.saturating_sub(HASH);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!(
        "{}-{}",
        name[..end].trim_end_matches(['.', '-', ':']),
        hash(name)
    )
}

fn hash(text: &str) -> String {
    let mut hex = String::with_capacity(8);
    for byte in Sha256::digest(text.as_bytes()).iter().take(4) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::{
        LABEL_VALUE, Role, account, cluster_stack, controller, field_manager, label_value,
        other_account, other_cluster_stack, parent_label, persona, role, seed,
    };

    #[test]
    fn a_label_value_is_kept_if_it_can_be() {
        for text in ["", "a", "web", "v1.2_3-x", &"a".repeat(63)] {
            assert_eq!(label_value(text), text);
        }
    }

    #[test]
    fn a_label_value_is_one_whatever_the_text_and_tells_texts_apart() {
        let long = "a".repeat(100);
        let longer = "a".repeat(101);
        let texts = [
            &*long,
            &*longer,
            "so/can/this/name",
            "-",
            "-a",
            "a-",
            "ä",
            "/",
            &format!("{}.x", "b".repeat(53)),
            &"é".repeat(200),
        ];
        let mut values = Vec::new();
        for text in texts {
            let value = label_value(text);
            let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            assert!(
                value.len() <= LABEL_VALUE && value.bytes().all(sound),
                "{text} {value}"
            );
            assert!(
                value.starts_with(|c: char| c.is_ascii_alphanumeric()),
                "{text} {value}"
            );
            assert!(
                value.ends_with(|c: char| c.is_ascii_alphanumeric()),
                "{text} {value}"
            );
            assert!(!values.contains(&value), "{text} {value}");
            values.push(value);
        }
        assert_eq!(label_value(&long).len(), LABEL_VALUE);
    }

    #[test]
    fn names_are_predictable_and_fit() {
        assert_eq!(
            role("team-a", "redis", Role::System),
            "stack:team-a:redis:system"
        );
        assert_eq!(persona("team-a", "view"), "crossplane:ns:team-a:view");
        assert_eq!(controller("redis"), "redis-controller");
        assert_eq!(field_manager("team-a", "redis"), "stack:team-a:redis");
        assert_eq!(
            parent_label("team-a", "redis"),
            "parent.stacks.crossplane.io/team-a.redis"
        );
        assert_eq!(
            parent_label("", "redis"),
            "parent.stacks.crossplane.io/cluster_.redis"
        );
        assert_ne!(parent_label("a-b", "c"), parent_label("a", "b-c"));
        let long = "s".repeat(253);
        assert_eq!(controller(&long).len(), LABEL_VALUE);
        assert_eq!(field_manager("n", &long).len(), 128);
        assert_ne!(controller(&long), controller(&"s".repeat(252)));
        assert_eq!(seed("team-a", "redis"), "seed.team-a.redis");
        assert_eq!(account("redis"), "stack-redis");
        assert_eq!(
            (
                account(&long).len(),
                other_account("n", &long).len(),
                seed("n", &long).len()
            ),
            (253, 253, 253)
        );
        assert_ne!(other_account("n", "redis"), other_account("m", "redis"));
        assert_eq!(
            cluster_stack("cairn-stacks", "redis.v1"),
            "cairn-stacks-redis-v1"
        );
        for name in [
            cluster_stack("base", &long),
            other_cluster_stack("base", &long, "u"),
        ] {
            assert!(name.len() <= LABEL_VALUE && !name.ends_with('-'), "{name}");
        }
        assert_ne!(
            other_cluster_stack("b", "a", "u"),
            other_cluster_stack("b", "a", "v")
        );
    }
}
