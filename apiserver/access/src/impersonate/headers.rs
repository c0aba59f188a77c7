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
pub fn requested(headers: &HeaderMap) -> Result<Option<User>, Status> {
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
