//! Tests of `takeover::e2e::list`.

use takeover::e2e::list::{SPECS, select};

fn names(arguments: &[&str]) -> Vec<&'static str> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    select(&arguments).unwrap().iter().map(|spec| spec.name).collect()
}

#[test]
fn specs_are_selected_by_name() {
    assert_eq!(names(&["all"]).len(), 24);
    assert_eq!(SPECS.iter().filter(|spec| spec.cannot.is_some()).count(), 11);
    assert!(names(&[]).contains(&"quick_start"));
    assert_eq!(names(&["scale", "machine_pool"]), ["scale", "machine_pool"]);
}

#[test]
fn what_cannot_run_says_why() {
    let error = |name: &str| select(&[name.to_owned()]).unwrap_err().to_string();
    assert!(error("autoscaler").ends_with("the autoscaler runs as a Pod of the cluster"));
    assert!(error("nothing").starts_with("no spec is called \"nothing\"; they are: quick_start, "));
}
