//! Tests of `clients::scenarios`.

use std::path::PathBuf;

use clients::scenarios::{LONG, chosen, scenarios};
use clients::session::root;

#[test]
fn long_scenarios_are_played_by_name() {
    let names = |wanted: &[&str], also_long: bool| -> Vec<String> {
        let all = ["node_drain", "scale"].map(|name| (name.to_owned(), PathBuf::new())).to_vec();
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        chosen(all, &wanted, also_long).into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(names(&[], false), ["node_drain"]);
    assert_eq!(names(&[], true), ["node_drain", "scale"]);
    assert_eq!(names(&["scale"], false), ["scale"]);
    assert_eq!(names(&["apply"], true), [] as [&str; 0]);
}

#[test]
fn every_long_scenario_exists() {
    let all = scenarios(&root().join("tests/clients/scenarios")).unwrap();
    assert!(LONG.iter().all(|long| all.iter().any(|(name, _)| name == long)), "{all:?}");
}
