//! Tests of `pivot::preflight::providers`.

use std::collections::BTreeSet;

use pivot::finding::Severity;
use pivot::inventory::Provider;
use pivot::preflight::providers::{providers, version};

#[test]
fn versions_are_compared_as_versions() {
    let order = ["v1.9.0", "v1.10.0-alpha.1", "v1.10.0-alpha.10", "v1.10.0-rc.0", "v1.10.0", "v1.10.1+x"];
    for pair in order.windows(2) {
        assert!(version(pair[0]) < version(pair[1]), "{pair:?}");
    }
}

#[test]
fn providers_must_be_there_and_not_older() {
    let provider = |name: &str, version: &str| Provider {
        namespace: "n".into(),
        name: name.into(),
        kind: "CoreProvider".into(),
        version: version.into(),
    };
    let source = ["a", "b", "c", "d"].map(|name| provider(name, "v1.2.0"));
    let target = [provider("a", "v1.10.0"), provider("b", "v1.1.9")];
    let found = providers(&source, &target, &BTreeSet::from(["d"]));
    let found: Vec<(Severity, &str)> =
        found.iter().map(|found| (found.severity, found.object.as_str())).collect();
    let (error, warning) = (Severity::Error, Severity::Warning);
    assert_eq!(found, [(error, "CoreProvider b"), (error, "CoreProvider c"), (warning, "CoreProvider d")]);
}
