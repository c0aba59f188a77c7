//! Bootstrap data from its text to its outcome, with a kubeadm that only notes how it was called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use node_bootstrap::{Action, Bootstrap, Command, Format, Metadata, NodeOptions, Outcome, parse};

use crate::containers_bootstrap::node::{LONG, Node};

const SUCCESS: &str = "/run/cluster-api/bootstrap-success.complete";

/// Reads data for the node. Paths in its commands are below the node's folder, and its kubeadm ends with `code`.
fn read(node: &Node, data: &str, code: i32) -> Bootstrap {
    let bootstrap = parse(data.as_bytes(), Format::CloudConfig, &Metadata::new("d1-cp", "d1-cp")).unwrap();
    let mut bootstrap = bootstrap.adapt(NodeOptions::default()).unwrap();
    let programs = node.path("/programs");
    fs::create_dir(&programs).unwrap();
    let kubeadm = programs.join("kubeadm");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >>{}\necho 'last words' >&2\nexit {code}\n",
        node.path("/noted").display()
    );
    fs::write(&kubeadm, text).unwrap();
    fs::set_permissions(&kubeadm, fs::Permissions::from_mode(0o755)).unwrap();
    for step in &mut bootstrap.steps {
        if let Action::Run(Command::Shell(text)) = &mut step.action {
            let folder = node.path("/run/cluster-api").display().to_string();
            let below = text.replace("/tmp/", "/run/cluster-api/").replace("/run/cluster-api", &folder);
            *text = format!("PATH={}:$PATH\n{below}", programs.display());
        }
    }
    bootstrap
}

#[test]
fn recorded_nodes_are_bootstrapped() {
    let cases = [
        (include_str!("data/recorded/init.cloud-config"), "init", "/run/kubeadm/kubeadm.yaml"),
        (
            include_str!("data/recorded/join-control-plane.cloud-config"),
            "join",
            "/run/kubeadm/kubeadm-join-config.yaml",
        ),
        (
            include_str!("data/recorded/worker-files.cloud-config"),
            "join",
            "/run/kubeadm/kubeadm-join-config.yaml",
        ),
    ];
    for (data, verb, configuration) in cases {
        let node = Node::new();
        assert_eq!(node.run(&read(&node, data, 0), LONG), Some(0), "{:?}", node.report());
        assert_eq!(node.report().outcome, Outcome::Completed);
        let flag = "--ignore-preflight-errors=SystemVerification,Swap,\
                    FileContent--proc-sys-net-bridge-bridge-nf-call-iptables";
        let noted = String::from_utf8(node.read("/noted")).unwrap();
        assert_eq!(noted, format!("{verb} {flag} --config {configuration}\n"));
        assert_eq!(node.read(SUCCESS), b"success\n");
        let mode = fs::metadata(node.path(configuration)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
    }
}

#[test]
fn a_kubeadm_that_fails_is_no_completed_bootstrap() {
    let node = Node::new();
    let data = include_str!("data/recorded/worker-files.cloud-config");
    assert_eq!(node.run(&read(&node, data, 7), LONG), Some(1));
    let Outcome::Failed { at, code, output } = node.report().outcome else { panic!("{:?}", node.report()) };
    assert_eq!((at.step, at.of, code), (9, 11, 7));
    assert_eq!(output.stderr, ["last words"]);
    assert!(!node.path("/run/cluster-api/after").exists());
}

#[test]
fn a_success_that_nobody_has_written_is_a_failure() {
    let node = Node::new();
    let data = format!("runcmd:\n- kubeadm join && echo success > {SUCCESS} || true\n");
    assert_eq!(node.run(&read(&node, &data, 7), LONG), Some(1));
    let Outcome::Failed { at, code, output } = node.report().outcome else { panic!("{:?}", node.report()) };
    assert_eq!((at.what.as_str(), code), ("look for /run/cluster-api/bootstrap-success.complete", 1));
    assert!(
        output.stderr[0].starts_with("the commands ended without an error, but have not written "),
        "{output:?}"
    );
}
