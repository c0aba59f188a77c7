//! Reading and writing a Corefile.

use kubeadm::controlplane::addons::corefile::{parse, print};

#[test]
fn what_is_written_reads_back() {
    let text = "# zones\n.:53 example.org {\n    errors # all\n    template IN A {\n        answer \"{{ .Name }} 60 IN A \\\"x\\\"\"\n    }\n\
                forward . {$UPSTREAM} {\n\tmax_concurrent 1000\n}\n}\n\n(snippet) {\n cache 30\n}\n";
    let servers = parse(text).unwrap();
    assert_eq!(servers.len(), 2);
    assert_eq!(servers[0].block[1].block[0].words[1], "{{ .Name }} 60 IN A \"x\"");
    assert_eq!(servers[0].block[2].words, ["forward", ".", "{$UPSTREAM}"]);
    assert_eq!(parse(&print(&servers)).unwrap(), servers);
}

#[test]
fn what_is_wrong_is_named() {
    for (text, expected) in [
        (".:53 {", "a block is not closed"),
        ("}", "line 1: `}` without `{`"),
        (". {\n a } b\n}", "line 2: `}` must be alone in its line"),
        (". {\n a {\n b {\n c {\n", "line 3: an option of a plugin has a block"),
        ("{", "line 1: `{` must be the last word of a line"),
        (". {\n a \"b\n}", "a quotation mark is not closed"),
    ] {
        assert_eq!(parse(text).unwrap_err(), expected, "{text}");
    }
}
