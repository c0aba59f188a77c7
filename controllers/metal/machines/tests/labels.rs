//! Tests of `labels`.

use std::collections::{BTreeMap, BTreeSet};

use metal_machines::labels::sync;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn only_labels_with_the_prefixes_follow_the_host() {
    let prefixes = BTreeSet::from(["rack.example.com".to_owned()]);
    let mut labels = map(&[("rack.example.com/old", "1"), ("rack.example.com/row", "2"), ("own/label", "3")]);
    let host = map(&[("rack.example.com/row", "7"), ("rack.example.com/new", ""), ("example.com/x", "9")]);
    sync(&mut labels, &host, &prefixes);
    let expected = [("own/label", "3"), ("rack.example.com/new", ""), ("rack.example.com/row", "7")];
    assert_eq!(labels, map(&expected));
}
