//! Where a client may go: the registry that somebody named, and from there only where the
//! operator's list and the place of that registry allow. Addresses are checked, not names, and
//! those that are connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::hosts::{HostPattern, canonical};

/// Where a client may go.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Hosts that may be gone to; none means all.
    allow: Vec<HostPattern>,
    /// Hosts that the operator names for other reasons.
    named: Vec<HostPattern>,
    /// Whether those who name registries are those who run this program.
    own: bool,
}

/// The part of the network that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    Public,
    Private,
    Loopback,
    LinkLocal,
    /// No machine of its own: unspecified, multicast, broadcast, reserved.
    Reserved,
}

/// A host that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peer {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// None where a proxy connects to it.
    pub(crate) address: Option<IpAddr>,
}

impl Reach {
    /// For registries that tenants name: these hosts alone, or all if there are none.
    pub fn of(allow: Vec<HostPattern>) -> Self {
        Self {
            allow,
            ..Self::default()
        }
    }

    /// For registries that the user of this program names.
    pub fn own() -> Self {
        Self {
            own: true,
            ..Self::default()
        }
    }

    /// The same, with hosts that the operator has named elsewhere and that may therefore be
    /// anywhere.
    pub(crate) fn naming(mut self, hosts: &[String]) -> Self {
        self.named.extend(
            hosts
                .iter()
                .filter_map(|host| HostPattern::parse(host).ok()),
        );
        self
    }

    /// Whether a registry may be used.
    pub(crate) fn registry(&self, host: &str, port: u16) -> Result<(), String> {
        if self.allow.is_empty() || self.allow.iter().any(|pattern| pattern.matches(host, port)) {
            return Ok(());
        }
        Err(format!(
            "the registry {host} is not among those allowed here (--allow-registries)"
        ))
    }

    /// Whether a registry may be at an address.
    pub(crate) fn registry_at(&self, host: &str, port: u16, address: IpAddr) -> Result<(), String> {
        if self.own || self.lists(host, port) {
            return Ok(());
        }
        let bare = canonical(host);
        let literal =
            bare.parse::<IpAddr>().is_ok() || bare == "localhost" || bare.ends_with(".localhost");
        match zone(address) {
            Zone::Public | Zone::Private => Ok(()),
            Zone::Loopback if literal => Ok(()),
            zone => Err(format!(
                "its address is {}: only --allow-registries {host} permits that",
                zone.article()
            )),
        }
    }

    /// Whether a registry may send its clients to another host.
    pub(crate) fn next(&self, from: &Peer, host: &str, port: u16) -> Result<(), String> {
        if canonical(host) == canonical(&from.host) || self.registry(host, port).is_ok() {
            return Ok(());
        }
        Err(format!(
            "it sends us to {}, which is not among the hosts allowed here (--allow-registries)",
            shown(host)
        ))
    }

    /// Whether the host that a registry sends its clients to may be at an address: anywhere in
    /// public, and otherwise only on the machine of the registry.
    pub(crate) fn next_at(
        &self,
        from: &Peer,
        host: &str,
        port: u16,
        address: IpAddr,
    ) -> Result<(), String> {
        let zone = zone(address);
        let same_machine = from
            .address
            .is_some_and(|from| plain(from) == plain(address))
            && zone != Zone::Reserved;
        let same_name = canonical(host) == canonical(&from.host)
            && from.address.is_some_and(|from| self::zone(from) == zone)
            && matches!(zone, Zone::Private | Zone::Loopback);
        if zone == Zone::Public || same_machine || same_name || self.lists(host, port) {
            return Ok(());
        }
        Err(format!(
            "it sends us to {}, which is {}",
            shown(host),
            zone.article()
        ))
    }

    /// Whether a registry's credentials may be shown to the host that gives out its tokens.
    pub(crate) fn trusts_realm(&self, from: &Peer, host: &str, port: u16) -> bool {
        self.own || related(&canonical(&from.host), &canonical(host)) || self.lists(host, port)
    }

    /// Whether the operator has named a host, and not only all of them.
    fn lists(&self, host: &str, port: u16) -> bool {
        self.allow
            .iter()
            .chain(&self.named)
            .any(|pattern| pattern.names(host, port))
    }
}

/// Whether two hosts are of one organization, as far as names tell: one is below the other, or both
/// are below the same domain of at least two parts.
fn related(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    if [one, other]
        .iter()
        .any(|host| host.parse::<IpAddr>().is_ok())
    {
        return false;
    }
    let below = |host: &str, domain: &str| {
        domain.contains('.')
            && host
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    let parent = |host: &str| {
        host.split_once('.')
            .map(|(_, rest)| rest.to_owned())
            .filter(|rest| rest.contains('.'))
    };
    below(one, other)
        || below(other, one)
        || (parent(one).is_some() && parent(one) == parent(other))
}

/// A host as messages name it: what a registry says is not repeated at any length.
fn shown(host: &str) -> String {
    host.chars()
        .take(100)
        .collect::<String>()
        .escape_debug()
        .to_string()
}

impl Zone {
    fn article(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Private => "an address of a private network",
            Self::Loopback => "an address of this machine",
            Self::LinkLocal => "a link-local address",
            Self::Reserved => "a reserved address",
        }
    }
}

/// The address that is meant, in its shortest form: IPv4 has many disguises in IPv6.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else {
        return address;
    };
    if let Some(four) = six.to_ipv4_mapped() {
        return IpAddr::V4(four);
    }
    let octets = six.octets();
    let four = |at: usize| {
        Some(IpAddr::V4(Ipv4Addr::new(
            octets[at],
            octets[at + 1],
            octets[at + 2],
            octets[at + 3],
        )))
    };
    let inside = match six.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        // `::a.b.c.d`, NAT64 and 6to4.
        [0, 0, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => four(12),
        [0x2002, ..] => four(2),
        _ => None,
    };
    inside.unwrap_or(address)
}

pub(crate) fn zone(address: IpAddr) -> Zone {
    match plain(address) {
        IpAddr::V4(four) => zone_of_four(four),
        IpAddr::V6(six) => zone_of_six(six),
    }
}

fn zone_of_four(address: Ipv4Addr) -> Zone {
    match address.octets() {
        [127, ..] => Zone::Loopback,
        [0 | 224..=255, ..] => Zone::Reserved,
        [169, 254, ..] => Zone::LinkLocal,
        [10, ..]
        | [172, 16..=31, ..]
        | [192, 168, ..]
        | [100, 64..=127, ..]
        | [192, 0, 0, _]
        | [198, 18 | 19, ..] => Zone::Private,
        _ => Zone::Public,
    }
}

fn zone_of_six(address: Ipv6Addr) -> Zone {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Zone::Loopback,
        [0, 0, 0, 0, 0, 0, 0, 0] | [0xff00..=0xffff, ..] => Zone::Reserved,
        [0xfe80..=0xfebf, ..] => Zone::LinkLocal,
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] | [0x64, 0xff9b, 1, ..] => Zone::Private,
        _ => Zone::Public,
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use testkit::variants;

    use super::{Peer, Reach, Zone, related, zone};
    use crate::hosts::HostPattern;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_belongs_to_one_zone_however_it_is_disguised() {
        for (text, expected) in [
            ("127.0.0.1", Zone::Loopback),
            ("127.255.0.9", Zone::Loopback),
            ("::1", Zone::Loopback),
            ("::ffff:127.0.0.1", Zone::Loopback),
            ("::127.0.0.1", Zone::Loopback),
            ("64:ff9b::7f00:1", Zone::Loopback),
            ("2002:7f00:1::", Zone::Loopback),
            ("0.0.0.0", Zone::Reserved),
            ("0.1.2.3", Zone::Reserved),
            ("::", Zone::Reserved),
            ("::ffff:0.0.0.0", Zone::Reserved),
            ("255.255.255.255", Zone::Reserved),
            ("224.0.0.1", Zone::Reserved),
            ("ff02::1", Zone::Reserved),
            ("169.254.169.254", Zone::LinkLocal),
            ("::ffff:a9fe:a9fe", Zone::LinkLocal),
            ("fe80::1", Zone::LinkLocal),
            ("10.1.2.3", Zone::Private),
            ("172.31.0.1", Zone::Private),
            ("172.32.0.1", Zone::Public),
            ("192.168.1.1", Zone::Private),
            ("100.64.0.1", Zone::Private),
            ("fd00:ec2::254", Zone::Private),
            ("64:ff9b:1::1", Zone::Private),
            ("8.8.8.8", Zone::Public),
            ("2606:4700::1", Zone::Public),
            ("64:ff9b::808:808", Zone::Public),
        ] {
            assert_eq!(zone(address(text)), expected, "{text}");
        }
    }

    #[test]
    fn no_registry_sends_its_clients_to_another_machine_inside() {
        let inside = [
            "127.0.0.1",
            "127.0.0.2",
            "10.0.0.1",
            "192.168.3.4",
            "169.254.169.254",
            "::1",
            "fd00::1",
            "0.0.0.0",
        ];
        for (index, mut choices) in variants() {
            let from = choices
                .pick(&[
                    "93.184.216.34",
                    "2606:4700::1",
                    "10.9.9.9",
                    "127.0.0.9",
                    "fd00::9",
                ])
                .to_string();
            let to = choices.pick(&inside).to_string();
            let host = choices
                .pick(&[
                    "cdn.example.org",
                    "localhost.",
                    "registry.example.org.evil.net",
                    "x",
                ])
                .to_string();
            let port = *choices.pick(&[80, 443, 6443, 10250]);
            let peer = Peer {
                host: "registry.example.org".into(),
                port: 443,
                address: Some(address(&from)),
            };
            for reach in [
                Reach::default(),
                Reach::own(),
                Reach::of(vec![HostPattern::parse("*").unwrap()]),
            ] {
                let outcome = reach.next_at(&peer, &host, port, address(&to));
                assert!(
                    outcome.is_err(),
                    "variant {index}: {from} sends to {host} at {to}"
                );
            }
            let listed = Reach::of(vec![HostPattern::parse(&host).unwrap()]);
            assert!(
                listed.next_at(&peer, &host, port, address(&to)).is_ok(),
                "variant {index}: the operator names it"
            );
        }
        // Beside the registry, or in public, it may.
        let peer = Peer {
            host: "r.example.org".into(),
            port: 443,
            address: Some(address("10.0.0.5")),
        };
        for (host, to, expected) in [
            ("storage.example.org", "10.0.0.5", true),
            ("storage.example.org", "10.0.0.6", false),
            ("r.example.org", "10.0.0.6", true),
            ("r.example.org", "127.0.0.1", false),
            ("storage.example.org", "8.8.8.8", true),
        ] {
            assert_eq!(
                Reach::default()
                    .next_at(&peer, host, 443, address(to))
                    .is_ok(),
                expected,
                "{host} at {to}"
            );
        }
    }

    #[test]
    fn a_name_that_means_this_machine_or_a_metadata_service_is_no_registry() {
        let reach = Reach::default();
        for (host, at, expected) in [
            ("evil.example.org", "127.0.0.1", false),
            ("evil.example.org", "::1", false),
            ("evil.example.org", "169.254.169.254", false),
            ("evil.example.org", "0.0.0.0", false),
            ("0.0.0.0", "0.0.0.0", false),
            ("169.254.169.254", "169.254.169.254", false),
            ("registry.team.svc", "10.96.0.7", true),
            ("localhost", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("registry.example.org", "8.8.8.8", true),
        ] {
            assert_eq!(
                reach.registry_at(host, 443, address(at)).is_ok(),
                expected,
                "{host} at {at}"
            );
            assert!(Reach::own().registry_at(host, 443, address(at)).is_ok());
            assert!(
                reach
                    .clone()
                    .naming(&[host.to_owned()])
                    .registry_at(host, 443, address(at))
                    .is_ok(),
                "{host}"
            );
        }
    }

    #[test]
    fn a_list_binds_registries_and_where_they_send_their_clients() {
        let reach = Reach::of(vec![HostPattern::parse("*.example.org").unwrap()]);
        assert!(reach.registry("r.example.org", 443).is_ok());
        let refused = reach.registry("evil.net", 443).unwrap_err();
        assert_eq!(
            refused,
            "the registry evil.net is not among those allowed here (--allow-registries)"
        );
        let peer = Peer {
            host: "r.example.org".into(),
            port: 443,
            address: None,
        };
        for (host, expected) in [
            ("cdn.example.org", true),
            ("R.example.org.", true),
            ("cdn.evil.net", false),
        ] {
            assert_eq!(reach.next(&peer, host, 443).is_ok(), expected, "{host}");
        }
    }

    #[test]
    fn a_password_goes_only_to_hosts_that_belong_to_the_registry() {
        for (registry, realm, expected) in [
            ("ghcr.io", "ghcr.io", true),
            ("registry.gitlab.com", "gitlab.com", true),
            ("docker.io", "auth.docker.io", true),
            ("r.example.org", "auth.example.org", true),
            ("r.example.org", "evil.net", false),
            ("ghcr.io", "quay.io", false),
            ("10.0.0.1", "10.0.0.2", false),
            ("10.0.0.1", "10.0.0.1", true),
            ("example.org", "evilexample.org", false),
        ] {
            let peer = Peer {
                host: registry.into(),
                port: 443,
                address: None,
            };
            assert_eq!(
                Reach::default().trusts_realm(&peer, realm, 443),
                expected,
                "{registry} {realm}"
            );
        }
        assert!(!related("a.io", "b.io"));
    }
}
