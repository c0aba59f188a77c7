//! The proxies that environment variables name.

use std::sync::{Arc, OnceLock};

use http::Uri;

use crate::addresses::is_own;
use crate::addresses::without_brackets;
use crate::bypass::Bypass;
use crate::dial::Scheme;
use crate::error::Error;
use crate::inside::is_inside;
use crate::proxy::{Protocol, Proxy};

/// The variables with a proxy for addresses that begin with `https`, and for those that begin with `http`, by precedence.
const HTTPS: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const HTTP: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
const NO: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// The variable by which a program knows that a web server has started it for a request. Then the client's header `Proxy` is in
/// `HTTP_PROXY`.
const REQUEST: &str = "REQUEST_METHOD";

/// What an environment says of proxies.
pub(crate) struct Variables {
    pub(crate) https: Option<Variable>,
    pub(crate) http: Option<Variable>,
    pub(crate) without: Option<Variable>,
}

/// A variable that is set, with its value.
pub(crate) struct Variable {
    name: &'static str,
    pub(crate) value: String,
}

impl Variables {
    /// Reads the variables through `get`. A variable with an empty value counts as not set.
    pub(crate) fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        let found = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let is_request = found(REQUEST).is_some();
        let first = |names: &[&'static str]| {
            let allowed = names.iter().filter(|name| !(is_request && **name == "HTTP_PROXY"));
            allowed.copied().find_map(|name| Some(Variable { name, value: found(name)? }))
        };
        Self { https: first(&HTTPS), http: first(&HTTP), without: first(&NO) }
    }
}

/// Through which proxies other machines are reached. The rules are Go's, and so those of kubectl and of upstream's managers; in addition
/// `ALL_PROXY` counts, and addresses of this machine and of networks inside it are reached without a proxy.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    https: Option<Named>,
    http: Option<Named>,
    bypass: Bypass,
    /// Whether even this machine is reached through the proxy.
    is_for_all: bool,
}

/// A proxy, or what is wrong with it, and the variable with its address.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    proxy: Result<Proxy, String>,
}

impl Proxies {
    /// No proxies.
    pub fn none() -> Self {
        Self::default()
    }

    /// The proxies of this process's environment, as it was when they were needed first.
    pub fn of_process() -> Arc<Self> {
        static PROXIES: OnceLock<Arc<Proxies>> = OnceLock::new();
        let read = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        PROXIES.get_or_init(|| Arc::new(Self::of(read))).clone()
    }

    /// The proxies of an environment whose variables `get` reads. What is wrong with one is an error only when it is needed.
    pub fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        let Variables { https, http, without } = Variables::of(get);
        let named = |Variable { name, value }| Named { name: name.to_owned(), proxy: Proxy::parse(&value) };
        let bypass = without.map(|without| Bypass::parse(&without.value)).unwrap_or_default();
        Self { https: https.map(named), http: http.map(named), bypass, is_for_all: false }
    }

    /// One proxy for every address, which `name` calls, for example `proxy-url`.
    pub fn fixed(name: &str, url: &str) -> Self {
        let named = Named { name: name.to_owned(), proxy: Proxy::parse(url) };
        let https = Some(named.clone());
        Self { https, http: Some(named), bypass: Bypass::default(), is_for_all: true }
    }

    /// Returns the proxy through which a host is reached; `None` for a direct connection.
    ///
    /// # Errors
    /// The host is reached through a proxy, and its variable is not the address of one.
    pub fn find(&self, scheme: Scheme, host: &str, port: u16) -> Result<Option<&Proxy>, Error> {
        let named = match scheme {
            Scheme::Https => self.https.as_ref(),
            Scheme::Http => self.http.as_ref(),
        };
        let Some(Named { name, proxy }) = named else { return Ok(None) };
        let host = without_brackets(host).to_lowercase();
        if !self.is_for_all && (is_own(&host) || self.bypass.covers(&host, port) || is_inside(&host)) {
            return Ok(None);
        }
        let invalid = |why: &String| Error::Variable { name: name.clone(), why: why.clone() };
        proxy.as_ref().map(Some).map_err(invalid)
    }

    /// Returns the proxy that reads a request and may answer it: one over HTTP without TLS. A proxy carries only the bytes of others.
    pub(crate) fn reader(&self, uri: &Uri) -> Option<&Proxy> {
        let scheme = Scheme::of(uri);
        if scheme == Scheme::Https {
            return None;
        }
        let proxy = self.find(scheme, uri.host()?, scheme.port(uri)).ok()??;
        Some(proxy).filter(|proxy| proxy.protocol != Protocol::Socks)
    }
}
