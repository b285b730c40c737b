//! Which image an install means: the name of a package, and the registry that is put before names
//! without one.

use std::fmt;

use super::is_tag;

/// An image in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The host, with its port.
    pub registry: String,
    /// The path of the repository.
    pub repository: String,
    /// The tag; `latest` where neither a tag nor a digest was given.
    pub tag: Option<String>,
    /// The digest, `sha256:...`, which counts more than the tag.
    pub digest: Option<String>,
}

/// A text that names no image, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadReference {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

impl fmt::Display for BadReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for BadReference {}

/// Where tools of containers look for images that name no registry.
const DOCKER: &str = "docker.io";

impl Reference {
    /// The image of a package. A package that names its registry keeps it; others get `source`,
    /// which may have a path after its host, and without one what all tools of containers take.
    pub fn resolve(package: &str, source: &str) -> Result<Self, BadReference> {
        let source = source.trim_matches('/');
        if has_registry(package) || source.is_empty() {
            return Self::parse(package);
        }
        let (host, _) = source.split_once('/').unwrap_or((source, ""));
        if !is_host(host) {
            return Err(BadReference {
                what: format!("the source `{source}` begins with no host"),
                hint: "write `registry.example.org`, `registry.example.org:5000` or `registry.example.org/team`".into(),
            });
        }
        Self::parse(&format!("{source}/{package}"))
    }

    /// Reads `[host/]path[:tag][@digest]`.
    pub fn parse(text: &str) -> Result<Self, BadReference> {
        let bad = |what: String, hint: &str| {
            Err(BadReference {
                what,
                hint: hint.to_owned(),
            })
        };
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        if let Some(digest) = digest
            && !is_digest(digest)
        {
            return bad(
                format!("`{digest}` in `{text}` is no digest"),
                "a digest is `sha256:` and 64 hexadecimal digits",
            );
        }
        // A colon after the last slash begins a tag; before it, a port.
        let slash = rest.rfind('/').map_or(0, |at| at + 1);
        let (name, tag) = match rest[slash..].find(':') {
            Some(colon) => (&rest[..slash + colon], Some(&rest[slash + colon + 1..])),
            None => (rest, None),
        };
        if let Some(tag) = tag
            && !is_tag(tag)
        {
            return bad(
                format!("`{tag}` in `{text}` is no tag"),
                "a tag has up to 128 letters, digits, `_`, `.` and `-`, and begins with neither `.` nor `-`",
            );
        }
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if is_host(first) => (first, path.to_owned()),
            Some(_) => (DOCKER, name.to_owned()),
            None => (DOCKER, format!("library/{name}")),
        };
        if name.is_empty() || path.len() > 255 || !path.split('/').all(is_path_part) {
            return bad(
                format!("`{text}` is no name of an image"),
                "write `[registry/]path[:tag][@sha256:...]`; a path has small letters, digits and `.`, `_`, `-`, `/` \
                 between them",
            );
        }
        let tag = match (tag, digest) {
            (Some(tag), _) => Some(tag.to_owned()),
            (None, Some(_)) => None,
            (None, None) => Some("latest".to_owned()),
        };
        Ok(Self {
            registry: registry.to_owned(),
            repository: path,
            tag,
            digest: digest.map(str::to_owned),
        })
    }

    /// The same image, by digest.
    #[must_use]
    pub fn at(&self, digest: &str) -> Self {
        Self {
            digest: Some(digest.to_owned()),
            ..self.clone()
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(formatter, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(formatter, "@{digest}"),
            None => Ok(()),
        }
    }
}

/// Whether the name of an image begins with a registry.
fn has_registry(image: &str) -> bool {
    image
        .split_once('/')
        .is_some_and(|(first, _)| is_host(first))
}

/// Whether the first part of a name is a host rather than a directory: it has a dot or a port, or
/// is `localhost`.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !text.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port_sound = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let address = bracketed
        && host[1..host.len() - 1]
            .parse::<std::net::Ipv6Addr>()
            .is_ok();
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    let named =
        host.split('.').all(part) && (host.contains('.') || port.is_some() || host == "localhost");
    port_sound && (address || named)
}

fn is_path_part(part: &str) -> bool {
    let inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let edge = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = part.as_bytes();
    let sound = bytes.iter().all(|byte| inner(*byte)) && edge(bytes.first()) && edge(bytes.last());
    sound && !part.contains("..")
}

fn is_digest(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64
            && hex
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::Reference;

    #[test]
    fn a_package_keeps_its_registry_and_others_get_the_source() {
        for (package, source, expected) in [
            (
                "crossplane/stack-gcp:v0.1.0",
                "registry.crossplane.io",
                "registry.crossplane.io/crossplane/stack-gcp:v0.1.0",
            ),
            (
                "gitlab",
                "registry.crossplane.io",
                "registry.crossplane.io/gitlab:latest",
            ),
            ("gitlab", "", "docker.io/library/gitlab:latest"),
            ("team/gitlab", "", "docker.io/team/gitlab:latest"),
            (
                "gitlab:1",
                "/localhost:5000/team/",
                "localhost:5000/team/gitlab:1",
            ),
            (
                "docker.io/foo/bar",
                "registry.example.org",
                "docker.io/foo/bar:latest",
            ),
            ("localhost/a", "registry.example.org", "localhost/a:latest"),
            (
                "127.0.0.1:5000/a/b:x",
                "registry.example.org",
                "127.0.0.1:5000/a/b:x",
            ),
            ("[::1]:5000/a", "", "[::1]:5000/a:latest"),
            ("[::1]/a", "", "[::1]/a:latest"),
            ("a__b/c-d.e", "r.io", "r.io/a__b/c-d.e:latest"),
        ] {
            let found = Reference::resolve(package, source).map(|reference| reference.to_string());
            assert_eq!(found.as_deref(), Ok(expected), "{package} from {source}");
        }
    }

    #[test]
    fn a_digest_is_enough_and_stands_beside_a_tag() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let only = Reference::parse(&format!("r.io/a@{digest}")).unwrap();
        assert_eq!(
            (only.tag.as_deref(), only.digest.as_deref()),
            (None, Some(digest.as_str()))
        );
        let both = Reference::parse(&format!("r.io/a:1.0@{digest}")).unwrap();
        assert_eq!(both.to_string(), format!("r.io/a:1.0@{digest}"));
        assert_eq!(Reference::parse("r.io/a:1.0").unwrap().at(&digest), both);
    }

    #[test]
    fn what_names_no_image_is_said() {
        for (package, source, expected) in [
            ("", "", "`` is no name of an image"),
            ("Upper/case", "", "`Upper/case` is no name of an image"),
            ("a b", "", "`a b` is no name of an image"),
            ("a//b", "", "`a//b` is no name of an image"),
            ("../a", "r.io", "`r.io/../a` is no name of an image"),
            ("r.io/", "", "`r.io/` is no name of an image"),
            ("a:", "", "`` in `a:` is no tag"),
            ("a:b c", "", "`b c` in `a:b c` is no tag"),
            ("a@sha256:1", "", "`sha256:1` in `a@sha256:1` is no digest"),
            ("a", "team", "the source `team` begins with no host"),
            (
                "a",
                "http://r.io",
                "the source `http://r.io` begins with no host",
            ),
        ] {
            let found = Reference::resolve(package, source).map_err(|bad| bad.what);
            assert_eq!(found, Err(expected.to_owned()), "{package} from {source}");
        }
    }
}
