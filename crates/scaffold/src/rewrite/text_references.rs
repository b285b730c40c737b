//! Where objects are spoken of in free text, such as `http://web-api:8080/` or
//! `web-db-0.web-db.team.svc`. All of a name is replaced or nothing of it: half a name would be
//! nobody's.

use super::common_name::{holds, places};
use super::edit::Edit;
use crate::manifests::split::Piece;

const NAME: &str = "{{ .metadata.name }}";
/// As people name kinds to kubectl.
const KINDS: [&str; 20] = [
    "cm",
    "configmap",
    "cronjob",
    "daemonset",
    "deploy",
    "deployment",
    "deployments",
    "ds",
    "job",
    "pod",
    "pods",
    "pvc",
    "secret",
    "secrets",
    "service",
    "services",
    "statefulset",
    "statefulsets",
    "sts",
    "svc",
];
const NAMESPACE: &str = "{{ .metadata.namespace }}";

/// The objects whose names follow the instance's.
pub(crate) struct Known<'k> {
    /// Longest first, so that `web-db` is not taken for `web`.
    names: Vec<&'k Piece>,
    base: &'k str,
    namespace: &'k str,
}

impl<'k> Known<'k> {
    pub fn of(pieces: &'k [Piece], base: &'k str, namespace: &'k str) -> Known<'k> {
        let mut names: Vec<&Piece> = pieces
            .iter()
            .filter(|piece| holds(piece.name(), base))
            .collect();
        // Of several objects of one name a Service is the one that texts speak to.
        names.sort_by_key(|piece| {
            (
                std::cmp::Reverse(piece.name().len()),
                piece.name(),
                !piece.is_core("Service"),
            )
        });
        Known {
            names,
            base,
            namespace,
        }
    }

    /// One object for each name.
    pub fn all(&self) -> Vec<&'k Piece> {
        let mut all: Vec<&Piece> = self.names.clone();
        all.dedup_by_key(|piece| piece.name());
        all
    }

    /// What takes the place of names in a text, and of the namespace behind them.
    pub fn edits(&self, text: &str) -> Vec<Edit> {
        let mut edits: Vec<Edit> = Vec::new();
        for piece in &self.names {
            for at in places(text, piece.name()) {
                let taken = edits
                    .iter()
                    .any(|edit| (edit.start..edit.end).contains(&at));
                if !taken && let Some(found) = self.mention(text, at, piece.name()) {
                    edits.extend(found);
                }
            }
        }
        edits
    }

    /// The edits of one mention, if it is certain that the object is meant. A name with more to it
    /// than the shared one is; the shared name alone may be any word, unless it is spoken to as an
    /// address.
    fn mention(&self, text: &str, at: usize, name: &str) -> Option<Vec<Edit>> {
        let before = &text[..at];
        let addressed = before.ends_with("://") || before.ends_with('@');
        let is_kinded = follows_kind(before);
        let of_pod = follows_variable(before);
        if !opens(before) && !is_kinded && !of_pod {
            return None;
        }
        let is = |kind: &str, name: &str| {
            self.names
                .iter()
                .any(|piece| piece.gvk.kind == kind && piece.name() == name)
        };
        let mut edits = self.named(at, name);
        let mut end = at + name.len();
        let mut certain = name != self.base || is_kinded;
        let mut is_host = is("Service", name);
        if let Some(length) = ordinal(&text[end..]) {
            let pod = end + length;
            if let Some(service) = self.service(&text[pod..]) {
                edits.extend(self.named(pod + 1, service));
                end = pod + 1 + service.len();
                (certain, is_host) = (true, true);
            } else if is("StatefulSet", name) {
                end = pod;
                certain = true;
            }
        }
        if is_host && let Some((namespace, length)) = self.domain(&text[end..]) {
            if namespace {
                let start = end + 1;
                edits.push(Edit {
                    start,
                    end: start + self.namespace.len(),
                    with: NAMESPACE.to_string(),
                });
            }
            end += length;
            certain = true;
        }
        let after = &text[end..];
        let closed = closes(after);
        certain |= is_host && closed && (addressed || of_pod || port(after) || asked(before));
        (closed && certain).then_some(edits)
    }

    /// The shared name inside of a name that stands at a place.
    fn named(&self, at: usize, name: &str) -> Vec<Edit> {
        let edit = |inner: usize| Edit {
            start: at + inner,
            end: at + inner + self.base.len(),
            with: NAME.to_string(),
        };
        places(name, self.base).into_iter().map(edit).collect()
    }

    /// The Service that follows a pod's name.
    fn service(&self, after: &str) -> Option<&'k str> {
        let rest = after.strip_prefix('.')?;
        let services = self
            .names
            .iter()
            .filter(|piece| piece.is_core("Service"))
            .map(|piece| piece.name());
        services
            .into_iter()
            .find(|name| rest.strip_prefix(name).is_some_and(is_end))
    }

    /// Whether the own namespace follows a host, and how much of the text the rest of its domain
    /// is. A host of another namespace is not ours.
    fn domain(&self, after: &str) -> Option<(bool, usize)> {
        let namespace = after
            .strip_prefix('.')
            .and_then(|rest| rest.strip_prefix(self.namespace))
            .filter(|rest| is_end(rest));
        let rest = namespace.unwrap_or(after);
        let Some(svc) = rest.strip_prefix(".svc").filter(|rest| is_end(rest)) else {
            return namespace.map(|rest| (true, after.len() - rest.len()));
        };
        let domain = svc
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))
            .unwrap_or(svc.len());
        let domain = svc[..domain].trim_end_matches(['.', '-']).len();
        Some((namespace.is_some(), after.len() - svc.len() + domain))
    }
}

/// Whether a text mentions a name that nothing took the place of: as a word of its own, and the
/// shared name alone only where a value is expected.
pub(crate) fn remains(text: &str, name: &str, base: &str, is_command: bool) -> bool {
    places(text, name).into_iter().any(|at| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        if before.ends_with('-') || after.starts_with('-') {
            return false;
        }
        let value = before.is_empty()
            || before.ends_with(['=', ',', '"', '\''])
            || before.ends_with(": ")
            || (is_command && before.ends_with(char::is_whitespace));
        let ended = after.is_empty()
            || after.starts_with(|c: char| c.is_whitespace() || ",;\"'".contains(c));
        let host = after
            .strip_prefix('.')
            .and_then(|rest| rest.split_once(".svc"))
            .is_some_and(|(namespace, rest)| {
                is_end(rest)
                    && namespace
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            });
        name != base || (value && ended) || host
    })
}

/// Whether a word asks for an address: `DB_HOST`.
pub(crate) fn is_address(word: &str) -> bool {
    let word = word.to_ascii_uppercase();
    ["HOST", "ADDR", "SERVER", "SERVICE", "ENDPOINT"]
        .iter()
        .any(|part| word.contains(part))
}

/// Whether this ends by asking for an address: `db.host=`, `host: ` or `--host `.
fn asked(before: &str) -> bool {
    let named = ["=", ": "].iter().find_map(|end| before.strip_suffix(end));
    let word = named.or_else(|| {
        before
            .strip_suffix(' ')
            .filter(|flag| last(flag).starts_with("--"))
    });
    word.is_some_and(|word| is_address(last(word)))
}

/// The last word of a text.
fn last(text: &str) -> &str {
    let before = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "_-.".contains(c));
    &text[before.len()..]
}

/// Whether a name begins after this for certain.
fn opens(before: &str) -> bool {
    before.is_empty()
        || before.ends_with(|c: char| c.is_whitespace() || "=:,;\"'`([<>|@&".contains(c))
        || ["//", ":-"].iter().any(|end| before.ends_with(end))
}

/// Whether this ends as kubectl names objects: `deployment/`.
fn follows_kind(before: &str) -> bool {
    let Some(rest) = before.strip_suffix('/') else {
        return false;
    };
    let before = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    KINDS.contains(&&rest[before.len()..]) && opens(before)
}

/// Whether this ends with a variable for the name of a pod: `$(POD_NAME).`, `${HOSTNAME}.` or
/// `$HOSTNAME.`.
fn follows_variable(before: &str) -> bool {
    let Some(rest) = before.strip_suffix('.') else {
        return false;
    };
    let name = rest.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
    rest.ends_with([')', '}']) || (name.ends_with('$') && name.len() < rest.len())
}

/// The number of a pod of a StatefulSet: how long `-0` is.
fn ordinal(after: &str) -> Option<usize> {
    let rest = after.strip_prefix('-')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && is_end(&rest[digits..])).then_some(1 + digits)
}

/// Whether a name has ended where this begins.
fn is_end(after: &str) -> bool {
    !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Whether what follows a host is a port.
fn port(after: &str) -> bool {
    let Some(rest) = after.strip_prefix(':') else {
        return false;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let goes_on = rest[digits..]
        .strip_prefix('.')
        .is_some_and(|rest| !is_end(rest));
    (1..=5).contains(&digits) && is_end(&rest[digits..]) && !goes_on
}

/// Whether a name ends before this for certain.
fn closes(after: &str) -> bool {
    let Some(first) = after.chars().next() else {
        return true;
    };
    let next = after[first.len_utf8()..].chars().next();
    match first {
        ':' => port(after) || next.is_some_and(|next| "/$%{".contains(next)),
        '.' => next.is_none_or(char::is_whitespace),
        first => first.is_whitespace() || ",;\"'`)]}<>|/?&#\\".contains(first),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::{Known, remains};
    use crate::manifests::split::{Manifest, Piece, read};
    use crate::rewrite::edit::edited;

    fn pieces() -> Vec<Piece> {
        let text = "{apiVersion: v1, kind: Service, metadata: {name: web}}\n---\n\
                    {apiVersion: v1, kind: Service, metadata: {name: web-db}}\n---\n\
                    {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web-db}}\n---\n\
                    {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web}}\n---\n\
                    {apiVersion: v1, kind: ConfigMap, metadata: {name: web-conf}}\n";
        let read = read(&[Manifest {
            file: "m.yaml".into(),
            text: text.into(),
        }]);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
        read.pieces
    }

    #[test]
    fn all_of_a_name_is_replaced_or_nothing() {
        let pieces = pieces();
        let known = Known::of(&pieces, "web", "team");
        for (text, expected) in [
            ("http://web", "http://N"),
            ("http://web/", "http://N/"),
            ("web:8080", "N:8080"),
            ("postgres://u:p@web/x", "postgres://u:p@N/x"),
            ("web.svc", "N.svc"),
            ("web.team.svc", "N.S.svc"),
            ("web.team", "N.S"),
            ("web.team.svc.cluster.local:80", "N.S.svc.cluster.local:80"),
            ("the web server", "the web server"),
            ("http://web.example.org", "http://web.example.org"),
            ("my-web:80", "my-web:80"),
            ("web:1.2.3", "web:1.2.3"),
            ("/srv/web:1", "/srv/web:1"),
            ("web-0.web", "N-0.N"),
            ("web-0", "N-0"),
            ("$(POD).web.team.svc", "$(POD).N.S.svc"),
            ("http://$HOSTNAME.web:80", "http://$HOSTNAME.N:80"),
            ("${HOSTNAME}.web-db", "${HOSTNAME}.N-db"),
            ("a.web-db", "a.web-db"),
            (
                "rollout status deployment/web",
                "rollout status deployment/N",
            ),
            ("sts/web-db", "sts/N-db"),
            ("db.host=web", "db.host=N"),
            ("- host: web\n", "- host: N\n"),
            ("run --service-name web x", "run --service-name N x"),
            ("mode=web", "mode=web"),
            ("server web", "server web"),
            ("/secret/web", "/secret/web"),
            ("web-db", "N-db"),
            ("web-db:5432", "N-db:5432"),
            ("db.host=web-db\n", "db.host=N-db\n"),
            ("nc -z web-db 5432", "nc -z N-db 5432"),
            ("web-db,other", "N-db,other"),
            ("web-db-0.web-db,web-db-1.web-db", "N-db-0.N-db,N-db-1.N-db"),
            (
                "web-db-0.web-db.team.svc.cluster.local",
                "N-db-0.N-db.S.svc.cluster.local",
            ),
            ("web-db-0", "N-db-0"),
            ("${HOST:-web-db}", "${HOST:-N-db}"),
            ("web-db.prod", "web-db.prod"),
            ("web-db.prod.svc", "web-db.prod.svc"),
            ("web-db.teams.svc", "web-db.teams.svc"),
            ("web-db.conf", "web-db.conf"),
            ("web-db-replica", "web-db-replica"),
            ("web-conf", "N-conf"),
            ("/etc/web-conf", "/etc/web-conf"),
            ("web-db: it is a key", "web-db: it is a key"),
            ("It is web-db.", "It is N-db."),
            ("nfs web-db:/export", "nfs N-db:/export"),
            ("Größe: web", "Größe: web"),
            ("übersicht_host: web", "übersicht_host: N"),
            ("ß: web-db", "ß: N-db"),
            ("see /café/web", "see /café/web"),
            ("é/web-db", "é/web-db"),
            ("“web-db”", "“web-db”"),
            ("größe\u{3000}sts/web-db", "größe\u{3000}sts/N-db"),
        ] {
            let mut edits = known.edits(text);
            let made = edited(text, &mut edits);
            let made = made
                .replace("{{ .metadata.name }}", "N")
                .replace("{{ .metadata.namespace }}", "S");
            assert_eq!(made, expected, "{text}");
        }
    }

    #[test]
    fn what_remains_of_a_name_is_found() {
        for (text, name, is_command, found) in [
            ("web-db.prod", "web-db", false, true),
            ("/etc/web-db", "web-db", false, true),
            ("web-db-replica", "web-db", false, false),
            ("web", "web", false, true),
            ("mode=web", "web", false, true),
            ("web.prod.svc", "web", false, true),
            ("the web server", "web", false, false),
            ("nc web 80", "web", true, true),
            ("/srv/web", "web", true, false),
        ] {
            assert_eq!(remains(text, name, "web", is_command), found, "{text}");
        }
    }
}
