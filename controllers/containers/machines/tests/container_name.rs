//! Tests of `container_machines::container_name`.

use container_machines::container_name::{is_second, of_balancer, of_machine, other};

#[test]
fn names_are_those_of_cluster_apis_provider() {
    for (cluster, machine, expected) in
        [("first", "first-cp-1", "first-cp-1"), ("first", "firstly", "firstly"), ("a", "m-1", "a-m-1")]
    {
        let expected = if cluster == "a" { "a-m-1" } else { expected };
        assert_eq!(of_machine(cluster, machine), expected);
    }
    assert_eq!(of_balancer("first"), "first-lb");
}

#[test]
fn a_load_balancer_keeps_its_name() {
    for (first, second, expected) in [
        (None, None, false),
        (Some(true), None, false),
        (Some(false), None, true),
        (Some(false), Some(true), true),
        // The Cluster with the first name is gone.
        (None, Some(true), true),
        (Some(true), Some(false), false),
    ] {
        assert_eq!(is_second(first, second), expected, "{first:?} {second:?}");
    }
}

#[test]
fn every_name_is_one_of_a_host() {
    let long = "x".repeat(200);
    for name in ["first", "a.b", "A", "-", "first-", long.as_str(), "é"] {
        for made in [of_machine("c", name), of_balancer(name), other(&of_balancer(name), "uid")] {
            assert!(system_containers::check_name(&made).is_ok(), "{name} became {made}");
        }
    }
}

#[test]
fn different_machines_have_different_names() {
    let long = "x".repeat(70);
    let names = [of_machine("c", "a.b"), of_machine("c", "a-b"), of_machine("c", &long), {
        of_machine("c", &format!("{long}y"))
    }];
    for (index, name) in names.iter().enumerate() {
        assert!(!names[..index].contains(name), "{name}");
    }
}
