//! Upgrade plans.

use cluster_topology::UpgradePlan;
use cluster_topology::versions::{Source, lowest, plan};

fn texts(versions: &str) -> Vec<String> {
    versions.split_whitespace().map(str::to_owned).collect()
}

fn written(plan: Result<UpgradePlan, String>) -> Result<(String, String), String> {
    plan.map(|plan| (plan.control_plane.join(" "), plan.workers.join(" ")))
}

fn is(control_plane: &str, workers: &str) -> Result<(String, String), String> {
    Ok((control_plane.to_owned(), workers.to_owned()))
}

#[test]
fn without_versions_of_the_class_an_upgrade_goes_one_minor_version() {
    let rows = [
        ("v1.35.0", "v1.35.0", None, is("", "")),
        ("v1.35.0", "v1.35.0", Some("v1.35.0"), is("", "")),
        ("v1.35.1", "v1.35.0", None, is("v1.35.1", "")),
        ("v1.36.0", "v1.35.0", Some("v1.35.0"), is("v1.36.0", "v1.36.0")),
        // The control plane is there already; the workers follow.
        ("v1.36.0", "v1.36.0", Some("v1.35.0"), is("", "v1.36.0")),
        ("v1.36.0", "v1.36.0", Some("v1.33.0"), is("", "v1.36.0")),
        ("v1.35.0+b", "v1.35.0+a", Some("v1.35.0+a"), is("v1.35.0+b", "v1.35.0+b")),
    ];
    for (wanted, control_plane, workers, expected) in rows {
        let made = written(plan(Source::OneMinor, wanted, control_plane, workers));
        assert_eq!(made, expected, "{control_plane} {workers:?} to {wanted}");
    }
}

#[test]
fn without_versions_of_the_class_there_is_no_way_over_two_minor_versions() {
    for (wanted, control_plane, workers, part) in [
        ("v1.37.0", "v1.35.0", Some("v1.35.0"), "no way from v1.35.0 to v1.37.0"),
        ("v1.34.0", "v1.35.0", None, "v1.34.0 must be higher than v1.35.0"),
        ("1.x", "v1.35.0", None, "\"1.x\" of the Cluster"),
        ("v1.36.0", "", None, "\"\" of the control plane"),
        // The workers cannot stop anywhere on their way.
        ("v1.36.0", "v1.36.0", Some("v1.31.0"), "no version 1.34"),
    ] {
        let error = plan(Source::OneMinor, wanted, control_plane, workers).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_class_gives_the_newest_version_of_each_minor_version() {
    let all = "v1.33.0 v1.34.0 v1.34.2 v1.35.0 v1.35.3 v1.36.0";
    let rows = [
        (all, "v1.35.0", "v1.33.0", Some("v1.33.0"), is("v1.34.2 v1.35.0", "v1.35.0")),
        (all, "v1.36.0", "v1.33.0", Some("v1.33.0"), is("v1.34.2 v1.35.3 v1.36.0", "v1.36.0")),
        (all, "v1.34.0", "v1.33.0", None, is("v1.34.0", "")),
        (all, "v1.35.3", "v1.35.0", Some("v1.35.0"), is("v1.35.3", "v1.35.3")),
        ("v1.35.1 v1.35.2 v1.35.3", "v1.35.3", "v1.35.0", None, is("v1.35.3", "")),
        // A newer patch version of the control plane's own minor version is left out when the upgrade goes further.
        ("v1.33.0 v1.33.9 v1.34.0", "v1.34.0", "v1.33.0", None, is("v1.34.0", "")),
        // Kubelets are never more than three minor versions behind.
        (
            "v1.32.0 v1.33.0 v1.34.0 v1.35.0 v1.36.0",
            "v1.36.0",
            "v1.32.0",
            Some("v1.32.0"),
            is("v1.33.0 v1.34.0 v1.35.0 v1.36.0", "v1.35.0 v1.36.0"),
        ),
        // The control plane has gone to 1.35, to which the workers must follow.
        ("v1.35.0 v1.36.0", "v1.36.0", "v1.35.0", Some("v1.32.0"), is("v1.36.0", "v1.35.0 v1.36.0")),
        (all, "v1.36.0", "v1.36.0", Some("v1.34.2"), is("", "v1.36.0")),
    ];
    for (versions, wanted, control_plane, workers, expected) in rows {
        let versions = texts(versions);
        let made = written(plan(Source::ClassVersions(&versions), wanted, control_plane, workers));
        assert_eq!(made, expected, "{control_plane} {workers:?} to {wanted} by {versions:?}");
    }
}

#[test]
fn versions_of_the_class_that_lead_nowhere_are_an_error() {
    for (versions, part) in [
        ("v1.34.0", "must end with v1.36.0, not v1.34.0"),
        ("v1.34.0 v1.36.0", "a version of the same or the next minor version, not v1.36.0"),
        ("v1.34.0 v1.x", "\"v1.x\" of the ClusterClass"),
        ("", "must end with v1.36.0, not v1.33.0"),
    ] {
        let versions = texts(versions);
        let error = plan(Source::ClassVersions(&versions), "v1.36.0", "v1.33.0", None).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_plan_of_an_extension_is_checked() {
    let answer = |control_plane: &str, workers: &str| UpgradePlan {
        control_plane: texts(control_plane),
        workers: texts(workers),
    };
    let ask = |plan: &UpgradePlan, from: &str, workers: Option<&str>| {
        written(cluster_topology::versions::plan(Source::Extension(plan), "v1.36.0", from, workers))
    };
    let good = answer("v1.34.0 v1.35.0 v1.36.0", "v1.34.0 v1.36.0");
    assert_eq!(ask(&good, "v1.33.0", Some("v1.33.0")), is("v1.34.0 v1.35.0 v1.36.0", "v1.34.0 v1.36.0"));
    let rows = [
        ("v1.34.0 v1.34.0 v1.35.0 v1.36.0", "", Some("v1.33.0"), "v1.34.0 must be higher than v1.34.0"),
        ("v1.34.0 v1.36.0", "", Some("v1.33.0"), "the same or the next minor version"),
        ("v1.34.0 v1.35.0", "", Some("v1.33.0"), "must end with v1.36.0, not v1.35.0"),
        ("v1.34.0 nonsense", "", Some("v1.33.0"), "\"nonsense\" is not a semantic version"),
        (
            "v1.34.0 v1.35.0 v1.36.0",
            "v1.35.5 v1.36.0",
            Some("v1.33.0"),
            "v1.35.5, which the control plane does not",
        ),
        ("v1.34.0 v1.35.0 v1.36.0", "v1.35.0", Some("v1.33.0"), "the workers must end with v1.36.0"),
        (
            "v1.34.0 v1.35.0 v1.36.0",
            "v1.36.0 v1.35.0",
            Some("v1.33.0"),
            "v1.35.0 must be higher than v1.36.0",
        ),
        ("v1.34.0 v1.35.0 v1.36.0", "v1.36.0", Some("v1.32.0"), "more than 3 minor versions after v1.32.0"),
        ("v1.34.0 v1.35.0 v1.36.0", "v1.36.0", None, "there are none"),
    ];
    for (control_plane, workers, lowest, part) in rows {
        let error = ask(&answer(control_plane, workers), "v1.33.0", lowest).expect_err(part);
        assert!(error.contains(part), "{error}");
    }
    let error = ask(&answer("v1.36.0", ""), "v1.36.0", Some("v1.35.0")).expect_err("it is there already");
    assert!(error.contains("must be empty"), "{error}");
    let many = UpgradePlan { control_plane: vec!["v1.34.0".to_owned(); 101], workers: Vec::new() };
    assert!(ask(&many, "v1.33.0", None).expect_err("too many").contains("more than 100 versions"));
}

#[test]
fn the_plan_decides_where_build_metadata_does_not() {
    let answer = |workers: &str| UpgradePlan {
        control_plane: texts("v1.35.0+b v1.35.0+c v1.36.0"),
        workers: texts(workers),
    };
    let ask = |plan: &UpgradePlan| {
        written(cluster_topology::versions::plan(
            Source::Extension(plan),
            "v1.36.0",
            "v1.35.0+a",
            Some("v1.35.0+a"),
        ))
    };
    assert!(ask(&answer("v1.35.0+b v1.35.0+c v1.36.0")).is_ok());
    let error = ask(&answer("v1.35.0+c v1.35.0+b v1.36.0")).expect_err("it goes back");
    assert!(error.contains("goes through v1.35.0+b before v1.35.0+c"), "{error}");
}

#[test]
fn the_lowest_of_the_workers_counts() {
    let rows = [
        ("", "v1.35.0", None),
        ("v1.35.0 v1.34.0", "v1.35.0", Some("v1.34.0")),
        // Workers are never ahead, so the one that the control plane does not have is the older one.
        ("v1.35.0+b v1.35.0+a", "v1.35.0+b", Some("v1.35.0+a")),
        ("v1.35.0+a v1.35.0+b", "v1.35.0+b", Some("v1.35.0+a")),
    ];
    for (versions, control_plane, expected) in rows {
        let found = lowest(texts(versions).into_iter(), control_plane).expect("they are versions");
        assert_eq!(found.as_deref(), expected, "{versions}");
    }
    assert!(lowest(texts("x").into_iter(), "v1.35.0").is_err());
}
