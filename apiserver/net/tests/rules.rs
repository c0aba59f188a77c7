//! Which hosts are reached through which proxy. The rows are those of Go's rules.

use std::collections::BTreeMap;

use net::{Proxies, Scheme, for_pods, is_own_address};

fn proxies(variables: &[(&str, &str)]) -> Proxies {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    Proxies::of(|name| variables.get(name).map(|value| (*value).to_owned()))
}

fn found(variables: &[(&str, &str)], scheme: Scheme, host: &str, port: u16) -> String {
    match proxies(variables).find(scheme, host, port) {
        Ok(Some(proxy)) => proxy.to_string(),
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn no_proxy_has_the_rules_of_go() {
    for (without, host, port, is_direct) in [
        ("example.com", "example.com", 443, true),
        ("example.com", "EXAMPLE.COM", 443, true),
        ("example.com", "a.example.com", 443, true),
        ("example.com", "notexample.com", 443, false),
        (".example.com", "a.b.example.com", 443, true),
        (".example.com", "example.com", 443, false),
        ("*.example.com", "a.example.com", 443, true),
        ("*.example.com", "example.com", 443, false),
        ("a.com, ,b.com", "b.com", 443, true),
        ("example.com:443", "example.com", 443, true),
        ("example.com:8443", "example.com", 443, false),
        (".example.com:443", "a.example.com", 443, true),
        ("192.0.2.7", "192.0.2.7", 443, true),
        ("192.0.2.7:80", "192.0.2.7", 443, false),
        ("192.0.2.7:443", "192.0.2.7", 443, true),
        ("192.0.2.0/24", "192.0.2.200", 443, true),
        ("192.0.2.0/24", "192.0.3.1", 443, false),
        ("0.0.0.0/0", "198.51.100.1", 443, true),
        ("192.0.2.0/33", "192.0.2.1", 443, false),
        ("2001:db8::/32", "2001:db8::1", 443, true),
        ("2001:db8::/32", "[2001:db8::1]", 443, true),
        ("::/0", "2001:db8::1", 443, true),
        ("2001:db8::1", "2001:db8::1", 443, true),
        ("[2001:db8::1]:443", "2001:db8::1", 443, true),
        ("[2001:db8::1]:80", "2001:db8::1", 443, false),
        ("192.0.2.1", "::ffff:192.0.2.1", 443, true),
        // A name is not an address, even if it ends alike.
        (".7", "192.0.2.7", 443, false),
        ("*", "example.com", 443, true),
        ("*", "192.0.2.1", 443, true),
        ("a.com,*", "example.com", 443, true),
        ("", "example.com", 443, false),
        (":443", "example.com", 443, false),
    ] {
        let variables = [("HTTPS_PROXY", "http://proxy.test:3128"), ("NO_PROXY", without)];
        let expected = if is_direct { "none" } else { "http://proxy.test:3128" };
        assert_eq!(found(&variables, Scheme::Https, host, port), expected, "{without:?} {host}");
    }
}

#[test]
fn this_machine_is_never_behind_a_proxy() {
    let own = [
        "localhost",
        "LOCALHOST",
        "api.localhost",
        "127.0.0.1",
        "127.8.8.8",
        "::1",
        "[::1]",
        "::ffff:127.0.0.1",
        "0.0.0.0",
    ];
    for proxy in ["http://proxy.test:3128", "nonsense://", "socks5://proxy.test", "http://["] {
        for host in own {
            assert_eq!(found(&[("HTTPS_PROXY", proxy)], Scheme::Https, host, 6443), "none", "{host}");
        }
    }
}

#[test]
fn own_addresses_are_known() {
    for (address, is_own) in
        [("127.0.0.1", true), ("::ffff:127.0.0.1", true), ("192.0.2.1", false), ("2001:db8::1", false)]
    {
        assert_eq!(is_own_address(address.parse().unwrap()), is_own, "{address}");
    }
}

#[test]
fn the_variables_have_their_precedence() {
    let https = |variables: &[(&str, &str)]| found(variables, Scheme::Https, "example.com", 443);
    let http = |variables: &[(&str, &str)]| found(variables, Scheme::Http, "example.com", 80);
    assert_eq!(https(&[("HTTPS_PROXY", "http://upper"), ("https_proxy", "http://lower")]), "http://upper:80");
    assert_eq!(https(&[("HTTPS_PROXY", " "), ("https_proxy", "http://lower")]), "http://lower:80");
    assert_eq!(https(&[("HTTP_PROXY", "http://one")]), "none");
    assert_eq!(http(&[("HTTP_PROXY", "http://one")]), "http://one:80");
    assert_eq!(http(&[("HTTPS_PROXY", "http://one")]), "none");
    assert_eq!(https(&[("ALL_PROXY", "socks5://one")]), "socks5://one:1080");
    assert_eq!(http(&[("all_proxy", "socks5h://one:1081")]), "socks5://one:1081");
    assert_eq!(https(&[("ALL_PROXY", "http://all"), ("HTTPS_PROXY", "http://one")]), "http://one:80");
    assert_eq!(https(&[("ALL_PROXY", "http://all"), ("no_proxy", "example.com")]), "none");
    // In a program that a web server starts, a client chooses HTTP_PROXY.
    assert_eq!(http(&[("HTTP_PROXY", "http://evil"), ("REQUEST_METHOD", "GET")]), "none");
    assert_eq!(http(&[("http_proxy", "http://own"), ("REQUEST_METHOD", "GET")]), "http://own:80");
}

#[test]
fn a_proxy_that_a_kubeconfig_names_is_for_every_address() {
    let proxies = Proxies::fixed("proxy-url", "socks5://127.0.0.1:1080");
    let found = proxies.find(Scheme::Https, "127.0.0.1", 6443).unwrap().unwrap();
    assert_eq!(found.to_string(), "socks5://127.0.0.1:1080");
}

#[test]
fn addresses_of_proxies_are_read_as_by_go() {
    for (text, expected) in [
        ("proxy.test", "http://proxy.test:80"),
        ("proxy.test:3128", "http://proxy.test:3128"),
        ("http://proxy.test:3128/path?x", "http://proxy.test:3128"),
        ("HTTPS://Proxy.test", "https://proxy.test:443"),
        ("user:p%40ss@proxy.test:3128", "http://proxy.test:3128"),
        ("http://user:p@ss@proxy.test:3128", "http://proxy.test:3128"),
        ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128"),
        ("socks5h://proxy.test", "socks5://proxy.test:1080"),
    ] {
        assert_eq!(found(&[("HTTPS_PROXY", text)], Scheme::Https, "example.com", 443), expected);
    }
    for (text, expected) in [
        ("ftp://secret:word@proxy.test", "its scheme is none of"),
        ("socks4://proxy.test", "its scheme is none of"),
        ("http://", "no host"),
        ("http://proxy.test:port", "its port"),
        ("http://proxy.test:99999", "its port"),
        ("http://pro xy", "no host, or characters"),
        ("http://user:secret@", "no host"),
    ] {
        let message = found(&[("https_proxy", text)], Scheme::Https, "example.com", 443);
        assert!(message.starts_with("https_proxy is not the address of a proxy: "), "{message}");
        assert!(message.contains(expected), "{text}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[test]
fn programs_get_the_proxies_without_what_is_theirs() {
    let pods = |variables: &[(&str, &str)]| {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        for_pods(|name| variables.get(name).map(|value| (*value).to_owned()), &["198.19.0.1", ".svc"], false)
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(pods(&[("NO_PROXY", "a.com")]), []);
    assert_eq!(pods(&[("HTTPS_PROXY", "http://127.0.0.1:3128")]), []);
    // In a program that a web server starts, a client chooses HTTP_PROXY.
    assert_eq!(pods(&[("HTTP_PROXY", "http://evil"), ("REQUEST_METHOD", "GET")]), []);
    assert_eq!(
        pods(&[("https_proxy", "http://u:p@proxy.test:3128"), ("no_proxy", "a.com")]),
        [pair("HTTPS_PROXY", "http://u:p@proxy.test:3128"), pair("NO_PROXY", "a.com,198.19.0.1,.svc")]
    );
    assert_eq!(
        pods(&[("ALL_PROXY", "socks5://proxy.test")]),
        [
            pair("HTTPS_PROXY", "socks5://proxy.test"),
            pair("HTTP_PROXY", "socks5://proxy.test"),
            pair("NO_PROXY", "198.19.0.1,.svc")
        ]
    );
}
