//! Tests of `server::reboot`.

use bytes::Bytes;
use server::reboot::parse;

#[test]
fn bodies() {
    for (body, expected) in [
        ("", Ok("")),
        ("{}", Ok("")),
        (r#"{"mode":"soft"}"#, Ok("")),
        (r#"{"mode":"hard"}"#, Ok(r#"{"force":false,"mode":"hard"}"#)),
        (r#"{"force":true}"#, Ok(r#"{"force":true,"mode":"soft"}"#)),
        (r#"{"apiVersion":"metal.firstlight.dev/v1alpha1","kind":"Reboot"}"#, Ok("")),
        (r#"{"apiVersion":"v1","kind":"Pod"}"#, Err(400)),
        (r#"{"mode":"warm"}"#, Err(422)),
        (r#"{"modus":"hard"}"#, Err(400)),
        ("mode: hard", Err(400)),
    ] {
        let found = parse("node-1", &Bytes::from_static(body.as_bytes()));
        let found = found.map(|request| request.annotation()).map_err(|status| status.code);
        assert_eq!(found, expected.map(str::to_owned), "{body}");
    }
}
