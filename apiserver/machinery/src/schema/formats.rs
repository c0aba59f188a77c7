//! String formats (`go-openapi/strfmt`, as kube-apiserver includes it) and patterns.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regex::Regex;

pub use super::pattern_size::size;
use crate::limits::{MAX_PATTERN_SIZE, MAX_PATTERNS_SIZE, MAX_SHARED_PATTERNS};

/// A pattern that is compiled at its first use. Equality and cloning ignore it, because it derives from the schema.
#[derive(Debug, Default)]
pub struct Matcher(OnceLock<Option<Arc<Regex>>>);

impl Clone for Matcher {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Matcher {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Matcher {
    /// Returns whether the pattern matches somewhere in the text. A pattern that does not compile matches nothing;
    /// CustomResourceDefinitions with such patterns are refused.
    pub fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.0.get_or_init(|| shared(pattern).ok()).as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

/// Compiled patterns of schemas. Many fields have the same pattern, and compiling one takes about a hundred times as
/// long as matching.
static SHARED: Mutex<BTreeMap<String, Arc<Regex>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The number of states that this thread may still compile, or `None` without a limit.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` with a limit of [`MAX_PATTERNS_SIZE`] states for all patterns that it compiles. Patterns beyond the
/// limit fail to compile.
pub fn limited<T>(work: impl FnOnce() -> T) -> T {
    LEFT.set(Some(MAX_PATTERNS_SIZE));
    let done = work();
    LEFT.set(None);
    done
}

/// Compiles a pattern like [`compile`] and caches it. The cache is for patterns of schemas and rules, not for those of
/// requests.
pub fn shared(pattern: &str) -> Result<Arc<Regex>, Box<regex::Error>> {
    let lock = || SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = lock().get(pattern) {
        return Ok(found.clone());
    }
    if let Some(left) = LEFT.get() {
        let left = left.checked_sub(size(pattern)).ok_or_else(too_large)?;
        LEFT.set(Some(left));
    }
    let regex = Arc::new(compile(pattern)?);
    let mut shared = lock();
    if shared.len() >= MAX_SHARED_PATTERNS {
        shared.clear();
    }
    shared.insert(pattern.to_owned(), regex.clone());
    Ok(regex)
}

fn too_large() -> Box<regex::Error> {
    Box::new(regex::Error::CompiledTooBig(usize::try_from(MAX_PATTERN_SIZE).unwrap_or(usize::MAX)))
}

/// Compiles a pattern of Go's dialect (RE2). It quotes the text in `\Q...\E` itself, and restricts classes (`\d`, `\w`,
/// `\s`) to ASCII, as in Go. `\z` has the same meaning in both dialects.
///
/// # Errors
/// The pattern is invalid, or larger than [`MAX_PATTERN_SIZE`].
pub fn compile(pattern: &str) -> Result<Regex, Box<regex::Error>> {
    if size(pattern) > MAX_PATTERN_SIZE {
        return Err(too_large());
    }
    let mut written = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(start) = rest.find(r"\Q") {
        written.push_str(&rest[..start]);
        let quoted = &rest[start + 2..];
        let (quoted, after) = quoted.split_once(r"\E").unwrap_or((quoted, ""));
        written.push_str(&regex::escape(quoted));
        rest = after;
    }
    written.push_str(rest);
    for (class, ascii) in [(r"\d", "0-9"), (r"\w", "0-9A-Za-z_"), (r"\s", r"\t\n\f\r ")] {
        written = ascii_class(&written, class, ascii);
    }
    Regex::new(&written).map_err(Box::new)
}

/// Returns Go's message for a pattern that does not compile, or `None` if it compiles.
pub fn problem(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return None;
    }
    if let Some(error) = super::pattern_syntax::error(pattern) {
        return Some(error);
    }
    let error = shared(pattern).err()?;
    Some(match *error {
        regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
        _ => format!("invalid or unsupported syntax: `{pattern}`"),
    })
}

/// Replaces a Unicode class by its ASCII members, inside and outside of brackets.
fn ascii_class(pattern: &str, class: &str, ascii: &str) -> String {
    let letter = class.as_bytes()[1];
    let upper = letter.to_ascii_uppercase();
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut in_brackets = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next) if next as u32 == u32::from(letter) => {
                    out.push_str(&if in_brackets { ascii.to_owned() } else { format!("[{ascii}]") });
                }
                Some(next) if next as u32 == u32::from(upper) => out.push_str(&format!("[^{ascii}]")),
                Some(next) => {
                    out.push('\\');
                    out.push(next);
                }
                None => out.push('\\'),
            },
            '[' if in_brackets && chars.peek() == Some(&':') => {
                // `[:alpha:]` has its own closing bracket.
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if out.ends_with(":]") {
                        break;
                    }
                }
            }
            '[' if in_brackets => out.push_str(r"\["),
            '[' => {
                in_brackets = true;
                out.push('[');
                if chars.peek() == Some(&'^') {
                    chars.next();
                    out.push('^');
                }
                if chars.peek() == Some(&']') {
                    chars.next();
                    out.push_str(r"\]");
                }
            }
            ']' => {
                in_brackets = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

/// Returns whether the server checks this format, for strings or numbers. Dashes in the name are ignored.
pub fn is_checked(format: &str) -> bool {
    const NUMBERS: [&str; 8] =
        ["int32", "int64", "uint32", "uint64", "float", "double", "float32", "float64"];
    NUMBERS.contains(&format) || check(format, "").is_some()
}

/// Returns whether `text` has the format, or `None` for formats that the server does not check.
pub fn check(format: &str, text: &str) -> Option<bool> {
    let format = format.replace('-', "");
    Some(match format.as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|c| c.is_ascii_hexdigit()),
        "uri" => crate::cel::url::parse_request_uri(text).is_ok(),
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
        "duration" => crate::cel::time::parse_openapi_duration(text).is_some(),
        "datetime" => date_time(text),
        "k8sshortname" => super::names::dns1123_label(text).is_empty(),
        "k8slongname" => super::names::dns1123_subdomain(text).is_empty(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_shared_up_to_a_limit() {
        let first = shared("^shared$").unwrap();
        assert!(Arc::ptr_eq(&first, &shared("^shared$").unwrap()));
        for number in 0..=MAX_SHARED_PATTERNS {
            shared(&format!("^{number}$")).unwrap();
        }
        assert!(SHARED.lock().unwrap().len() <= MAX_SHARED_PATTERNS);
        assert!(shared("(").is_err());
        assert!(first.is_match("shared"));
    }

    #[test]
    fn patterns_of_go() {
        for (pattern, text, expected) in [
            (r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "NotAvailable", true),
            (r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "Not-Available", false),
            (r"^[[:alpha:]_]+[0-9]$", "a_1", true),
            (r"^[[:alpha:]_]+[0-9]$", "[1", false),
            (r"^[a[]b$", "[b", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]a]+$", "b]", false),
            (r"^[\d:]+x[\w]$", "1:xy", true),
            (r"^\d$", "٣", false),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} on {text}");
        }
    }
}
