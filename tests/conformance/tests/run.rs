//! Tests of `conformance::run`.

use conformance::run::is_collection;

#[test]
fn collections() {
    let cases = [
        ("/api/v1/namespaces", true),
        ("/api/v1/namespaces/x", false),
        ("/api/v1/namespaces/x/status", false),
        ("/api/v1/namespaces/x/configmaps?limit=1", true),
        ("/apis/g/v1/widgets", true),
        ("/apis/g/v1/namespaces/x/widgets/y", false),
        ("/apis/g/v1", false),
        ("/healthz", false),
    ];
    for (path, expected) in cases {
        assert_eq!(is_collection(path), expected, "{path}");
    }
}
