//! Tests of `firstlight::manifests::read`.

use std::path::PathBuf;

use firstlight::manifests::read::{Elsewhere, parse, read_all, read_to_apply};

#[test]
fn documents_know_their_lines() {
    let text = "# a comment\n---\napiVersion: v1\nkind: A\n---\n\n---\napiVersion: v1\nkind: B\n";
    let documents = parse("x.yaml", text).unwrap();
    let found: Vec<(usize, &str)> =
        documents.iter().map(|d| (d.line, d.object["kind"].as_str().unwrap())).collect();
    assert_eq!(found, [(3, "A"), (8, "B")]);
}

#[test]
fn fields_are_found_in_the_text() {
    let text = "---\napiVersion: v1\nkind: A\nspec:\n  template:\n    spec:\n      items:\n      - name: x\n        size: 1\n      flow: {depth: 2}\n";
    let document = &parse("x.yaml", text).unwrap()[0];
    let cases = [
        ("kind", Some(3)),
        ("spec.template.spec", Some(6)),
        ("spec.template.spec.items[0].size", Some(9)),
        ("spec.template.spec.flow.depth", Some(10)),
        ("spec.nothing", Some(4)),
        ("nothing", None),
    ];
    for (field, expected) in cases {
        assert_eq!(document.line_of(field), expected, "{field}");
    }
}

#[test]
fn errors_have_no_names_of_the_parser() {
    let values = format!("apiVersion: v1\nkind: A\nspec: [{}]\n", "0, ".repeat(300_000));
    let deep = format!("apiVersion: v1\nkind: A\nspec: {}\n", "[".repeat(5000));
    for text in [&values, &deep, "apiVersion: v1\nkind: A\nkind: B\n"] {
        let error = parse("x.yaml", text).unwrap_err().to_string();
        let has_none = ["budget", "Policy", "Options", "{"].iter().all(|word| !error.contains(word));
        assert!(error.starts_with("x.yaml:") && has_none, "{error}");
    }
}

#[test]
fn lists_are_taken_apart() {
    let text = r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"A"},{"apiVersion":"v1","kind":"B"}]}"#;
    assert_eq!(parse("x.json", text).unwrap().len(), 2);
}

#[test]
fn errors_say_where() {
    let cases = [
        ("apiVersion: v1\nkind: A\n---\nspec:\n  a: [1, 2\n  b: 3\n", "x.yaml:6:"),
        ("apiVersion: v1\n---\nkind: B\n", "x.yaml:1: the object has no kind"),
        ("- 1\n- 2\n", "x.yaml:1: expected an object with apiVersion and kind, found a list"),
        ("a: b: c\n", "x.yaml:1:"),
    ];
    for (text, expected) in cases {
        let error = parse("x.yaml", text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn sources_without_an_object_are_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let some = file("some.yaml", "apiVersion: v1\nkind: A\n");
    let nothing = [
        file("empty.yaml", ""),
        file("comments.yaml", "# one\n---\n# two\n---\n"),
        file("list.yaml", "apiVersion: v1\nkind: List\nitems: []\n"),
        PathBuf::from("/dev/null"),
    ];
    let read = |sources: &[PathBuf]| read_to_apply(sources, &Elsewhere::default());
    for source in &nothing {
        let error = read(std::slice::from_ref(source)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("no objects passed to apply: {}", source.display())), "{error}");
        assert_eq!(read(&[source.clone(), some.clone()]).unwrap().len(), 1, "others have objects");
    }
    assert!(read(&[]).unwrap().is_empty(), "nothing is to be applied");
}

#[test]
fn what_is_fetched_stands_for_its_address() {
    let address = PathBuf::from("https://example.com/cluster.yaml");
    let fetched =
        vec![("https://example.com/cluster.yaml".to_owned(), "apiVersion: v1\nkind: A\n".to_owned())];
    let elsewhere = Elsewhere { fetched, ..Elsewhere::default() };
    let read = read_to_apply(std::slice::from_ref(&address), &elsewhere).unwrap();
    assert_eq!(read[0].file, "https://example.com/cluster.yaml");
    let error = read_all(&[address]).unwrap_err().to_string();
    assert!(error.contains("save it to a file"), "{error}");
}

#[test]
fn a_folder_of_kustomize_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kustomization.yaml"), "resources: [a.yaml]\n").unwrap();
    std::fs::write(folder.path().join("a.yaml"), "apiVersion: v1\nkind: A\n").unwrap();
    let error = read_all(&[folder.path().to_owned()]).unwrap_err().to_string();
    assert!(error.contains(&format!("kubectl kustomize {} |", folder.path().display())), "{error}");
}

#[test]
fn a_missing_file_is_named() {
    let error = read_all(&[PathBuf::from("/nonexistent/cluster.yaml")]).unwrap_err().to_string();
    assert!(error.starts_with("cannot read /nonexistent/cluster.yaml: "), "{error}");
}
