//! Go's `net/url`: taking a URL apart with Go's leniency and its error texts, and putting it
//! together again.

use std::net::Ipv6Addr;

use super::strconv::quote;

/// What is being escaped, since each part of a URL keeps other characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    PathSegment,
    Host,
    Zone,
    UserPassword,
    Query,
    Fragment,
}

/// Why a text is no URL; its text is `parse "x": reason`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {url}: {reason}")]
pub struct UrlError {
    url: String,
    reason: String,
}

/// User name and password of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Userinfo {
    /// Name, decoded.
    pub username: Vec<u8>,
    /// Password, decoded; absent if there was no colon.
    pub password: Option<Vec<u8>>,
}

/// The parts of a URL, decoded as Go's fields are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// Scheme in lower case.
    pub scheme: Vec<u8>,
    /// What follows the scheme if that does not begin with a slash.
    pub opaque: Vec<u8>,
    /// User information, if there was an `@`.
    pub user: Option<Userinfo>,
    /// Host and port.
    pub host: Vec<u8>,
    /// Path, decoded.
    pub path: Vec<u8>,
    /// Query, not decoded, without its mark.
    pub raw_query: Vec<u8>,
    /// Fragment, decoded, without its mark.
    pub fragment: Vec<u8>,
    /// The path as written, if escaping the decoded one gives another text.
    pub raw_path: Vec<u8>,
    /// The fragment as written, if escaping the decoded one gives another text.
    pub raw_fragment: Vec<u8>,
    /// A question mark is written even before an empty query.
    pub force_query: bool,
    /// No host is written, not even an empty one.
    pub omit_host: bool,
}

/// `url.QueryEscape`.
#[must_use]
pub fn query_escape(text: &[u8]) -> Vec<u8> {
    escape(text, Part::Query)
}

/// `url.PathEscape`.
#[must_use]
pub fn path_escape(text: &[u8]) -> Vec<u8> {
    escape(text, Part::PathSegment)
}

/// `url.QueryUnescape`.
///
/// # Errors
/// `invalid URL escape "%zz"`.
pub fn query_unescape(text: &[u8]) -> Result<Vec<u8>, String> {
    unescape(text, Part::Query)
}

/// `url.PathUnescape`.
///
/// # Errors
/// `invalid URL escape "%zz"`.
pub fn path_unescape(text: &[u8]) -> Result<Vec<u8>, String> {
    unescape(text, Part::PathSegment)
}

impl Url {
    /// `url.Parse`.
    ///
    /// # Errors
    /// As Go, except that a malformed IPv6 address is always `unable to parse IP`.
    pub fn parse(text: &[u8]) -> Result<Self, UrlError> {
        let (before, fragment) = cut(text, b'#');
        let fail = |url: &[u8], reason: String| UrlError {
            url: quoted(url),
            reason,
        };
        let mut url = Self::parse_rest(before).map_err(|reason| fail(before, reason))?;
        if let Some(written) = fragment.filter(|fragment| !fragment.is_empty()) {
            url.fragment =
                unescape(written, Part::Fragment).map_err(|reason| fail(text, reason))?;
            if escape(&url.fragment, Part::Fragment) != written {
                url.raw_fragment = written.to_vec();
            }
        }
        Ok(url)
    }

    fn parse_rest(text: &[u8]) -> Result<Self, String> {
        if text.iter().any(|&byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if text == b"*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (before, query) = cut(rest, b'?');
        rest = before;
        url.force_query = query == Some(b"");
        url.raw_query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        if (!url.scheme.is_empty() || !rest.starts_with(b"///"))
            && let Some(after) = rest.strip_prefix(b"//")
        {
            let (authority, path) = after.split_at(
                after
                    .iter()
                    .position(|&byte| byte == b'/')
                    .unwrap_or(after.len()),
            );
            (url.user, url.host) = parse_authority(&url.scheme, authority)?;
            rest = path;
        } else if !url.scheme.is_empty() && rest.starts_with(b"/") {
            url.omit_host = true;
        }
        url.path = unescape(rest, Part::Path)?;
        if escape(&url.path, Part::Path) != rest {
            url.raw_path = rest.to_vec();
        }
        Ok(url)
    }

    /// The host without port and brackets.
    #[must_use]
    pub fn hostname(&self) -> &[u8] {
        let host = self.split_port().0;
        host.strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host)
    }

    /// The port without its colon, empty if there is none.
    #[must_use]
    pub fn port(&self) -> &[u8] {
        self.split_port().1
    }

    fn split_port(&self) -> (&[u8], &[u8]) {
        match self.host.iter().rposition(|&byte| byte == b':') {
            Some(at) if is_port(&self.host[at..]) => (&self.host[..at], &self.host[at + 1..]),
            _ => (&self.host, b""),
        }
    }

    /// `URL.String`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            let bare = self.host.is_empty() && self.user.is_none();
            if !bare || !self.scheme.is_empty() && !self.omit_host {
                if !bare || !self.path.is_empty() {
                    out.extend_from_slice(b"//");
                }
                if let Some(user) = &self.user {
                    out.extend_from_slice(&user.to_bytes());
                    out.push(b'@');
                }
                out.extend_from_slice(&escape(&self.host, Part::Host));
            }
            let path = self.escaped_path();
            if !path.is_empty() && path[0] != b'/' && !self.host.is_empty() {
                out.push(b'/');
            }
            // Without this a colon in the first segment would read as the end of a scheme.
            if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
                out.extend_from_slice(b"./");
            }
            out.extend_from_slice(&path);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if self.force_query || !self.raw_query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.raw_query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend_from_slice(&encoded(&self.raw_fragment, &self.fragment, Part::Fragment));
        }
        out
    }

    /// The path as written if that is still right, else escaped anew.
    #[must_use]
    pub fn escaped_path(&self) -> Vec<u8> {
        if self.raw_path.is_empty() && self.path == b"*" {
            return b"*".to_vec();
        }
        encoded(&self.raw_path, &self.path, Part::Path)
    }
}

impl Userinfo {
    /// Escaped name, and password after a colon if there is one.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = escape(&self.username, Part::UserPassword);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend_from_slice(&escape(password, Part::UserPassword));
        }
        out
    }
}

fn quoted(text: &[u8]) -> String {
    String::from_utf8_lossy(&quote(text)).into_owned()
}

fn cut(text: &[u8], mark: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == mark) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok((b"", text))
}

fn parse_authority(scheme: &[u8], authority: &[u8]) -> Result<(Option<Userinfo>, Vec<u8>), String> {
    let Some(at) = authority.iter().rposition(|&byte| byte == b'@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, &authority[at + 1..])?;
    let info = &authority[..at];
    if !info
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte))
    {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (username, password) = cut(info, b':');
    let username = unescape(username, Part::UserPassword)?;
    let password = password
        .map(|password| unescape(password, Part::UserPassword))
        .transpose()?;
    Ok((Some(Userinfo { username, password }), host))
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    let bad_port = |port: &[u8]| format!("invalid port {} after host", quoted(port));
    match host.iter().rposition(|&byte| byte == b'[') {
        Some(0) => {
            let end = host
                .iter()
                .rposition(|&byte| byte == b']')
                .ok_or("missing ']' in host")?;
            let port = &host[end + 1..];
            if !is_port(port) {
                return Err(bad_port(port));
            }
            let name = &host[1..end];
            let zone = super::strings::index(name, b"%25").unwrap_or(name.len());
            let mut address = unescape(&name[..zone], Part::Host)?;
            address.extend(unescape(&name[zone..], Part::Zone)?);
            check_address(&address)?;
            return Ok([b"[", address.as_slice(), b"]", port].concat());
        }
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.iter().position(|&byte| byte == b':') {
        // Only web addresses are refused for a second colon.
        let strict = scheme == b"http" || scheme == b"https";
        let last = host.iter().rposition(|&byte| byte == b':').unwrap_or(first);
        let port = &host[if strict { first } else { last }..];
        if !is_port(port) {
            return Err(bad_port(port));
        }
    }
    unescape(host, Part::Host)
}

/// An IPv6 address, which may name a zone.
fn check_address(address: &[u8]) -> Result<(), String> {
    let (name, zone) = cut(address, b'%');
    let text = std::str::from_utf8(name).unwrap_or_default();
    if zone.is_none() && text.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err("invalid IP-literal".to_owned());
    }
    if text.parse::<Ipv6Addr>().is_ok() && zone != Some(b"") {
        return Ok(());
    }
    Err(format!(
        "invalid host: ParseAddr({}): unable to parse IP",
        quoted(address)
    ))
}

fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((mark, digits)) => *mark == b':' && digits.iter().all(u8::is_ascii_digit),
    }
}

/// `written` if it is valid and still decodes to `decoded`, else the latter escaped.
fn encoded(written: &[u8], decoded: &[u8], part: Part) -> Vec<u8> {
    let valid = |byte: &u8| b"!$&'()*+,;=:@[]%".contains(byte) || keeps(*byte, part);
    if !written.is_empty()
        && written.iter().all(valid)
        && unescape(written, part).is_ok_and(|unescaped| unescaped == decoded)
    {
        return written.to_vec();
    }
    escape(decoded, part)
}

/// Whether a character stands for itself in a part.
fn keeps(byte: u8, part: Part) -> bool {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => true,
        b'!' | b'\'' | b'(' | b')' | b'*' | b'[' | b']' | b'<' | b'>' | b'"'
            if matches!(part, Part::Host | Part::Zone) =>
        {
            true
        }
        b'!' | b'(' | b')' | b'*' => part == Part::Fragment,
        b'$' | b'&' | b'+' | b'=' | b':' | b';' | b',' | b'/' | b'?' | b'@' => match part {
            Part::Path => byte != b'?',
            Part::PathSegment => !matches!(byte, b'/' | b';' | b',' | b'?'),
            Part::Host | Part::Zone => !matches!(byte, b'/' | b'?' | b'@'),
            Part::UserPassword => !matches!(byte, b'@' | b'/' | b'?' | b':'),
            Part::Query => false,
            Part::Fragment => true,
        },
        _ => false,
    }
}

fn escape(text: &[u8], part: Part) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if keeps(byte, part) {
            out.push(byte);
        } else if byte == b' ' && part == Part::Query {
            out.push(b'+');
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let bad_escape = |escape: &[u8]| format!("invalid URL escape {}", quoted(escape));
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'%' => {
                let escape = &text[text.len() - after.len() - 1..];
                let escape = &escape[..escape.len().min(3)];
                let digit = |at: usize| {
                    escape
                        .get(at)
                        .and_then(|byte| char::from(*byte).to_digit(16))
                };
                let (Some(high), Some(low)) = (digit(1), digit(2)) else {
                    return Err(bad_escape(escape));
                };
                let value = (high * 16 + low) as u8;
                // In a host only bytes beyond ASCII may be escaped, in a zone also what a host
                // would keep.
                let allowed = match part {
                    _ if escape == b"%25" => true,
                    Part::Host => high >= 8,
                    Part::Zone => value == b' ' || keeps(value, Part::Host),
                    _ => true,
                };
                if !allowed {
                    return Err(bad_escape(escape));
                }
                out.push(value);
                rest = &after[2..];
            }
            b'+' if part == Part::Query => out.push(b' '),
            _ if matches!(part, Part::Host | Part::Zone)
                && byte.is_ascii()
                && !keeps(byte, part) =>
            {
                return Err(format!(
                    "invalid character {} in host name",
                    quoted(&[byte])
                ));
            }
            _ => out.push(byte),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
