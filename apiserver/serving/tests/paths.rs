//! Paths of resources.

use serving::testing::{ResourcePath, unescaped};

#[test]
fn paths_name_resources() {
    // Columns: path, group and version, namespace, then resource, name, subresource, rest.
    type Case = (&'static str, [&'static str; 2], Option<&'static str>, [&'static str; 4]);
    let core = ["", "v1"];
    let table: &[Case] = &[
        ("/api/v1/namespaces", core, None, ["namespaces", "", "", ""]),
        ("/api/v1/namespaces/", core, None, ["namespaces", "", "", ""]),
        ("/api/v1/namespaces/x", core, None, ["namespaces", "x", "", ""]),
        ("/api/v1/namespaces/x/status", core, None, ["namespaces", "x", "status", ""]),
        ("/api/v1/namespaces/x/status/y", core, None, ["namespaces", "x", "status", "y"]),
        ("/api/v1/namespaces/x/finalize", core, None, ["namespaces", "x", "finalize", ""]),
        ("/api/v1/namespaces/x/secrets", core, Some("x"), ["secrets", "", "", ""]),
        ("/api/v1/namespaces/x//secrets", core, Some("x"), ["", "secrets", "", ""]),
        ("/api/v1/namespaces//secrets", core, Some(""), ["secrets", "", "", ""]),
        ("/api/v1/namespaces//status", core, None, ["namespaces", "", "status", ""]),
        ("/api/v1/namespaces/x/namespaces", core, Some("x"), ["namespaces", "", "", ""]),
        ("/api/v1/namespaces/x/namespaces/y/status", core, Some("x"), ["namespaces", "y", "status", ""]),
        ("/api/v1/namespaces/x/pods/p/proxy/a/b", core, Some("x"), ["pods", "p", "proxy", "a/b"]),
        ("/api/v1/namespaces/x/pods//log", core, Some("x"), ["pods", "", "log", ""]),
        ("/apis/g.io/v1/things/t", ["g.io", "v1"], None, ["things", "t", "", ""]),
        ("/apis/g.io/v1/namespaces/n/things/a:b+c", ["g.io", "v1"], Some("n"), ["things", "a:b+c", "", ""]),
        ("/apis/g.io/v1/namespaces/n", ["g.io", "v1"], Some("n"), ["namespaces", "n", "", ""]),
        ("/apis/g.io/v1/namespaces/n/status", ["g.io", "v1"], Some("n"), ["namespaces", "n", "status", ""]),
        ("/api/v1/watch", core, None, ["watch", "", "", ""]),
        ("/api/v1/watch/pods", core, None, ["pods", "", "", ""]),
        ("/api/v1/watch/namespaces/x/pods/p", core, Some("x"), ["pods", "p", "", ""]),
        ("/api/v1/watch/namespaces/x", core, None, ["namespaces", "x", "", ""]),
    ];
    for (path, [group, version], namespace, [resource, name, subresource, rest]) in table {
        let watch = path.contains("/watch/");
        let expected =
            ResourcePath { group, version, namespace: *namespace, resource, name, subresource, rest, watch };
        assert_eq!(ResourcePath::parse(path), Some(expected), "{path}");
    }
    for path in [
        "/",
        "/api",
        "/api/",
        "/api/v1",
        "/apis/g.io/v1/",
        "/version",
        "/apis/g.io",
        "/api//pods",
        "//api/v1/pods",
    ] {
        assert_eq!(ResourcePath::parse(path), None, "{path}");
    }
}

#[test]
fn escapes_are_read_once() {
    let table = [
        ("/a+b", Some("/a+b")),
        ("/a%2Fb%3a", Some("/a/b:")),
        ("/a%252Fb", Some("/a%2Fb")),
        ("/%c3%a4", Some("/ä")),
        ("/%ff", None),
        ("/%", None),
        ("/%4", None),
        ("/%+4", None),
        ("/%zz", None),
    ];
    for (path, expected) in table {
        assert_eq!(unescaped(path).as_deref(), expected, "{path}");
    }
}
