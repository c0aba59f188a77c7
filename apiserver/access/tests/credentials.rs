//! Tests of the credentials in requests.

use access::authenticate::bearer_token;
use access::tokens::bootstrap::{is_group, split};
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};

#[test]
fn a_token_is_read_or_refused() {
    type Case = (&'static [&'static [u8]], Result<Option<&'static str>, u16>);
    let table: &[Case] = &[
        (&[], Ok(None)),
        (&[b"Bearer a"], Ok(Some("a"))),
        (&[b"bEARER a b"], Ok(Some("a"))),
        (&[b"Bearer "], Ok(None)),
        (&[b"Bearer  a"], Ok(None)),
        (&[b"Basic YTpi"], Ok(None)),
        (&[b"Basic \xff"], Ok(None)),
        (&[b"Bearer a\xff"], Err(401)),
        (&[b"Bearer t\xc3\xb6k\xc9\x99n"], Err(401)),
        (&[b"Bearer a", b"Bearer b"], Err(400)),
        (&[b"Bearer a", b"Bearer a"], Err(400)),
        (&[b"Basic YTpi", b"Bearer a"], Err(400)),
    ];
    for (values, expected) in table {
        let mut request = Request::new(());
        for value in *values {
            request.headers_mut().append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
        }
        let (parts, ()) = request.into_parts();
        let found = bearer_token(&parts);
        assert_eq!(
            found.as_ref().map(Option::as_deref).map_err(|status| status.code),
            *expected,
            "{values:?}"
        );
    }
}

#[test]
fn a_token_may_be_a_protocol_of_a_websocket() {
    // The first is `token` in base64.
    let token = "base64url.bearer.authorization.k8s.io.dG9rZW4";
    type Row<'a> = (&'a str, &'a [&'a str], Result<Option<&'a str>, u16>);
    let table: &[Row<'_>] = &[
        ("websocket", &[token, "base64.binary.k8s.io"], Ok(Some("token"))),
        ("WebSocket", &[&format!("base64.binary.k8s.io, {token}")], Ok(Some("token"))),
        ("websocket", &["base64.binary.k8s.io"], Ok(None)),
        ("websocket", &[token], Err(401)),
        ("websocket", &[token, token, "other"], Err(401)),
        ("websocket", &["base64url.bearer.authorization.k8s.io.%", "other"], Err(401)),
        ("SPDY/3.1", &[token, "other"], Ok(None)),
    ];
    for (upgrade, protocols, expected) in table {
        let mut request =
            Request::builder().header("upgrade", *upgrade).header("connection", "keep-alive, Upgrade");
        for protocol in *protocols {
            request = request.header("sec-websocket-protocol", *protocol);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let found = bearer_token(&parts);
        let found = found.as_ref().map(Option::as_deref).map_err(|status| status.code);
        assert_eq!(found, *expected, "{protocols:?}");
    }
}

#[test]
fn bootstrap_tokens_have_a_form() {
    assert_eq!(split("abcdef.0123456789abcdef"), Some(("abcdef", "0123456789abcdef")));
    for token in
        ["abcdef", "abcdef.0123456789abcde", "ABCDEF.0123456789abcdef", "a.b.c", "abcdef.0123456789abcdeF"]
    {
        assert_eq!(split(token), None, "{token}");
    }
    for (group, good) in [
        ("system:bootstrappers:kubeadm:default-node-token", true),
        ("system:bootstrappers:a", true),
        ("system:bootstrappers", false),
        ("system:bootstrappers:", false),
        ("system:bootstrappers:a-", false),
        ("system:masters", false),
    ] {
        assert_eq!(is_group(group), good, "{group}");
    }
}
