//! Kubernetes' CEL library: quantities, semantic versions, IP addresses, URLs and named formats.

use std::net::IpAddr;
use std::rc::Rc;

use machinery::field::quote;
use machinery::names;
use machinery::quantity::{Quantity, SHAPE};
use machinery::schema::formats;
use machinery::url::{Url, escaped, parse_request_uri};

use crate::values::{Cidr, Failure, NO_OVERLOAD, Outcome, Semver, Val, parse_cidr, parse_ip};

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    parsers(name, args)
        .or_else(|| quantities(name, args))
        .or_else(|| versions(name, args))
        .or_else(|| addresses(name, args))
        .or_else(|| urls(name, args))
        .or_else(|| named_formats(name, args))
}

fn url<'a>(text: &str) -> Outcome<'a> {
    match parse_request_uri(text) {
        // The URL is validated with its fragment, but its value has none.
        Ok(url) => {
            let plain = text.split_once('#').and_then(|(plain, _)| parse_request_uri(plain).ok());
            Ok(Val::Url(Rc::new(plain.unwrap_or(url))))
        }
        Err(why) => {
            let quoted = quote(text);
            Err(format!("URL parse error during conversion from string: parse {quoted}: {why}").into())
        }
    }
}

fn is_url(text: &str) -> bool {
    parse_request_uri(text).is_ok_and(|url| {
        let absolute = text.starts_with('/');
        absolute || !url.scheme.is_empty()
    })
}

fn parsers<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let fail = |why: String| -> Outcome<'a> { Err(Failure::Owned(why)) };
    let (text, normalize) = match args {
        [Val::Text(text)] => (&**text, false),
        [Val::Text(text), Val::Bool(normalize)] if matches!(name, "semver" | "isSemver") => {
            (&**text, *normalize)
        }
        _ => return None,
    };
    Some(match name {
        "quantity" => match Quantity::parse(text) {
            Ok(quantity) => Ok(Val::Quantity(Rc::new(quantity))),
            Err(_) => Err(Failure::Borrowed(SHAPE)),
        },
        "isQuantity" => Ok(Val::Bool(Quantity::parse(text).is_ok())),
        "semver" => Semver::parse(text, normalize).map(|v| Val::Semver(Rc::new(v))).or_else(fail),
        "isSemver" => Ok(Val::Bool(Semver::parse(text, normalize).is_ok())),
        "ip" => parse_ip(text).map(Val::Ip).or_else(fail),
        "isIP" => Ok(Val::Bool(parse_ip(text).is_ok())),
        "ip.isCanonical" => match parse_ip(text) {
            Ok(ip) => Ok(Val::Bool(ip.to_string() == text)),
            Err(why) => fail(why),
        },
        "cidr" => parse_cidr(text).map(Val::Cidr).or_else(fail),
        "isCIDR" => Ok(Val::Bool(parse_cidr(text).is_ok())),
        "url" => url(text),
        "isURL" => Ok(Val::Bool(is_url(text))),
        "format.named" => Ok(Val::Optional(named(text).map(|found| Rc::new(Val::Format(found))))),
        _ => return None,
    })
}

fn quantities<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let (Val::Quantity(me), rest) = args.split_first()? else { return None };
    let other = match rest {
        [] => None,
        [Val::Quantity(other)] => Some(**other),
        [Val::Int(n)] if matches!(name, "add" | "sub") => Some(Quantity::from_int(*n)),
        _ => return None,
    };
    Some(Ok(match (name, other) {
        ("isGreaterThan", Some(other)) => Val::Bool(me.compare(&other).is_gt()),
        ("isLessThan", Some(other)) => Val::Bool(me.compare(&other).is_lt()),
        ("compareTo", Some(other)) => Val::Int(me.compare(&other) as i64),
        ("add", Some(other)) => Val::Quantity(Rc::new(me.add(&other)?)),
        ("sub", Some(other)) => Val::Quantity(Rc::new(me.sub(&other)?)),
        ("sign", None) => Val::Int(me.sign()),
        ("isInteger", None) => Val::Bool(me.as_int().is_some()),
        ("asInteger", None) => match me.as_int() {
            Some(n) => Val::Int(n),
            None => return Some(Err("cannot convert value to integer".into())),
        },
        ("asApproximateFloat", None) => Val::Double(me.as_float()),
        _ => return None,
    }))
}

fn versions<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(Ok(match args {
        [Val::Semver(me)] => {
            let at = ["major", "minor", "patch"].iter().position(|part| *part == name)?;
            Val::Int(i64::try_from(me.numbers[at]).ok()?)
        }
        [Val::Semver(me), Val::Semver(other)] => match name {
            "isGreaterThan" => Val::Bool(me.compare(other).is_gt()),
            "isLessThan" => Val::Bool(me.compare(other).is_lt()),
            "compareTo" => Val::Int(me.compare(other) as i64),
            _ => return None,
        },
        _ => return None,
    }))
}

fn addresses<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    Some(Ok(match args {
        [Val::Ip(ip)] => match name {
            "family" => Val::Int(if ip.is_ipv4() { 4 } else { 6 }),
            "isUnspecified" => Val::Bool(ip.is_unspecified()),
            "isLoopback" => Val::Bool(ip.is_loopback()),
            "isLinkLocalMulticast" => Val::Bool(link_local_multicast(ip)),
            "isLinkLocalUnicast" => Val::Bool(link_local_unicast(ip)),
            "isGlobalUnicast" => Val::Bool(global_unicast(ip)),
            "string" => Val::text(ip.to_string()),
            _ => return None,
        },
        [Val::Cidr(cidr)] => match name {
            "ip" => Val::Ip(cidr.ip),
            "masked" => Val::Cidr(cidr.masked()),
            "prefixLength" => Val::Int(cidr.bits.into()),
            "string" => Val::text(format!("{}/{}", cidr.ip, cidr.bits)),
            _ => return None,
        },
        [Val::Cidr(cidr), other] => return within(name, cidr, other),
        _ => return None,
    }))
}

fn within<'a>(name: &str, cidr: &Cidr, other: &Val<'a>) -> Option<Outcome<'a>> {
    Some(match (name, other) {
        ("containsIP", Val::Ip(ip)) => Ok(Val::Bool(cidr.contains(*ip))),
        ("containsIP", Val::Text(text)) => {
            // The error of kube-apiserver does not say what is wrong with the text.
            parse_ip(text).map(|ip| Val::Bool(cidr.contains(ip))).map_err(|_| NO_OVERLOAD)
        }
        ("containsCIDR", Val::Cidr(other)) => Ok(Val::Bool(cidr.contains_cidr(other))),
        ("containsCIDR", Val::Text(text)) => {
            parse_cidr(text).map(|other| Val::Bool(cidr.contains_cidr(&other))).map_err(Failure::Owned)
        }
        _ => return None,
    })
}

fn link_local_unicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn link_local_multicast(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn global_unicast(ip: &IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(broadcast || ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || link_local_unicast(ip))
}

fn urls<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    let [Val::Url(url)] = args else { return None };
    let (hostname, port) = split_port(&url.host);
    Some(Ok(match name {
        "getScheme" => Val::text(url.scheme.clone()),
        "getHost" => Val::text(url.host.clone()),
        "getHostname" => Val::text(hostname),
        "getPort" => Val::text(port),
        "getEscapedPath" => Val::text(escaped(&url.path)),
        "getQuery" => query(url),
        _ => return None,
    }))
}

fn split_port(host: &str) -> (&str, &str) {
    if let Some(rest) = host.strip_prefix('[') {
        let (name, after) = rest.split_once(']').unwrap_or((rest, ""));
        return (name, after.trim_start_matches(':'));
    }
    host.rsplit_once(':').unwrap_or((host, ""))
}

fn query<'a>(url: &Url) -> Val<'a> {
    let mut entries: Vec<(Val<'a>, Vec<Val<'a>>)> = Vec::new();
    for part in url.query.split('&').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let (key, value) = (Val::text(decode(key)), Val::text(decode(value)));
        match entries.iter_mut().find(|(found, _)| found.equals(&key)) {
            Some((_, values)) => values.push(value),
            None => entries.push((key, vec![value])),
        }
    }
    Val::map(entries.into_iter().map(|(key, values)| (key, Val::list(values))).collect())
}

fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let code = text.get(i + 1..i + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[i], code) {
            (b'%', Some(code)) => {
                out.push(code);
                i += 2;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        i += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

const FORMATS: [&str; 13] = [
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
];

fn named(name: &str) -> Option<&'static str> {
    FORMATS.iter().find(|known| **known == name).copied()
}

fn named_formats<'a>(name: &str, args: &[Val<'a>]) -> Option<Outcome<'a>> {
    if args.is_empty() {
        return named(name.strip_prefix("format.")?).map(|found| Ok(Val::Format(found)));
    }
    let ("validate", [Val::Format(format), Val::Text(text)]) = (name, args) else { return None };
    // A prefix may end in a dash, so it is validated with a letter after it.
    let prefix = || match text.strip_suffix('-') {
        // Like kube-apiserver, this also drops the character before the dash.
        Some(stem) if !stem.is_empty() => {
            let mut stem = stem.to_owned();
            stem.pop();
            format!("{stem}a")
        }
        _ => text.to_string(),
    };
    let plain = |good: bool, what: &str| if good { Vec::new() } else { vec![what.to_owned()] };
    let known = |name: &str| formats::check(name, text) != Some(false);
    let problems = match *format {
        "dns1123Label" => names::dns1123_label(text),
        "dns1123Subdomain" => names::dns1123_subdomain(text),
        "dns1035Label" => names::dns1035_label(text),
        "qualifiedName" => names::qualified_name(text),
        "labelValue" => names::label_value(text),
        "dns1123LabelPrefix" => names::dns1123_label(&prefix()),
        "dns1123SubdomainPrefix" => names::dns1123_subdomain(&prefix()),
        "dns1035LabelPrefix" => names::dns1035_label(&prefix()),
        "uri" => match parse_request_uri(text) {
            Ok(_) => Vec::new(),
            Err(why) => vec![format!("parse {}: {why}", quote(text))],
        },
        "uuid" => plain(known("uuid"), "does not match the UUID format"),
        "byte" => plain(known("byte"), "invalid base64"),
        "date" => plain(known("date"), "invalid date"),
        _ => plain(known("datetime"), "invalid datetime"),
    };
    Some(Ok(if problems.is_empty() {
        Val::Optional(None)
    } else {
        Val::some(Val::list(problems.into_iter().map(Val::text).collect()))
    }))
}
