//! The environment of programs that this process starts.

use crate::addresses::is_loopback;
use crate::proxy::Proxy;

/// Returns the variables by which a program reaches other machines through the proxies of this process's environment, which `get` reads.
/// `own` are the hosts and networks that the program reaches without them. A proxy on the loopback of this machine is left out if the
/// program does not reach that. Empty without a proxy.
pub fn for_pods(
    get: impl Fn(&str) -> Option<String>,
    own: &[&str],
    reaches_loopback: bool,
) -> Vec<(String, String)> {
    let found =
        |names: &[&str]| names.iter().find_map(|name| get(name).filter(|value| !value.trim().is_empty()));
    let is_reached =
        |value: &String| reaches_loopback || Proxy::parse(value).is_ok_and(|proxy| !is_loopback(&proxy.host));
    // Programs in Go do not read ALL_PROXY.
    let https = found(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]).filter(is_reached);
    let http = found(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]).filter(is_reached);
    if https.is_none() && http.is_none() {
        return Vec::new();
    }
    let mut without: Vec<String> = found(&["NO_PROXY", "no_proxy"]).into_iter().collect();
    without.extend(own.iter().map(|host| (*host).to_owned()));
    let all = [("HTTPS_PROXY", https), ("HTTP_PROXY", http), ("NO_PROXY", Some(without.join(",")))];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
