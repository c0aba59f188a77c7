//! Tests of `engine::names`.

use engine::names::{generate, machine_name};
use machinery::random::Random;

#[test]
fn generated_names_fit() {
    let random = Random::seeded(1);
    assert_eq!(generate(&random, "md").len(), 8);
    assert_eq!(generate(&random, &"a".repeat(80)).len(), 63);
}

#[test]
fn names_of_machines_keep_their_random_characters() {
    let name = |length: usize| {
        let owner = "o".repeat(length);
        let values = [("machineSet.name", owner.as_str())];
        machine_name("{{ .machineSet.name }}-{{ .random }}", &values, "x7k2p").unwrap()
    };
    assert_eq!(name(1), "o-x7k2p");
    assert_eq!(name(57), format!("{}-x7k2p", "o".repeat(57)));
    assert_eq!(name(58), format!("{}x7k2p", "o".repeat(58)));
    assert_eq!(name(80), format!("{}x7k2p", "o".repeat(58)));
    assert!(machine_name("{{ .other }}", &[], "x7k2p").is_err());
}
