//! Tests of `clusterctl::yaml::documents`.

use clusterctl::yaml::documents::ordinal;
use clusterctl::yaml::split;

#[test]
fn ordinals() {
    let found = [1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111].map(ordinal);
    assert_eq!(found, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "101st", "111th"]);
}

#[test]
fn documents() {
    let text = b"---\na: 1\n--- # next\n\n---\nb: 2\n----\n";
    let found: Vec<String> = split(text).into_iter().map(|part| String::from_utf8(part).unwrap()).collect();
    assert_eq!(found, ["---\na: 1\n", "\n", "b: 2\n----\n"]);
}
