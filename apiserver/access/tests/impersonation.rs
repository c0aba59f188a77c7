//! Tests of the headers of impersonation.

use access::User;
use access::impersonate::requested;
use http::{HeaderMap, HeaderName, HeaderValue};

fn read(given: &[(&str, &[u8])]) -> Result<Option<User>, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    requested(&headers).map_err(|status| {
        assert_eq!(status.code, 400);
        status.message
    })
}

#[test]
fn what_is_understood() {
    assert_eq!(read(&[("x-remote-user", b"root"), ("user-agent", b"\xff")]), Ok(None));
    assert_eq!(read(&[("impersonate-user", b""), ("impersonate-uid", b"")]), Ok(None));
    let asked = read(&[
        ("Impersonate-User", "jörg".as_bytes()),
        ("impersonate-uid", b"7"),
        ("impersonate-group", b"b"),
        ("impersonate-group", "ä".as_bytes()),
        ("Impersonate-Extra-A%2Fb", b"1"),
        ("impersonate-extra-a%2fb", b"2"),
        ("impersonate-extra-%c3%a4", b""),
        ("impersonate-extra-50%", b"x"),
        ("impersonate-extra-%41%+f", b"x"),
    ]);
    let asked = asked.unwrap().unwrap();
    assert_eq!((asked.name.as_str(), asked.uid.as_str()), ("jörg", "7"));
    assert_eq!(asked.groups, ["b", "ä"]);
    let extra: Vec<_> = asked.extra.iter().map(|(key, values)| (key.as_str(), values.join(","))).collect();
    let values = |key: &str| extra.iter().find(|(one, _)| *one == key).map(|(_, values)| values.as_str());
    assert_eq!(extra.len(), 4, "{extra:?}");
    assert_eq!(values("a/b"), Some("1,2"));
    assert_eq!((values("ä"), values("50%"), values("%41%+f")), (Some(""), Some("x"), Some("x")));
}

#[test]
fn the_rest_is_refused() {
    type Header<'h> = (&'h str, &'h [u8]);
    let user: Header<'_> = ("impersonate-user", b"bob");
    let table: &[(&[Header<'_>], &str)] = &[
        (&[("impersonate-user", b"j\xf6rg")], "the header impersonate-user is no UTF-8"),
        (&[user, user], "the header impersonate-user is repeated"),
        (&[user, ("impersonate-uid", b"\xff")], "the header impersonate-uid is no UTF-8"),
        (
            &[user, ("impersonate-uid", b"1"), ("impersonate-uid", b"1")],
            "the header impersonate-uid is repeated",
        ),
        (&[user, ("impersonate-group", b"\xff")], "the header impersonate-group is no UTF-8"),
        (&[user, ("impersonate-extra-a", b"\xff")], "the header impersonate-extra-a is no UTF-8"),
        (&[user, ("impersonate-extra-%ff", b"a")], "the header impersonate-extra-%ff is no UTF-8"),
        (&[user, ("impersonate-groups", b"dev")], "the header impersonate-groups is not known"),
        (&[("impersonate-", b"bob")], "the header impersonate- is not known"),
    ];
    for (given, expected) in table {
        assert_eq!(read(given), Err((*expected).to_owned()), "{given:?}");
    }
}
