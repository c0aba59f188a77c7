//! String formats (`go-openapi/strfmt`, as kube-apiserver includes it).

use std::sync::OnceLock;

use regex::Regex;

use super::Kind;
use crate::{duration, names, url};

/// Returns whether the server knows this format for values of that type. All others count as absent. Dashes in the name of a string's format
/// are ignored.
pub fn is_known(kind: Option<Kind>, format: &str) -> bool {
    match kind {
        None | Some(Kind::String) => check(format, "").is_some(),
        Some(Kind::Integer) => matches!(format, "int32" | "int64"),
        Some(Kind::Number) => matches!(format, "float" | "double"),
        Some(Kind::Object | Kind::Array | Kind::Boolean) => false,
    }
}

/// Returns whether `text` has the format, or `None` for formats that the server does not check.
pub fn check(format: &str, text: &str) -> Option<bool> {
    let format = format.replace('-', "");
    Some(match format.as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|c| c.is_ascii_hexdigit()),
        "uri" => url::parse_request_uri(text).is_ok(),
        "email" => email(text),
        "hostname" => hostname(text),
        "ipv4" => ip(text).is_some_and(|ip| ip_v4(&ip)) && text.contains('.'),
        "ipv6" => ip(text).is_some() && text.contains(':'),
        "cidr" => cidr(text),
        "mac" => mac(text),
        "uuid" => pattern(UUID, &UUID_CELL, text),
        "uuid3" => uuid_version(text, '3', false),
        "uuid4" => uuid_version(text, '4', true),
        "uuid5" => uuid_version(text, '5', true),
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "creditcard" => credit_card(text),
        "ssn" => pattern(SSN, &SSN_CELL, text),
        "hexcolor" => pattern(HEX_COLOR, &HEX_COLOR_CELL, text),
        "rgbcolor" => pattern(RGB_COLOR, &RGB_COLOR_CELL, text),
        "byte" => base64(text),
        "password" => true,
        "date" => chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok() && text.len() == 10,
        "duration" => duration::parse_openapi(text).is_some(),
        "datetime" => date_time(text),
        "k8sshortname" => names::dns1123_label(text).is_empty(),
        "k8slongname" => names::dns1123_subdomain(text).is_empty(),
        _ => return None,
    })
}

const UUID: &str = r"^(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
static UUID_CELL: OnceLock<Option<Regex>> = OnceLock::new();
const SSN: &str = r"^[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}$";
/// One label that may end in a dash, or several labels of which the last consists of letters.
const HOSTNAME: &str = r"^([a-zA-Z0-9\p{S}\p{L}](-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|([a-zA-Z0-9\p{S}\p{L}]([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$";
static HOSTNAME_CELL: OnceLock<Option<Regex>> = OnceLock::new();
static SSN_CELL: OnceLock<Option<Regex>> = OnceLock::new();
const HEX_COLOR: &str = r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
static HEX_COLOR_CELL: OnceLock<Option<Regex>> = OnceLock::new();
const RGB_COLOR: &str = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
static RGB_COLOR_CELL: OnceLock<Option<Regex>> = OnceLock::new();
const CARD: &str = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}|6[27][0-9]{14})$";
static CARD_CELL: OnceLock<Option<Regex>> = OnceLock::new();
const DATE_TIME: &str = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$";
static DATE_TIME_CELL: OnceLock<Option<Regex>> = OnceLock::new();

fn pattern(pattern: &str, cell: &OnceLock<Option<Regex>>, text: &str) -> bool {
    cell.get_or_init(|| Regex::new(pattern).ok()).as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Parses an address like Go's `netutils.ParseIPSloppy`: like `std`, but it ignores leading zeros in IPv4.
fn ip(text: &str) -> Option<std::net::IpAddr> {
    if let Ok(ip) = text.parse() {
        return Some(ip);
    }
    let (head, quad) = text.rfind(':').map_or(("", text), |at| text.split_at(at + 1));
    let plain: Vec<String> = quad
        .split('.')
        .map(|part| {
            let digits = part.trim_start_matches('0');
            if digits.is_empty() && !part.is_empty() { "0".to_owned() } else { digits.to_owned() }
        })
        .collect();
    if plain.len() != 4 {
        return None;
    }
    format!("{head}{}", plain.join(".")).parse().ok()
}

fn ip_v4(ip: &std::net::IpAddr) -> bool {
    match ip {
        std::net::IpAddr::V4(_) => true,
        std::net::IpAddr::V6(ip) => ip.to_ipv4_mapped().is_some(),
    }
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Some(ip) = ip(address) else { return false };
    let limit = if ip.is_ipv4() { 32 } else { 128 };
    !bits.is_empty()
        && bits.bytes().all(|c| c.is_ascii_digit())
        && bits.parse::<u8>().is_ok_and(|bits| bits <= limit)
}

fn mac(text: &str) -> bool {
    let hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|c| c.is_ascii_hexdigit());
    let separated = |separator: char, length: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| hex(part, length))
    };
    separated(':', 2, &[6, 8, 20]) || separated('-', 2, &[6, 8, 20]) || separated('.', 4, &[3, 4, 10])
}

fn uuid_version(text: &str, version: char, variant: bool) -> bool {
    let plain: String = text.chars().filter(|c| *c != '-').collect();
    pattern(UUID, &UUID_CELL, text)
        && plain.chars().nth(12) == Some(version)
        && (!variant || plain.chars().nth(16).is_some_and(|c| "89abAB".contains(c)))
}

fn digits(text: &str) -> Vec<char> {
    text.chars().filter(|c| *c != '-' && *c != ' ').collect()
}

fn isbn10(text: &str) -> bool {
    let digits = digits(text);
    let value = |(i, c): (usize, &char)| match c {
        'X' | 'x' if i == 9 => Some(10),
        c => c.to_digit(10),
    };
    let values: Option<Vec<u32>> = digits.iter().enumerate().map(value).collect();
    values.is_some_and(|values| {
        values.len() == 10 && (1u32..).zip(&values).map(|(i, v)| i * v).sum::<u32>() % 11 == 0
    })
}

fn isbn13(text: &str) -> bool {
    let values: Option<Vec<u32>> = digits(text).iter().map(|c| c.to_digit(10)).collect();
    values.is_some_and(|values| {
        let sum: u32 = values.iter().enumerate().map(|(i, v)| if i % 2 == 0 { *v } else { 3 * v }).sum();
        values.len() == 13 && sum.is_multiple_of(10)
    })
}

fn credit_card(text: &str) -> bool {
    let plain: String = text.chars().filter(char::is_ascii_digit).collect();
    if !pattern(CARD, &CARD_CELL, &plain) {
        return false;
    }
    let sum: u32 = plain
        .chars()
        .rev()
        .filter_map(|c| c.to_digit(10))
        .enumerate()
        .map(|(i, d)| match (i % 2, 2 * d) {
            (0, _) => d,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn email(text: &str) -> bool {
    // `Name <local@domain>` is an address, too.
    let address = match text.split_once('<') {
        Some((_, rest)) => match rest.strip_suffix('>') {
            Some(address) => address,
            None => return false,
        },
        None => text.trim(),
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || "!#$%&'*+/=?^_`{|}~-".contains(c) || !c.is_ascii())
    };
    let quoted = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let quoted = quoted.is_some_and(|inner| !inner.contains(['"', '\\', '\n', '\r']));
    (quoted || local.split('.').all(atom)) && domain.split('.').all(atom)
}

fn hostname(text: &str) -> bool {
    text.len() <= 255
        && text.split('.').all(|label| label.len() <= 63)
        && pattern(HOSTNAME, &HOSTNAME_CELL, text)
}

fn base64(text: &str) -> bool {
    let Some(body) = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).or(Some(text)) else {
        return false;
    };
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && body.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'+' || c == b'/')
}

fn date_time(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    let clock = |from: usize, limit: u8| {
        time.get(from..from + 2).is_some_and(|n| n.parse().is_ok_and(|n: u8| n <= limit))
    };
    date.len() == 10
        && chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").is_ok()
        && pattern(DATE_TIME, &DATE_TIME_CELL, time)
        && clock(0, 23)
        && clock(3, 59)
        && clock(6, 59)
}
