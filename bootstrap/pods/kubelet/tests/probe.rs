//! Tables of the pure parts of probes.

use hyper::header::HeaderMap;
use k8s_openapi::api::core::v1::HTTPHeader;
use kubelet::probe::{grpc, http};

#[test]
fn headers_of_a_probe_replace_the_usual_ones() {
    let header =
        |(name, value): &(&str, &str)| HTTPHeader { name: (*name).to_owned(), value: (*value).to_owned() };
    let usual = [("host", "198.18.0.1:80"), ("user-agent", "kube-probe/1.36"), ("accept", "*/*")];
    for (own, name, expected) in [
        (&[][..], "host", &["198.18.0.1:80"][..]),
        (&[], "user-agent", &["kube-probe/1.36"]),
        (&[], "accept", &["*/*"]),
        (&[("Host", "example.org")], "host", &["example.org"]),
        (&[("Host", "")], "host", &["198.18.0.1:80"]),
        (&[("User-Agent", "me")], "user-agent", &["me"]),
        (&[("User-Agent", "")], "user-agent", &[]),
        (&[("accept", "")], "accept", &[]),
        (&[("X-A", "1"), ("x-a", "2")], "x-a", &["1", "2"]),
    ] {
        let own: Vec<HTTPHeader> = own.iter().map(header).collect();
        let made = http::headers(&own, usual[0].1).unwrap();
        let found: Vec<&str> = made.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(found, expected, "{own:?} {name}");
    }
    for wrong in [("a b", "c"), ("a", "b\nc")] {
        assert!(http::headers(&[header(&wrong)], usual[0].1).is_err(), "{wrong:?}");
    }
}

#[test]
fn redirects_are_followed_on_the_same_host() {
    for (location, expected) in [
        ("/there?a=b", Some("/there?a=b")),
        ("http://198.18.0.1:8080/there", Some("/there")),
        ("https://198.18.0.1", Some("/")),
        ("http://other.example/there", None),
        ("//other.example/there", None),
        ("no uri", None),
    ] {
        assert_eq!(http::local(location, "198.18.0.1").as_deref(), expected, "{location}");
    }
}

#[test]
fn health_checks_are_written_and_read() {
    assert_eq!(grpc::message(""), [0, 0, 0, 0, 0]);
    assert_eq!(grpc::message("ab"), [0, 0, 0, 0, 4, 0x0a, 2, b'a', b'b']);
    let long = grpc::message(&"x".repeat(300));
    assert_eq!(long[..8], [0, 0, 0, 1, 47, 0x0a, 0xac, 2]);
    for (code, body, expected) in [
        ("0", &[0, 0, 0, 0, 2, 8, 1][..], ""),
        ("0", &[0, 0, 0, 0, 2, 8, 2], "responded with \"NOT_SERVING\""),
        ("0", &[0, 0, 0, 0, 0], "responded with \"UNKNOWN\""),
        ("0", &[0, 0, 0, 0, 9, 8, 1], "no message"),
        ("0", &[1, 0, 0, 0, 2, 8, 1], "no message"),
        ("0", &[], "no message"),
        ("5", &[], "gRPC code \"5\": no such service"),
        ("12", &[], "does not implement the grpc health protocol"),
        ("", &[0, 0, 0, 0, 2, 8, 1], "gRPC code \"\""),
    ] {
        let mut end = HeaderMap::new();
        end.insert("grpc-status", code.parse().unwrap());
        end.insert("grpc-message", "no such service".parse().unwrap());
        let found = grpc::verdict(&end, body).err().map(|error| format!("{error:#}")).unwrap_or_default();
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{code} {body:?}: {found}"
        );
    }
}
