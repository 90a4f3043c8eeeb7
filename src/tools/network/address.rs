//! Owns which hosts no tool may ask, whatever a configuration allows: services of the cloud that a machine runs in, and addresses that
//! are not those of one machine.
//!
//! The services hand out the machine's own credentials to whoever asks from it. Addresses of this machine and of private networks are not
//! refused: people try their own servers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Services of clouds whose addresses are not link-local: Azure, Alibaba, Oracle.
const SERVICES_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192)];

/// The same in IPv6: Google, Scaleway; Amazon's are a range.
const SERVICES_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42)];

/// Names of such services; what a name resolves to is looked at in any case.
const NAMES: [&str; 6] = [
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "metadata.platformequinix.com",
    "instance-data.ec2.internal",
];

/// Why a host may not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The configuration allows others.
    #[error("it is not in `network.allowHosts`")]
    NotListed,
    /// It is the name of a service.
    #[error("it is a name of the machine's own cloud service, which no tool may ask")]
    Name,
    /// It is an address that is refused.
    #[error("it is {0}, which no tool may ask")]
    Address(Kind),
    /// It resolves to nothing but addresses that are refused.
    #[error("it resolves to `{0}`, {1}, which no tool may ask")]
    Resolved(IpAddr, Kind),
}

/// A kind of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Kind {
    /// Link-local, or a service of a cloud.
    #[error("an address of the machine's own cloud service (link-local)")]
    Service,
    /// Unspecified, multicast or broadcast.
    #[error("an address that does not belong to one machine")]
    Nobody,
}

/// Returns why the host of a URL is refused, as far as it shows without resolving it.
pub(super) fn refusal_of_host(host: &str) -> Option<Refusal> {
    if let Ok(address) = host.trim_start_matches('[').trim_end_matches(']').parse() {
        return kind(address).map(Refusal::Address);
    }
    let host = host.strip_suffix('.').unwrap_or(host);
    NAMES.iter().any(|name| name.eq_ignore_ascii_case(host)).then_some(Refusal::Name)
}

/// Returns why an address is refused.
pub(super) fn kind(address: IpAddr) -> Option<Kind> {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address).or_else(|| inside(address).find_map(kind_v4)),
    }
}

fn kind_v4(address: Ipv4Addr) -> Option<Kind> {
    if address.is_link_local() || SERVICES_V4.contains(&address) {
        return Some(Kind::Service);
    }
    let this_network = address.octets()[0] == 0;
    (this_network || address.is_multicast() || address.is_broadcast()).then_some(Kind::Nobody)
}

fn kind_v6(address: Ipv6Addr) -> Option<Kind> {
    let amazon = matches!(address.segments(), [0xfd00, 0xec2, ..]);
    if address.is_unicast_link_local() || amazon || SERVICES_V6.contains(&address) {
        return Some(Kind::Service);
    }
    (address.is_unspecified() || address.is_multicast()).then_some(Kind::Nobody)
}

/// Returns the IPv4 addresses that an IPv6 address carries, each of which a router or the system itself may connect to in its place.
fn inside(address: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let parts = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let last = of(parts[6], parts[7]);
    let compatible = matches!(parts, [0, 0, 0, 0, 0, 0, ..]) && !address.is_loopback();
    let mapped = matches!(parts, [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..]);
    let nat64 = matches!(parts, [0x64, 0xff9b, ..]);
    let isatap = matches!(parts, [_, _, _, _, 0 | 0x200, 0x5efe, ..]);
    let teredo = matches!(parts, [0x2001, 0, ..]);
    let six_to_four = parts[0] == 0x2002;
    let found = [
        (compatible || mapped || nat64 || isatap, last),
        (teredo, of(!parts[6], !parts[7])),
        (six_to_four, of(parts[1], parts[2])),
    ];
    found.into_iter().filter_map(|(carried, address)| carried.then_some(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;

    fn refusal(url: &str) -> Option<Refusal> {
        refusal_of_host(Url::parse(url).unwrap().host_str().unwrap())
    }

    #[test]
    fn services_are_refused_in_every_spelling() {
        for host in [
            "169.254.169.254",
            "169.254.170.2",
            "169.254.169.254.",
            "2852039166",
            "0xa9fea9fe",
            "0xA9.0xFE.0xA9.0xFE",
            "0251.0376.0251.0376",
            "169.254.43518",
            "%31%36%39.254.169.254",
            "１６９.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "[fe80::1]",
            "[febf::1]",
            "[fd00:ec2::254]",
            "[fd20:ce::254]",
            "[fd00:42::42]",
            "[::ffff:169.254.169.254]",
            "[::ffff:a9fe:a9fe]",
            "[::169.254.169.254]",
            "[::ffff:0:a9fe:a9fe]",
            "[64:ff9b::169.254.169.254]",
            "[64:ff9b:1::a9fe:a9fe]",
            "[2002:a9fe:a9fe::1]",
            "[2001:db8::5efe:169.254.169.254]",
            "[2001:db8::200:5efe:a9fe:a9fe]",
            "[2001:0:1:2:3:4:5601:5601]",
            "[2002:7f00:1::5efe:a9fe:a9fe]",
        ] {
            assert_eq!(refusal(&format!("http://{host}/")), Some(Refusal::Address(Kind::Service)), "{host}");
        }
    }

    #[test]
    fn addresses_of_nobody_are_refused() {
        for host in [
            "0.0.0.0",
            "0",
            "0.1.2.3",
            "255.255.255.255",
            "224.0.0.1",
            "239.255.255.250",
            "[::]",
            "[ff02::1]",
            "[::ffff:0.0.0.0]",
            "[64:ff9b::]",
            "[2002:e000:1::]",
        ] {
            assert_eq!(refusal(&format!("http://{host}/")), Some(Refusal::Address(Kind::Nobody)), "{host}");
        }
    }

    #[test]
    fn names_of_services_are_refused() {
        for host in ["metadata.google.internal", "METADATA.google.internal.", "metadata.goog"] {
            assert_eq!(refusal(&format!("http://{host}/")), Some(Refusal::Name), "{host}");
        }
    }

    #[test]
    fn this_machine_private_networks_and_the_world_are_open() {
        for host in [
            "localhost",
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "1.1.1.1",
            "169.253.0.1",
            "[::1]",
            "[fd12::1]",
            "[2606:4700::1111]",
            "[::ffff:127.0.0.1]",
            "[64:ff9b::1.1.1.1]",
            "[2002:7f00:1::]",
            "example.com",
            "not-metadata.google.internal.example",
        ] {
            assert_eq!(refusal(&format!("http://{host}/")), None, "{host}");
        }
    }
}
