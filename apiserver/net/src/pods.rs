//! The environment of programs that this process starts.

use crate::addresses::is_loopback;
use crate::proxies::{Variable, Variables};
use crate::proxy::Proxy;

/// Returns the variables by which a program reaches other machines through the proxies of this process's environment, which `get` reads.
/// `own` are the hosts and networks that the program reaches without them. A proxy on the loopback of this machine is left out if the
/// program does not reach that. Empty without a proxy.
pub fn for_pods(
    get: impl Fn(&str) -> Option<String>,
    own: &[&str],
    reaches_loopback: bool,
) -> Vec<(String, String)> {
    let Variables { https, http, without } = Variables::of(get);
    let value = |variable: Option<Variable>| variable.map(|variable| variable.value);
    let is_reached =
        |value: &String| reaches_loopback || Proxy::parse(value).is_ok_and(|proxy| !is_loopback(&proxy.host));
    // Programs in Go do not read ALL_PROXY, so each scheme has its variable.
    let (https, http) = (value(https).filter(is_reached), value(http).filter(is_reached));
    if https.is_none() && http.is_none() {
        return Vec::new();
    }
    let mut without: Vec<String> = value(without).into_iter().collect();
    without.extend(own.iter().map(|host| (*host).to_owned()));
    let all = [("HTTPS_PROXY", https), ("HTTP_PROXY", http), ("NO_PROXY", Some(without.join(",")))];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
