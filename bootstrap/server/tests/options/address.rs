//! Tests of `server::options::address`.

use server::options::address::{Address, parse_listen};

#[test]
fn a_server_listens_where_people_write_it() {
    for (text, expected) in [
        ("127.0.0.1:6443", "127.0.0.1:6443"),
        ("localhost:6443", "127.0.0.1:6443"),
        ("6443", "127.0.0.1:6443"),
        ("0", "127.0.0.1:0"),
        (":6443", "0.0.0.0:6443"),
        ("[::1]:0", "[::1]:0"),
        ("0.0.0.0:1", "0.0.0.0:1"),
    ] {
        assert_eq!(parse_listen(text).map(|address| address.to_string()).as_deref(), Ok(expected), "{text}");
    }
    for wrong in ["", "host:8443", ":port", "1.2.3.4", ":70000", "::1:6443x"] {
        assert!(parse_listen(wrong).unwrap_err().contains("write 127.0.0.1:6443"), "{wrong}");
    }
}

#[test]
fn addresses_are_those_of_go() {
    let candidates = |text: &str| {
        let address = text.parse::<Address>();
        address.map(|address| address.0.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let table: [(&str, &[&str]); 6] = [
        (":8443", &["[::]:8443", "0.0.0.0:8443"]),
        ("localhost:0", &["127.0.0.1:0"]),
        ("10.0.0.1:9440", &["10.0.0.1:9440"]),
        ("[::1]:9440", &["[::1]:9440"]),
        ("0", &[]),
        ("", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(candidates(text).unwrap(), expected, "{text}");
    }
    for wrong in ["8443", "host:8443", ":port", "1.2.3.4", ":70000"] {
        assert!(candidates(wrong).unwrap_err().contains("write 127.0.0.1:8443"), "{wrong}");
    }
}
