//! Tests of `clients::suites::list`.

use std::path::Path;

use clients::suites::list::{Expected, Rendered, Suite, choose};

#[test]
fn every_file_is_understood_and_versions_are_those_of_our_own_programs() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let suites = Suite::all(&here.join("suites")).unwrap();
    let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["controller-runtime", "flux-ssa", "karpenter", "kueue"]);
    let ours = std::fs::read_to_string(here.join("programs/go/go.mod")).unwrap();
    let wanted = format!("{} {}\n", suites[0].module, suites[0].version);
    assert!(ours.contains(&wanted), "{wanted}");
}

#[test]
fn reasons_belong_to_the_test_above() {
    let text = "# p\nmodule m v1\nkustomize config/crd out/crds.yaml\npackage .\npackage a/b\nfails T/x y\n  because\n  of it\n";
    let suite = Suite::parse("s", text).unwrap();
    let expected = Expected { test: "T/x y".into(), reason: "because of it".into() };
    let rendered = Rendered { from: "config/crd".into(), to: "out/crds.yaml".into() };
    assert_eq!((suite.rendered, &suite.packages[0].fails), (vec![rendered], &Vec::new()));
    assert_eq!(suite.packages[1].fails, [expected]);
    for wrong in
        ["package .\n", "module m v1\nfails T\n", "module m v1\npackage .\nfails T\n", "module m\n", "x\n"]
    {
        assert!(Suite::parse("s", wrong).is_err(), "{wrong}");
    }
}

#[test]
fn words_choose_suites_and_packages() {
    let suites = || {
        vec![
            Suite::parse("one", "module m v1\npackage a/pod\npackage a/job\n").unwrap(),
            Suite::parse("two", "module n v1\npackage .\n").unwrap(),
        ]
    };
    let chosen = |words: &[&str]| -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let chosen = choose(suites(), &words).unwrap();
        let names = chosen.iter().flat_map(|suite| {
            suite.packages.iter().map(|package| format!("{}/{}", suite.name, package.folder))
        });
        names.collect()
    };
    assert_eq!(chosen(&[]), ["one/a/pod", "one/a/job", "two/."]);
    assert_eq!(chosen(&["one"]), ["one/a/pod", "one/a/job"]);
    assert_eq!(chosen(&["a/job", "two"]), ["one/a/job", "two/."]);
    let error = choose(suites(), &["one".to_owned(), "three".to_owned()]).unwrap_err();
    assert_eq!(error.to_string(), "no package has \"three\" in its name");
}
