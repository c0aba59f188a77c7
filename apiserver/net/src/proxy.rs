//! The address of a proxy.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use http::uri::Authority;
use percent_encoding::percent_decode_str;

use crate::addresses::without_brackets;

/// What a proxy speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP, with CONNECT for what is encrypted.
    Http,
    /// The same over TLS.
    Https,
    /// SOCKS 5. The proxy resolves names.
    Socks,
}

/// A proxy. Neither of its texts has the credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(crate) protocol: Protocol,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) credentials: Option<Credentials>,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Vec<u8>,
    pub(crate) password: Vec<u8>,
}

impl Proxy {
    /// Reads an address: `[SCHEME://][USER:PASSWORD@]HOST[:PORT]`, with the schemes `http` (the default), `https`, `socks5` and `socks5h`.
    /// Characters of the credentials may be percent-encoded. What follows the port is ignored.
    ///
    /// # Errors
    /// What is wrong, without the credentials.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let (protocol, default_port) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Protocol::Http, 80),
            "https" => (Protocol::Https, 443),
            "socks5" | "socks5h" => (Protocol::Socks, 1080),
            _ => return Err("its scheme is none of http, https, socks5 and socks5h".to_owned()),
        };
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (credentials, address) = match rest.rsplit_once('@') {
            Some((credentials, address)) => (Some(Credentials::parse(credentials)), address),
            None => (None, rest),
        };
        let authority: Authority =
            address.parse().map_err(|_| "it has no host, or characters that no host has".to_owned())?;
        let port = match authority.as_str().strip_prefix(authority.host()) {
            Some("") | Some(":") => default_port,
            _ => authority.port_u16().ok_or("its port is no number from 1 to 65535")?,
        };
        let host = without_brackets(authority.host()).to_lowercase();
        if host.is_empty() {
            return Err("it has no host".to_owned());
        }
        Ok(Self { protocol, host, port, credentials })
    }

    /// The value of the header `Proxy-Authorization`, if there are credentials.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let Credentials { user, password } = self.credentials.as_ref()?;
        let encoded = STANDARD.encode([user.as_slice(), b":", password].concat());
        let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl Credentials {
    fn parse(text: &str) -> Self {
        let (user, password) = text.split_once(':').unwrap_or((text, ""));
        let decoded = |text| percent_decode_str(text).collect();
        Self { user: decoded(user), password: decoded(password) }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.protocol {
            Protocol::Http => "http",
            Protocol::Https => "https",
            Protocol::Socks => "socks5",
        };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}", self.host, self.port)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
