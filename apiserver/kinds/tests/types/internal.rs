//! The text form of internal types.

use std::collections::HashSet;

use kinds::types::{changes, shown};
use serde_json::json;

#[test]
fn values_and_changes() {
    let claim = json!({"name": "x"});
    let expected = r#"{"Name":"x","ResourceClaimName":null,"ResourceClaimTemplateName":null}"#;
    assert_eq!(shown("core.PodResourceClaim", &claim), expected);
    let (old, new) = (json!({"nodeName": "n1"}), json!({"nodeName": "n2", "hostNetwork": true}));
    let changed = changes("core.PodSpec", &old, &new);
    for line in ["- \"NodeName\": \"n1\",\n", "+ \"NodeName\": \"n2\",\n", "+  \"HostNetwork\": true,\n"] {
        assert!(changed.contains(line), "{changed}");
    }
    assert_eq!(changes("core.PodSpec", &old, &old), "");
}

#[test]
fn every_type_is_known() {
    let lines: Vec<&str> =
        include_str!("../../src/types/internal.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let simple = ["text", "bool", "number", "quantity", "time", "any"];
    let types: HashSet<&str> = lines.iter().filter_map(|line| line.strip_prefix("type ")).collect();
    for line in lines.iter().filter(|line| !line.starts_with("type ")) {
        let ty = line.split(' ').nth(2).unwrap().trim_start_matches(['?', '[', ']', '{', '}']);
        assert!(simple.contains(&ty) || types.contains(ty), "{line}");
    }
}
