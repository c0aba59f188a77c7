//! URLs, taken apart into maps and joined again, as Go's package `net/url` does.

use std::collections::BTreeMap;

use super::{Arguments, Function, Parameter, function};
use crate::error::Outcome;
use crate::values::{Map, MapType, Value, Work};
use Parameter::Text;

pub(super) const FUNCTIONS: &[Function] =
    &[function("urlParse", &[Text], parse), function("urlJoin", &[Parameter::Map], join)];

/// Where text stands in a URL, which decides on what is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    User,
    Host,
    Path,
    Query,
    Fragment,
}

/// Whether a byte is escaped.
fn is_escaped(byte: u8, place: Place) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match place {
        Place::Host => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Place::User => !b"$&+,;=".contains(&byte),
        Place::Path => !b"$&+,/:;=@".contains(&byte),
        Place::Query => true,
        Place::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn escaped(text: &[u8], place: Place) -> Vec<u8> {
    let mut output = Vec::new();
    for byte in text {
        match byte {
            b' ' if place == Place::Query => output.push(b'+'),
            byte if is_escaped(*byte, place) => output.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            byte => output.push(*byte),
        }
    }
    output
}

/// Text for the value of a query.
pub(super) fn query_escaped(text: &[u8]) -> Vec<u8> {
    escaped(text, Place::Query)
}

fn unescaped(text: &[u8], place: Place) -> Outcome<Vec<u8>> {
    let mut output = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            if place == Place::Host && first.is_ascii() && is_escaped(*first, place) {
                return Err(format!("the character {:?} in the host of a URL", char::from(*first)).into());
            }
            output.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let plain = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = plain.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(byte) = byte.filter(|byte| place != Place::Host || *byte >= 0x80) else {
            return Err("a wrong escape in a URL".into());
        };
        output.push(byte);
        rest = &after[2..];
    }
    Ok(output)
}

/// The parts of a URL.
#[derive(Debug, Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<Vec<u8>>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

fn split_at_byte(text: &[u8], byte: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|known| *known == byte) {
        Some(position) => (&text[..position], Some(&text[position + 1..])),
        None => (text, None),
    }
}

/// The scheme, if there is one, and the rest.
fn scheme(text: &[u8]) -> Outcome<(Vec<u8>, &[u8])> {
    for (position, byte) in text.iter().enumerate() {
        match byte {
            byte if byte.is_ascii_alphabetic() => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if position > 0 => {}
            b':' if position == 0 => return Err("a URL without a scheme before its colon".into()),
            b':' => return Ok((text[..position].to_ascii_lowercase(), &text[position + 1..])),
            _ => break,
        }
    }
    Ok((Vec::new(), text))
}

impl Url {
    fn parse(text: &[u8]) -> Outcome<Url> {
        let (text, fragment) = split_at_byte(text, b'#');
        if text.iter().any(|byte| *byte < 0x20 || *byte == 0x7f) {
            return Err("a control character in a URL".into());
        }
        let mut url = Url::default();
        if let Some(fragment) = fragment {
            url.fragment = unescaped(fragment, Place::Fragment)?;
        }
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme;
        let (rest, query) = split_at_byte(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if split_at_byte(rest, b'/').0.contains(&b':') {
                return Err("a colon in the first part of a URL's path".into());
            }
        }
        let has_authority = rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///"));
        let mut path = rest;
        if has_authority {
            let end = rest[2..].iter().position(|byte| *byte == b'/').map_or(rest.len(), |end| end + 2);
            url.authority(&rest[2..end])?;
            path = &rest[end..];
        }
        url.path = unescaped(path, Place::Path)?;
        Ok(url)
    }

    fn authority(&mut self, text: &[u8]) -> Outcome<()> {
        let at = text.iter().rposition(|byte| *byte == b'@');
        self.host = host(&text[at.map_or(0, |at| at + 1)..])?;
        let Some(user) = at.map(|at| &text[..at]) else { return Ok(()) };
        let is_valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !user.iter().all(is_valid) {
            return Err("a wrong character in the user of a URL".into());
        }
        let (name, password) = split_at_byte(user, b':');
        let mut shown = escaped(&unescaped(name, Place::User)?, Place::User);
        if let Some(password) = password {
            shown.push(b':');
            shown.extend(escaped(&unescaped(password, Place::User)?, Place::User));
        }
        self.user = Some(shown);
        Ok(())
    }

    /// The host without its port and without brackets.
    fn hostname(&self) -> &[u8] {
        let host = self.host.as_slice();
        if let Some(inner) = host.strip_prefix(b"[") {
            return split_at_byte(inner, b']').0;
        }
        let colon = host.iter().rposition(|byte| *byte == b':');
        match colon.filter(|colon| is_port(&host[*colon..])) {
            Some(colon) => &host[..colon],
            None => host,
        }
    }
}

fn is_port(text: &[u8]) -> bool {
    text.is_empty() || text[0] == b':' && text[1..].iter().all(u8::is_ascii_digit)
}

/// The host with its port.
fn host(text: &[u8]) -> Outcome<Vec<u8>> {
    let port = if text.starts_with(b"[") {
        let Some(end) = text.iter().rposition(|byte| *byte == b']') else {
            return Err("the address of a URL has no ] at its end".into());
        };
        &text[end + 1..]
    } else {
        text.iter().position(|byte| *byte == b':').map_or(&b""[..], |colon| &text[colon..])
    };
    if !is_port(port) {
        return Err(format!("{:?} is no port", String::from_utf8_lossy(port)).into());
    }
    unescaped(text, Place::Host)
}

fn parse(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    work.bytes(a.text(0).len() * 4)?;
    let url = Url::parse(a.text(0))?;
    let hostname = url.hostname().to_vec();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", url.user.unwrap_or_default()),
    ];
    let entries: BTreeMap<_, _> =
        parts.into_iter().map(|(name, part)| (name.as_bytes().into(), Value::text(part))).collect();
    work.map(MapType::Any, entries)
}

fn part(map: &Map, name: &str) -> Outcome<Vec<u8>> {
    match map.get(name.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Text(text)) => Ok(text.to_vec()),
        Some(other) => Err(format!("{name} is not a string, but {}", other.type_name()).into()),
    }
}

fn join(work: &mut Work, a: &Arguments) -> Outcome<Value> {
    let map = a.map(0);
    let (scheme, opaque) = (part(&map, "scheme")?, part(&map, "opaque")?);
    let (host, path) = (part(&map, "host")?, part(&map, "path")?);
    let (query, fragment) = (part(&map, "query")?, part(&map, "fragment")?);
    let user = part(&map, "userinfo")?;
    let user = match user.as_slice() {
        b"" => None,
        user => Url::parse(&[b"proto://", user, b"@host"].concat())?.user,
    };
    let total = scheme.len() + opaque.len() + host.len() + path.len() + query.len() + fragment.len();
    work.bytes(total * 3)?;
    let mut output = Vec::new();
    if !scheme.is_empty() {
        output.extend([scheme.as_slice(), b":"].concat());
    }
    if opaque.is_empty() {
        hierarchy(&mut output, &scheme, user.as_deref(), &host, &path);
    } else {
        output.extend(opaque);
    }
    if !query.is_empty() {
        output.extend([b"?", query.as_slice()].concat());
    }
    if !fragment.is_empty() {
        output.extend([b"#", escaped(&fragment, Place::Fragment).as_slice()].concat());
    }
    work.text(output)
}

/// The authority and the path.
fn hierarchy(output: &mut Vec<u8>, scheme: &[u8], user: Option<&[u8]>, host: &[u8], path: &[u8]) {
    let named = !host.is_empty() || user.is_some();
    if named || (!scheme.is_empty() && !path.is_empty()) {
        output.extend_from_slice(b"//");
    }
    if let Some(user) = user {
        output.extend([user, b"@"].concat());
    }
    output.extend(escaped(host, Place::Host));
    if !path.is_empty() && !path.starts_with(b"/") && !host.is_empty() {
        output.push(b'/');
    }
    if output.is_empty() && split_at_byte(path, b'/').0.contains(&b':') {
        output.extend_from_slice(b"./");
    }
    output.extend(if path == b"*" { path.to_vec() } else { escaped(path, Place::Path) });
}
