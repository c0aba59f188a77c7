//! Tests of `clusterctl::upgrade::releases`.

use clusterctl::repository::{Metadata, ReleaseSeries};
use clusterctl::upgrade::releases::Releases;
use clusterctl::{Result, version};

fn releases(current: &str, all: &[&str]) -> Result<Releases> {
    let series = [(0, 9, "v1alpha4"), (1, 2, "v1beta1"), (1, 3, "v1beta2"), (2, 0, "v1beta3")];
    let series =
        series.map(|(major, minor, contract)| ReleaseSeries { major, minor, contract: contract.to_owned() });
    let parse = |text: &str| version::parse(text).unwrap();
    let versions = all.iter().map(|text| parse(text)).collect();
    Releases::of("a-system/a".to_owned(), Metadata::of(series.to_vec()), parse(current), versions)
}

#[test]
fn the_newest_release_of_a_contract_is_next() {
    let all = ["v1.2.0", "v1.2.5", "v1.3.1", "v1.3.0", "v1.3.2-rc.1", "v2.0.0"];
    for (current, contracts, expected) in [
        ("v1.2.0", &["v1beta1"][..], Some("v1.2.5")),
        ("v1.2.0", &["v1beta1", "v1beta2"], Some("v1.3.1")),
        ("v1.3.1", &["v1beta1", "v1beta2"], None),
        ("v1.3.2-rc.1", &["v1beta3"], Some("v2.0.0")),
    ] {
        assert_eq!(releases(current, &all).unwrap().newest(contracts).as_deref(), expected, "{current}");
    }
    let found = releases("v1.2.0", &all).unwrap();
    assert_eq!(Vec::from_iter(found.contracts()), ["v1beta1", "v1beta2", "v1beta3"]);
    assert_eq!(found.current_contract(), "v1beta1");
    assert_eq!(found.contract_of("v2.0.7").unwrap(), "v1beta3");
    assert!(
        found.contract_of("v3.0.0").unwrap_err().to_string().contains("does not match any release series")
    );
}

#[test]
fn each_version_belongs_to_a_series() {
    let error = releases("v1.2.0", &["v1.2.0", "v3.0.0"]).unwrap_err().to_string();
    assert!(error.contains("version v3.0.0 (one of the available versions)"), "{error}");
    let error = releases("v1.1.0", &["v1.2.0"]).unwrap_err().to_string();
    assert!(error.contains("version v1.1.0 (the current version)"), "{error}");
}
