//! IP addresses and CIDRs, as Go's `net/netip` reads them.

use std::net::IpAddr;

/// An address with a prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr {
    /// The address, not masked.
    pub ip: IpAddr,
    /// Prefix length.
    pub bits: u8,
}

/// Reads an address; IPv4-mapped IPv6 addresses and zones are refused, as the server does.
///
/// # Errors
/// The server's words.
pub fn parse_ip(text: &str) -> Result<IpAddr, String> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address \"{text}\" is not allowed"))
        }
        Ok(ip) => Ok(ip),
        Err(_) if text.contains('%') => Err(format!("IP address \"{text}\" with zone value is not allowed")),
        Err(_) => {
            let why = if text.contains(':') {
                "unable to parse IP"
            } else if text.contains('.') {
                ipv4_problem(text)
            } else {
                "unable to parse IP"
            };
            Err(format!(
                "IP Address \"{text}\" parse error during conversion from string: ParseAddr(\"{text}\"): {why}"
            ))
        }
    }
}

fn ipv4_problem(text: &str) -> &'static str {
    let fields: Vec<&str> = text.split('.').collect();
    for field in &fields {
        if field.is_empty() {
            return "IPv4 field must have at least one digit";
        }
        if !field.bytes().all(|c| c.is_ascii_digit()) {
            return "unexpected character";
        }
        if field.len() > 1 && field.starts_with('0') {
            return "IPv4 field has octet with leading zero";
        }
        if field.parse::<u8>().is_err() {
            return "IPv4 field has value >255";
        }
    }
    if fields.len() > 4 { "IPv4 address too long" } else { "IPv4 address too short" }
}

/// Reads a CIDR.
///
/// # Errors
/// The server's words.
pub fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let fail = |why: &str| {
        format!(
            "CIDR \"{text}\" parse error during conversion from string: netip.ParsePrefix(\"{text}\"): {why}"
        )
    };
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| fail("no '/'"))?;
    let ip = parse_ip(address).map_err(|_| fail(&format!("ParseAddr(\"{address}\"): unable to parse IP")))?;
    let limit = if ip.is_ipv4() { 32 } else { 128 };
    let plain = !bits.is_empty()
        && bits.bytes().all(|c| c.is_ascii_digit())
        && (bits.len() == 1 || !bits.starts_with('0'));
    if !plain {
        return Err(fail(&format!("bad bits after slash: \"{bits}\"")));
    }
    match bits.parse::<u8>() {
        Ok(bits) if bits <= limit => Ok(Cidr { ip, bits }),
        _ => Err(fail("prefix length out of range")),
    }
}

fn bits_of(ip: IpAddr) -> (u128, u8) {
    match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()), 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    }
}

impl Cidr {
    /// Whether the address lies inside.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let ((mine, width), (other, other_width)) = (bits_of(self.ip), bits_of(ip));
        let shift = u32::from(width - self.bits.min(width));
        width == other_width && mine.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
    }

    /// Whether the other lies inside.
    pub fn contains_cidr(&self, other: &Cidr) -> bool {
        self.bits <= other.bits && self.contains(other.ip)
    }

    /// The network: host bits zero.
    pub fn masked(&self) -> Cidr {
        let (mine, width) = bits_of(self.ip);
        let shift = u32::from(width - self.bits.min(width));
        let bits = mine.checked_shr(shift).unwrap_or(0).checked_shl(shift).unwrap_or(0);
        let ip = match self.ip {
            IpAddr::V4(_) => IpAddr::V4((bits as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        Cidr { ip, bits: self.bits }
    }
}
