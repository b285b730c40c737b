//! Registries by name, as an operator lists them.

/// Hosts: `registry.example.org`, `*.example.org`, `localhost:5000` or `*` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// In small letters; what follows `*` where it is one for many.
    host: String,
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// Reads a pattern, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is not a valid host pattern: write `registry.example.org`, `*.example.org`, `HOST:PORT` or `*`"
            )
        };
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !text.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| bad())?))
            }
            _ => (text, None),
        };
        if host == "*" && port.is_none() {
            return Ok(Self {
                host: String::new(),
                below: true,
                port: None,
            });
        }
        let (host, below) = match host.strip_prefix("*.") {
            Some(rest) => (rest, true),
            None => (host, false),
        };
        let part = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse::<std::net::IpAddr>().is_ok();
        if !(address || canonical(host).split('.').all(part)) {
            return Err(bad());
        }
        Ok(Self {
            host: canonical(host),
            below,
            port,
        })
    }

    /// Whether it names a host, with the port that is used there.
    pub fn matches(&self, host: &str, port: u16) -> bool {
        let host = canonical(host);
        let same = match self.below {
            true if self.host.is_empty() => true,
            true => host
                .strip_suffix(&self.host)
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            false => host == self.host,
        };
        same && self.port.is_none_or(|own| own == port)
    }

    /// Whether it names a host itself rather than all there are.
    pub(crate) fn names(&self, host: &str, port: u16) -> bool {
        !self.host.is_empty() && self.matches(host, port)
    }
}

/// One spelling of a host: small letters, no dot at the end, no brackets; Docker's registry has
/// several names.
pub(crate) fn canonical(host: &str) -> String {
    let bare = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .trim_end_matches('.')
        .to_ascii_lowercase();
    match bare.as_str() {
        "registry-1.docker.io" | "index.docker.io" | "auth.docker.io" => "docker.io".to_owned(),
        _ => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::HostPattern;

    #[test]
    fn a_pattern_names_a_host_those_below_a_domain_or_all() {
        for (pattern, host, port, expected) in [
            ("registry.example.org", "registry.example.org", 443, true),
            ("registry.example.org", "Registry.Example.org.", 5000, true),
            (
                "registry.example.org",
                "evil-registry.example.org",
                443,
                false,
            ),
            (
                "registry.example.org",
                "registry.example.org.evil.net",
                443,
                false,
            ),
            ("*.example.org", "a.b.example.org", 443, true),
            ("*.example.org", "example.org", 443, false),
            ("*.example.org", "evilexample.org", 443, false),
            ("*.example.org", ".example.org", 443, false),
            ("localhost:5000", "localhost", 5000, true),
            ("localhost:5000", "localhost", 5001, false),
            ("[::1]:5000", "::1", 5000, true),
            ("docker.io", "registry-1.docker.io", 443, true),
            ("docker.io", "auth.docker.io", 443, true),
            ("docker.io", "evil.docker.io", 443, false),
            ("*", "anything", 1, true),
        ] {
            assert_eq!(
                HostPattern::parse(pattern).unwrap().matches(host, port),
                expected,
                "{pattern} {host}:{port}"
            );
        }
        assert!(!HostPattern::parse("*").unwrap().names("a", 1));
        for bad in [
            "", "a b", "*:5000", "http://a", "a/b", "a:port", "*.", "**.a", "a..b",
        ] {
            let error = HostPattern::parse(bad).unwrap_err();
            assert!(
                error.starts_with(&format!("`{bad}` is not a valid host pattern")),
                "{error}"
            );
        }
    }
}
