//! Tests of `engine::resident`.

use std::collections::BTreeMap;

use engine::testing::{SLACK, STRUCTURES, resident};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Secret};
use serde::ser::Serialize;

fn beyond_text<T: Serialize>(object: &T) -> f64 {
    resident(object) as f64 / serde_json::to_string(object).unwrap().len() as f64
}

#[test]
fn sizes_are_found_by_the_names_of_structures() {
    let one = |container: Container| Pod {
        spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
        ..Pod::default()
    };
    let none = Pod { spec: Some(PodSpec::default()), ..Pod::default() };
    let container = resident(&one(Container::default())) - resident(&none);
    assert_eq!(container, SLACK * size_of::<Container>());
    let names = ["Container", "ContainerStatus", "NodeCondition", "Volume"];
    assert!(names.iter().all(|name| STRUCTURES.iter().any(|(known, _)| known == name)));
}

#[test]
fn what_is_small_as_text_counts_as_what_it_takes() {
    let empty = |number: usize| (format!("{number:05}"), ByteString(Vec::new()));
    let keys = Secret { data: Some((0..90_000).map(empty).collect()), ..Secret::default() };
    assert!(resident(&keys) >= 90_000 * (2 * 24 + 8), "{}", resident(&keys));
    let long = BTreeMap::from([("a".to_owned(), ByteString(vec![b'a'; 1_000_000]))]);
    let long = Secret { data: Some(long), ..Secret::default() };
    assert!((1.0..1.6).contains(&beyond_text(&long)), "{}", beyond_text(&long));
    let containers = vec![Container::default(); 1000];
    let spec = PodSpec { containers, ..PodSpec::default() };
    let pod = Pod { spec: Some(spec), ..Pod::default() };
    assert!(resident(&pod) >= 1000 * size_of::<Container>(), "{}", resident(&pod));
}
