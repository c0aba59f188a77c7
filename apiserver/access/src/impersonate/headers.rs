//! Parses the `Impersonate-*` headers.

use http::HeaderMap;
use machinery::status::Status;

use kinds::user::User;

/// Prefix of all these headers.
const PREFIX: &str = "impersonate-";
const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Returns the identity that the `Impersonate-*` headers ask for, with unchanged values; `None` if they
/// contain no user. An empty user or UID counts as absent, as in kube-apiserver.
///
/// If a header were ignored, the request would run with the caller's own permissions. Therefore a header that
/// cannot be parsed refuses the request.
///
/// # Errors
/// 400 for an `Impersonate-*` header that is unknown, is repeated but allowed only once, or is not UTF-8.
pub(super) fn requested(headers: &HeaderMap) -> Result<Option<User>, Status> {
    let mut asked = User::default();
    for (name, value) in headers {
        let name = name.as_str();
        if !name.starts_with(PREFIX) {
            continue;
        }
        let value = std::str::from_utf8(value.as_bytes()).map_err(|_| refused(name, "is no UTF-8"))?;
        match name {
            USER => single(name, &mut asked.name, value)?,
            UID => single(name, &mut asked.uid, value)?,
            GROUP => asked.groups.push(value.to_owned()),
            _ => {
                let key = name.strip_prefix(EXTRA_PREFIX).ok_or_else(|| refused(name, "is not known"))?;
                let key = unescape(key).ok_or_else(|| refused(name, "is no UTF-8"))?;
                asked.extra.entry(key).or_default().push(value.to_owned());
            }
        }
    }
    Ok((asked != User::default()).then_some(asked))
}

fn single(name: &str, field: &mut String, value: &str) -> Result<(), Status> {
    if !field.is_empty() {
        return Err(refused(name, "is repeated"));
    }
    value.clone_into(field);
    Ok(())
}

fn refused(name: &str, why: &str) -> Status {
    Status::bad_request(format!("the header {name} {why}"))
}

/// Decodes the percent escapes of a header name. A name with an invalid escape is returned unchanged, as kube-apiserver does when
/// Go's `PathUnescape` fails. `None` if the result is not UTF-8.
fn unescape(key: &str) -> Option<String> {
    let mut plain = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            plain.push(*first);
            continue;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let escaped = match rest {
            [high, low, tail @ ..] => digit(high).zip(digit(low)).map(|digits| (digits, tail)),
            _ => None,
        };
        let Some(((high, low), tail)) = escaped else { return Some(key.to_owned()) };
        plain.push(high << 4 | low);
        rest = tail;
    }
    String::from_utf8(plain).ok()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

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
        let extra: Vec<_> =
            asked.extra.iter().map(|(key, values)| (key.as_str(), values.join(","))).collect();
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
}
