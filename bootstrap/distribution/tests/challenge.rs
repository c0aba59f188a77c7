//! Tests of `distribution::challenge`.

use distribution::challenge::Challenge;

#[test]
fn headers_of_registries() {
    let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
        Some(Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        })
    };
    for (header, expected) in [
        ("Basic realm=\"x\"", Some(Challenge::Basic)),
        ("basic", Some(Challenge::Basic)),
        (
            "Bearer realm=\"https://auth.example/token\",service=\"registry.example\",scope=\"repository:a/b:pull,push\"",
            bearer("https://auth.example/token", Some("registry.example"), Some("repository:a/b:pull,push")),
        ),
        ("bearer realm=https://a/token, service = b", bearer("https://a/token", Some("b"), None)),
        ("Bearer service=\"x\"", None),
        ("Negotiate", None),
        ("", None),
    ] {
        assert_eq!(Challenge::parse(header), expected, "{header}");
    }
}
