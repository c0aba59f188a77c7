//! URLs with the parsing rules of Go's `net/url`.

/// The parts of a URL that CEL functions return.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Url {
    /// The scheme in lower case, for example `https`.
    pub scheme: String,
    /// Host and port as written.
    pub host: String,
    /// The path as written, with valid escapes.
    pub path: String,
    /// The text after `?`.
    pub query: String,
}

/// Parses an absolute URL or an absolute path like Go's `url.ParseRequestURI`.
///
/// # Errors
/// Go's message without `parse "...": `.
pub fn parse_request_uri(text: &str) -> Result<Url, String> {
    read(text, true)
}

/// Parses any URL without a fragment like Go's `url.Parse`.
///
/// # Errors
/// As for [`parse_request_uri`].
pub fn parse(text: &str) -> Result<Url, String> {
    read(text, false)
}

/// Parses a URL. With `absolute`, a URL without a scheme must begin with a slash.
fn read(text: &str, absolute: bool) -> Result<Url, String> {
    if text.bytes().any(|c| c < 0x20 || c == 0x7f) {
        return Err("net/url: invalid control character in URL".into());
    }
    if text.is_empty() && absolute {
        return Err("empty url".into());
    }
    let mut url = Url::default();
    let rest = scheme(text, &mut url)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query.to_owned();
    if !rest.starts_with('/') {
        // The URL is opaque, for example `mailto:x`.
        if !url.scheme.is_empty() {
            return Ok(url);
        }
        if absolute {
            return Err("invalid URI for request".into());
        }
        if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
            return Err("first path segment in URL cannot contain colon".into());
        }
    }
    let path = match rest.strip_prefix("//").filter(|_| !url.scheme.is_empty() || !rest.starts_with("///")) {
        Some(authority) => {
            let at = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at(at);
            url.host = host(authority.rsplit_once('@').map_or(authority, |(_, host)| host))?;
            path
        }
        None => rest,
    };
    escapes(path)?;
    url.path = path.to_owned();
    Ok(url)
}

fn scheme<'a>(text: &'a str, url: &mut Url) -> Result<&'a str, String> {
    for (i, c) in text.bytes().enumerate() {
        match c {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".into()),
            b':' => {
                url.scheme = text[..i].to_ascii_lowercase();
                return Ok(&text[i + 1..]);
            }
            _ => break,
        }
    }
    Ok(text)
}

fn host(authority: &str) -> Result<String, String> {
    let port = match authority.strip_prefix('[') {
        Some(rest) => match rest.rfind(']') {
            Some(end) => &rest[end + 1..],
            None => return Err("missing ']' in host".into()),
        },
        None => authority.rfind(':').map_or("", |at| &authority[at..]),
    };
    let valid_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|c| c.is_ascii_digit()));
    if !valid_port {
        return Err(format!("invalid port {port:?} after host"));
    }
    if let Some(bad) =
        authority.chars().find(|c| matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'))
    {
        return Err(format!("invalid character {:?} in host name", bad.to_string()));
    }
    escapes(authority)?;
    Ok(authority.to_owned())
}

fn escapes(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    for (i, _) in bytes.iter().enumerate().filter(|(_, c)| **c == b'%') {
        let code = &bytes[i..bytes.len().min(i + 3)];
        if code.len() < 3 || !code[1..].iter().all(u8::is_ascii_hexdigit) {
            return Err(format!("invalid URL escape \"{}\"", String::from_utf8_lossy(code)));
        }
    }
    Ok(())
}

/// Percent-encodes content that is to be one value of a query, or the data of a URL: everything but unreserved characters (RFC 3986).
pub fn encode(content: impl AsRef<[u8]>) -> String {
    let content = content.as_ref();
    let mut encoded = String::with_capacity(content.len());
    for byte in content {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            encoded.push(char::from(*byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// Returns the path with all necessary escapes. A path that needs none is returned as written.
pub fn escaped(path: &str) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&c);
    if path.bytes().all(|c| plain(c) || b"!'()*[]%".contains(&c)) {
        return path.to_owned();
    }
    let (bytes, mut out, mut at) = (path.as_bytes(), String::with_capacity(path.len() * 2), 0);
    while at < bytes.len() {
        let code = path.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let byte = match (bytes[at], code) {
            (b'%', Some(code)) => {
                at += 2;
                code
            }
            (byte, _) => byte,
        };
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        at += 1;
    }
    out
}
