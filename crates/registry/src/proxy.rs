//! Proxies: which one stands before a host, as `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` say it
//! everywhere.

use std::net::IpAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use url::Url;

use crate::hosts::canonical;

/// The proxies of this machine.
#[derive(Clone, Default)]
pub struct Proxies {
    https: Option<Proxy>,
    http: Option<Proxy>,
    except: Vec<String>,
}

/// A proxy that speaks HTTP.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<String>,
}

// A proxy's password does not belong into logs.
impl std::fmt::Debug for Proxies {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = |proxy: &Option<Proxy>| {
            proxy
                .as_ref()
                .map(|proxy| format!("{}:{}", proxy.host, proxy.port))
        };
        let (https, http) = (name(&self.https), name(&self.http));
        formatter
            .debug_struct("Proxies")
            .field("https", &https)
            .field("http", &http)
            .finish()
    }
}

impl Proxies {
    /// From the values of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`; empty ones count as none.
    pub fn new(https: &str, http: &str, except: &str) -> Result<Self, String> {
        let except = except
            .split(',')
            .map(|entry| entry.trim().to_ascii_lowercase())
            .filter(|entry| !entry.is_empty());
        Ok(Self {
            https: proxy("HTTPS_PROXY", https)?,
            http: proxy("HTTP_PROXY", http)?,
            except: except.collect(),
        })
    }

    /// The proxy before a place, if there is one.
    pub(crate) fn before(&self, url: &Url) -> Option<&Proxy> {
        let host = canonical(url.host_str()?);
        let port = url.port_or_known_default()?;
        let own = host == "localhost"
            || host.ends_with(".localhost")
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        if own || self.except.iter().any(|entry| excepts(entry, &host, port)) {
            return None;
        }
        if url.scheme() == "https" {
            self.https.as_ref()
        } else {
            self.http.as_ref()
        }
    }
}

/// Whether an entry of `NO_PROXY` names a host: `*`, a domain with all below it, `.domain` for
/// those below alone, an address, or a network as `10.0.0.0/8`; each but the last also with a port.
fn excepts(entry: &str, host: &str, port: u16) -> bool {
    if entry == "*" {
        return true;
    }
    let address = host.parse::<IpAddr>().ok();
    if let Some((network, bits)) = entry.split_once('/') {
        let (Some(address), Ok(network), Ok(bits)) =
            (address, network.parse::<IpAddr>(), bits.parse::<u32>())
        else {
            return false;
        };
        return contains(network, bits, address);
    }
    let (name, own_port) = match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            (name, port.parse::<u16>().ok())
        }
        _ => (entry, None),
    };
    if own_port.is_some_and(|own| own != port) {
        return false;
    }
    let name = name.trim_start_matches('*');
    match name.strip_prefix('.') {
        Some(_) => host.ends_with(name),
        None => {
            let name = canonical(name);
            host == name
                || host
                    .strip_suffix(&name)
                    .is_some_and(|rest| address.is_none() && rest.ends_with('.'))
        }
    }
}

fn contains(network: IpAddr, bits: u32, address: IpAddr) -> bool {
    match (network, address) {
        (IpAddr::V4(network), IpAddr::V4(address)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        (IpAddr::V6(network), IpAddr::V6(address)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            network.to_bits() & mask == address.to_bits() & mask
        }
        _ => false,
    }
}

fn proxy(name: &str, text: &str) -> Result<Option<Proxy>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    // The text may hold a password.
    let bad = || format!("{name} is not a valid proxy: write http://HOST:PORT");
    let whole = if text.contains("://") {
        text.trim().to_owned()
    } else {
        format!("http://{}", text.trim())
    };
    let url = Url::parse(&whole).map_err(|_| bad())?;
    if url.scheme() != "http" {
        return Err(bad());
    }
    let host = url
        .host_str()
        .ok_or_else(bad)?
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let decode = |text: &str| {
        url::form_urlencoded::parse(format!("x={}", text.replace('+', "%2B")).as_bytes())
            .next()
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    let login = (!url.username().is_empty()).then(|| {
        let text = format!(
            "{}:{}",
            decode(url.username()),
            decode(url.password().unwrap_or_default())
        );
        format!("Basic {}", STANDARD.encode(text))
    });
    Ok(Some(Proxy {
        host,
        port: url.port_or_known_default().unwrap_or(80),
        authorization: login,
    }))
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::Proxies;

    #[test]
    fn a_proxy_stands_before_all_but_the_excepted() {
        let proxies = Proxies::new(
            "http://user:p%40ss@proxy.example.org:3128",
            "",
            "inner.example.org,.sub.example.net, 10.0.0.0/8,fd00::/8,other.org:5000,192.0.2.7",
        )
        .unwrap();
        for (url, expected) in [
            ("https://registry.example.org/", true),
            ("http://registry.example.org/", false),
            ("https://inner.example.org/", false),
            ("https://a.inner.example.org/", false),
            ("https://winner.example.org/", true),
            ("https://a.sub.example.net/", false),
            ("https://sub.example.net/", true),
            ("https://10.1.2.3/", false),
            ("https://11.1.2.3/", true),
            ("https://[fd00::1]/", false),
            ("https://[fe00::1]/", true),
            ("https://other.org:5000/", false),
            ("https://other.org/", true),
            ("https://192.0.2.7/", false),
            ("https://localhost:5000/", false),
            ("https://127.0.0.1:5000/", false),
            ("https://[::1]:5000/", false),
        ] {
            assert_eq!(
                proxies.before(&Url::parse(url).unwrap()).is_some(),
                expected,
                "{url}"
            );
        }
        let proxy = proxies
            .before(&Url::parse("https://a.org").unwrap())
            .unwrap();
        assert_eq!(
            (proxy.host.as_str(), proxy.port),
            ("proxy.example.org", 3128)
        );
        assert_eq!(proxy.authorization.as_deref(), Some("Basic dXNlcjpwQHNz"));
        assert!(!format!("{proxies:?}").contains("ss"), "{proxies:?}");
        assert!(
            Proxies::new("proxy:3128", "", "*")
                .unwrap()
                .before(&Url::parse("https://a.org").unwrap())
                .is_none()
        );
        for bad in ["https://secret@proxy", "socks5://proxy", "http://"] {
            let error = Proxies::new(bad, "", "").unwrap_err();
            assert_eq!(
                error,
                "HTTPS_PROXY is not a valid proxy: write http://HOST:PORT"
            );
        }
    }
}
