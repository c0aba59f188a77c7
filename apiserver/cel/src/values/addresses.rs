//! Parsing of IP addresses and CIDRs with the rules and errors of Go's `net/netip`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machinery::field::quote;

/// An address with a prefix length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    /// The address, not masked.
    pub ip: IpAddr,
    /// The prefix length.
    pub bits: u8,
}

/// Parses an address. Like kube-apiserver, it refuses IPv4-mapped IPv6 addresses and zones.
///
/// # Errors
/// The message of kube-apiserver.
pub(crate) fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let (ip, zone) = address(text)
        .map_err(|why| format!("IP Address \"{text}\" parse error during conversion from string: {why}"))?;
    if zone {
        return Err(format!("IP address \"{text}\" with zone value is not allowed"));
    }
    if mapped(ip) {
        return Err(format!("IPv4-mapped IPv6 address \"{text}\" is not allowed"));
    }
    Ok(ip)
}

fn mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// The reason why an address is invalid, and the rest of the text from the error on.
struct Wrong<'t>(&'static str, &'t str);

/// Parses an address and returns it with whether it has a zone.
fn address(text: &str) -> Result<(IpAddr, bool), String> {
    let read = match text.chars().find(|c| matches!(c, '.' | ':' | '%')) {
        Some('.') => v4(text).map(|octets| (IpAddr::V4(Ipv4Addr::from(octets)), false)),
        Some(':') => v6(text),
        Some(_) => Err(Wrong("missing IPv6 address", "")),
        None => Err(Wrong("unable to parse IP", "")),
    };
    read.map_err(|Wrong(why, at)| {
        let at = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
        format!("ParseAddr({}): {why}{at}", quote(text))
    })
}

fn v4(text: &str) -> Result<[u8; 4], Wrong<'_>> {
    let bytes = text.as_bytes();
    let (mut octets, mut at, mut value, mut digits) = ([0; 4], 0, 0_u32, 0);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' if digits == 1 && value == 0 => {
                return Err(Wrong("IPv4 field has octet with leading zero", ""));
            }
            b'0'..=b'9' => {
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(Wrong("IPv4 field has value >255", ""));
                }
            }
            b'.' if i == 0 || i == bytes.len() - 1 || bytes[i - 1] == b'.' => {
                return Err(Wrong("IPv4 field must have at least one digit", &text[i..]));
            }
            b'.' if at == 3 => return Err(Wrong("IPv4 address too long", "")),
            b'.' => {
                octets[at] = value as u8;
                (at, value, digits) = (at + 1, 0, 0);
            }
            _ => return Err(Wrong("unexpected character", text.get(i..).unwrap_or_default())),
        }
    }
    if at < 3 {
        return Err(Wrong("IPv4 address too short", ""));
    }
    octets[3] = value as u8;
    Ok(octets)
}

fn v6(text: &str) -> Result<(IpAddr, bool), Wrong<'_>> {
    let (mut rest, zone) = text.split_once('%').map_or((text, None), |(rest, zone)| (rest, Some(zone)));
    if zone == Some("") {
        return Err(Wrong("zone must be a non-empty string", ""));
    }
    let (mut bytes, mut at, mut ellipsis) = ([0_u8; 16], 0, None);
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
    }
    while at < 16 && !(rest.is_empty() && ellipsis == Some(at)) {
        let length = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if length > 4 {
            return Err(Wrong("each group must have 4 or less digits", rest));
        }
        if length == 0 {
            return Err(Wrong("each colon-separated field must have at least one digit", rest));
        }
        if rest.as_bytes().get(length) == Some(&b'.') {
            if ellipsis.is_none() && at != 12 {
                let why = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err(Wrong(why, rest));
            }
            if at + 4 > 16 {
                let why = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err(Wrong(why, rest));
            }
            bytes[at..at + 4].copy_from_slice(&v4(rest)?);
            (at, rest) = (at + 4, "");
            break;
        }
        let group = u16::from_str_radix(&rest[..length], 16).unwrap_or_default();
        bytes[at..at + 2].copy_from_slice(&group.to_be_bytes());
        at += 2;
        rest = &rest[length..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(Wrong("unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(Wrong("colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return Err(Wrong("multiple :: in address", rest));
            }
            ellipsis = Some(at);
            rest = after;
        }
    }
    if !rest.is_empty() {
        return Err(Wrong("trailing garbage after address", rest));
    }
    match ellipsis {
        None if at < 16 => return Err(Wrong("address string too short", "")),
        Some(_) if at == 16 => return Err(Wrong("the :: must expand to at least one field of zeros", "")),
        Some(from) => {
            let missing = 16 - at;
            bytes.copy_within(from..at, from + missing);
            bytes[from..from + missing].fill(0);
        }
        None => {}
    }
    Ok((IpAddr::V6(Ipv6Addr::from(bytes)), zone.is_some()))
}

/// Parses a CIDR.
///
/// # Errors
/// The message of kube-apiserver.
pub(crate) fn parse_cidr(text: &str) -> Result<Cidr, String> {
    const PARSE: &str = "network address parse error during conversion from string";
    let cidr =
        prefix(text).map_err(|why| format!("{PARSE}: {PARSE}: netip.ParsePrefix({}): {why}", quote(text)))?;
    if mapped(cidr.ip) {
        return Err(format!("{PARSE}: IPv4-mapped IPv6 address \"{text}\" is not allowed"));
    }
    Ok(cidr)
}

fn prefix(text: &str) -> Result<Cidr, String> {
    let (before, bits) = text.rsplit_once('/').ok_or("no '/'")?;
    let (ip, zone) = address(before)?;
    if zone {
        return Err("IPv6 zones cannot be present in a prefix".to_owned());
    }
    let limit = if ip.is_ipv4() { 32 } else { 128 };
    let plain = !bits.is_empty()
        && bits.bytes().all(|c| c.is_ascii_digit())
        && (bits.len() == 1 || !bits.starts_with('0'));
    if !plain {
        return Err(format!("bad bits after slash: {}", quote(bits)));
    }
    match bits.parse::<u8>() {
        Ok(bits) if bits <= limit => Ok(Cidr { ip, bits }),
        _ => Err("prefix length out of range".to_owned()),
    }
}

fn bits_of(ip: IpAddr) -> (u128, u8) {
    match ip {
        IpAddr::V4(ip) => (u128::from(ip.to_bits()), 32),
        IpAddr::V6(ip) => (ip.to_bits(), 128),
    }
}

impl Cidr {
    /// Returns whether the address lies inside.
    pub fn contains(&self, ip: IpAddr) -> bool {
        let ((mine, width), (other, other_width)) = (bits_of(self.ip), bits_of(ip));
        let shift = u32::from(width - self.bits.min(width));
        width == other_width && mine.checked_shr(shift).unwrap_or(0) == other.checked_shr(shift).unwrap_or(0)
    }

    /// Returns whether the other range lies inside.
    pub fn contains_cidr(&self, other: &Cidr) -> bool {
        self.bits <= other.bits && self.contains(other.ip)
    }

    /// Returns the network with its host bits set to zero.
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
