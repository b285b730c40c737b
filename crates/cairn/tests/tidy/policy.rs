//! The lists that the rules go by. A new crate, or a new dependency of a pure one, is a decision:
//! it is made here. The files that programs write are listed where they are stamped, in
//! `xtask/src/generated.rs`.

/// A crate that decides and does no I/O.
pub struct Pure {
    /// Its name.
    pub name: &'static str,
    /// It may use only those of a lower level, so that all goes in one direction.
    pub level: u8,
    /// The crates from outside that it may name.
    pub dependencies: &'static [&'static str],
}

/// The pure crates, those that are planned too.
pub const PURE: [Pure; 10] = [
    Pure {
        name: "yaml",
        level: 0,
        dependencies: &["memchr", "serde", "serde_json"],
    },
    Pure {
        name: "gocompat",
        level: 0,
        dependencies: &[
            "adler2",
            "aes",
            "blowfish",
            "ed25519-dalek",
            "hmac",
            "jiff",
            "memchr",
            "num-bigint",
            "p256",
            "regex",
            "scrypt",
            "serde_json",
            "sha1",
            "sha2",
            "thiserror",
        ],
    },
    Pure {
        name: "gotpl",
        level: 1,
        dependencies: &[
            "itoa",
            "memchr",
            "serde_json",
            "sha2",
            "smallvec",
            "stacker",
            "typed-arena",
        ],
    },
    Pure {
        name: "objects",
        level: 1,
        dependencies: &[
            "base64",
            "jiff",
            "json-patch",
            "kube-cel",
            "memchr",
            "regex",
            "regex-syntax",
            "serde",
            "serde_json",
            "stacker",
            "thiserror",
        ],
    },
    Pure {
        name: "api",
        level: 2,
        dependencies: &[
            "jiff",
            "k8s-openapi",
            "kube",
            "schemars",
            "semver",
            "serde",
            "serde_json",
            "sha2",
            "thiserror",
        ],
    },
    Pure {
        name: "templates",
        level: 3,
        dependencies: &["base64", "memchr", "serde", "serde_json"],
    },
    Pure {
        name: "package",
        level: 3,
        dependencies: &[
            "base64",
            "flate2",
            "regex",
            "ruzstd",
            "semver",
            "serde",
            "serde_json",
            "sha2",
            "tar",
            "thiserror",
        ],
    },
    Pure {
        name: "engine",
        level: 4,
        dependencies: &[
            "base64",
            "hmac",
            "jiff",
            "regex",
            "serde",
            "serde_json",
            "sha2",
            "similar",
            "thiserror",
        ],
    },
    Pure {
        name: "install",
        level: 5,
        dependencies: &[
            "base64",
            "hmac",
            "semver",
            "serde",
            "serde_json",
            "sha2",
            "thiserror",
        ],
    },
    Pure {
        name: "scaffold",
        level: 6,
        dependencies: &["serde_json"],
    },
];

/// Crates that act. They never use each other; `cairn` wires them, and in tests `testkit` does.
pub const SHELLS: [&str; 4] = ["apiserver", "controller", "registry", "web"];

/// The one place where everything meets.
pub const JOINT: &str = "cairn";
/// For tests: nothing that ships uses it.
pub const TESTKIT: &str = "testkit";
/// The chores; nothing uses it.
pub const XTASK: &str = "xtask";

/// No pure crate reaches one of these, by whatever way: they do I/O, keep time, or draw random
/// numbers.
pub const IO: [&str; 26] = [
    "async-std",
    "axum",
    "curl",
    "fastrand",
    "getrandom",
    "h2",
    "hyper",
    "hyper-util",
    "kube-client",
    "kube-runtime",
    "mio",
    "native-tls",
    "notify",
    "openssl",
    "rand",
    "reqwest",
    "ring",
    "rustix",
    "rustls",
    "smol",
    "socket2",
    "tempfile",
    "tokio",
    "tower-http",
    "ureq",
    "walkdir",
];

/// Ways that are no fault after all: the pure crate, what it reaches, and why that is no I/O.
pub const HARMLESS: [(&str, &str, &str); 0] = [];

/// Features of `serde_json` that would change what every crate reads, since features are shared.
pub const JSON_FEATURES: [&str; 2] = ["arbitrary_precision", "preserve_order"];

/// What a pure crate's sources do not name outside their tests. An IP address is a value, a socket
/// is not.
pub const IMPURE: [&str; 20] = [
    "std::env",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::os",
    "std::process",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::time::Instant",
    "std::time::SystemTime",
    "std::collections::hash_map::RandomState",
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    "jiff::tz::TimeZone::system",
    "jiff::tz::TimeZone::get",
];

/// The most tokens of a source file, comments aside; most have less than 3,000. Lines would count
/// how it is formatted.
pub const TOKENS: usize = 8_000;
