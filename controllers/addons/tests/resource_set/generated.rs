//! Tests of `addons::resource_set::generated`.

use addons::resource_set::Source;
use addons::resource_set::generated::name_all;
use addons::resource_set::manifests::{read, text};
use serde_json::json;

/// Returns the names of these documents, which belong to `owner`.
fn names(owner: &[&str], documents: &[&str]) -> Vec<String> {
    let map = json!({"data": {"k": documents.join("\n---\n")}});
    let source = Source::ConfigMap(
        serde_json::from_value::<k8s_openapi::api::core::v1::ConfigMap>(map).unwrap().into(),
    );
    let mut manifests = read(&source).unwrap();
    name_all(owner, &mut manifests);
    manifests.iter().map(|manifest| text(&manifest.object["metadata"], "name").to_owned()).collect()
}

const JOB: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: job-, namespace: default}";
const NAMED: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, generateName: job-}";

#[test]
fn a_name_depends_on_the_object_and_its_owner_and_on_nothing_beside_it() {
    let owner = ["uid", "ConfigMap", "jobs"];
    let [one, two] = names(&owner, &[JOB, JOB]).try_into().unwrap();
    assert!(one.starts_with("job-") && two.starts_with("job-") && one != two, "{one} {two}");
    assert_eq!(one.len(), "job-".len() + 10);
    assert_eq!(names(&owner, &[NAMED, JOB]), ["a".to_owned(), one.clone()]);
    for owner in [["other", "ConfigMap", "jobs"], ["uid", "Secret", "jobs"], ["uid", "ConfigMap", "job"]] {
        assert_ne!(names(&owner, &[JOB]), std::slice::from_ref(&one), "{owner:?}");
    }
    assert_ne!(names(&owner, &[&JOB.replace("default", "other")]), [one]);
}

#[test]
fn a_long_prefix_is_shortened_and_what_is_no_prefix_stays() {
    for (length, expected) in [(52, 62), (53, 63), (54, 63), (300, 63)] {
        let found = names(&["uid"], &[&JOB.replace("job-", &"a".repeat(length))]);
        assert_eq!(found[0].len(), expected, "{length}");
    }
    assert_eq!(names(&["uid"], &[&JOB.replace("job-", "a/b")]), [""]);
}
