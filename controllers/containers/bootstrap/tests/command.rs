//! Finding the commands that run kubeadm.

use node_bootstrap::{Action, Command, Format, Metadata, NodeOptions, parse};
use serde_json::{Value, json};

const ERRORS: &str = "SystemVerification,Swap,FileContent--proc-sys-net-bridge-bridge-nf-call-iptables";

fn adapted(entry: Value) -> Command {
    let data = json!({"runcmd": [entry]}).to_string();
    let bootstrap = parse(data.as_bytes(), Format::CloudConfig, &Metadata::default()).unwrap();
    let mut bootstrap = bootstrap.adapt(NodeOptions::default()).unwrap();
    match bootstrap.steps.remove(0).action {
        Action::Run(command) => command,
        Action::WriteFile(_) => unreachable!("the data has a command"),
    }
}

fn text(entry: &str) -> String {
    match adapted(json!(entry)) {
        Command::Shell(text) => text,
        Command::Arguments(words) => panic!("{words:?}"),
    }
}

fn words(entry: &[&str]) -> Vec<String> {
    match adapted(json!(entry)) {
        Command::Arguments(words) => words,
        Command::Shell(text) => panic!("{text}"),
    }
}

/// `@` stands for the flag.
#[test]
fn commands_get_the_flag() {
    let cases = [
        "kubeadm init@ --config x",
        "kubeadm join@",
        "/usr/local/bin/kubeadm join@ --v 5",
        "kubeadm --v 5 init@ --config x",
        "sudo kubeadm join@",
        "sudo -E -u root kubeadm join@",
        "sudo -n env A=b C='d e' kubeadm join@",
        "env -u X A=b kubeadm init@",
        "A=b kubeadm init@",
        "A=\"$(date)\" kubeadm init@",
        "true && kubeadm init@ && echo success > /x",
        "true; kubeadm init@; true",
        "true\nkubeadm init@\ntrue",
        "true || kubeadm join@ || exit 1",
        "if kubeadm join@; then echo yes; else kubeadm join@; fi",
        "if ! kubeadm join@ --x; then exit 1; fi",
        "while ! kubeadm join@; do sleep 5; done",
        "(cd /x && kubeadm init@)",
        "{ kubeadm init@ --x; } | tee log",
        "kubeadm init@ 2>&1 | tee log",
        ">log 2>&1 kubeadm init@",
        "timeout 5m kubeadm init@",
        "timeout -k 5 5m kubeadm init@",
        "nice -n 5 ionice -c 2 kubeadm init@",
        "out=$(kubeadm join@ 2>&1)",
        "echo \"$(kubeadm join@)\"",
        "out=`kubeadm join@ --x`",
        "bash -c 'kubeadm join@ --config x'",
        "sudo sh -ec \"echo one; kubeadm join@\"",
        "\"kubeadm\" 'init'@",
        "kubeadm \\\n  join@ --config x",
        "case $x in a) kubeadm init@;; esac",
        "kubeadm init phase preflight --x",
        "cat <<EOF | grep x\nkubeadm join\nEOF\nkubeadm init@",
        "cat <<-'A B'\nkubeadm join\n\tA B\nkubeadm init@",
        "echo it\\'s; kubeadm init@",
        "kubeadm init@ # kubeadm join",
        "kubeadm init@;kubeadm join@",
    ];
    for case in cases {
        let expected = case.replace('@', &format!(" --ignore-preflight-errors={ERRORS}"));
        if case.contains("phase") {
            let written = format!("kubeadm init --ignore-preflight-errors={ERRORS} phase preflight --x");
            assert_eq!(text(case), written);
        } else {
            assert_eq!(text(&case.replace('@', "")), expected);
        }
    }
}

#[test]
fn a_text_that_only_speaks_of_kubeadm_stays() {
    let cases = [
        "echo kubeadm init and kubeadm join > /tmp/string",
        "echo 'x; kubeadm init'",
        "echo \"&& kubeadm join\"",
        "# kubeadm init",
        "echo done # ; kubeadm join",
        "cat > /x <<EOF\nkubeadm init\n; kubeadm join\nEOF",
        "cat > /x <<'EOF' && chmod +x /x\nkubeadm init\nEOF",
        "kubeadm token create --print-join-command",
        "kubeadm init phase certs all",
        "kubeadm reset -f",
        "my-kubeadm init",
        "kubeadm-init init",
        "crictl pull kubeadm init",
        "for kubeadm in init join; do echo $kubeadm; done",
        "echo a\\; kubeadm init",
        "$KUBEADM init",
        "echo 'unclosed kubeadm; kubeadm init",
        "bash -c 'echo kubeadm init'",
        "test -f /x || echo \"run: sudo kubeadm join\"",
        "kubeadm init --ignore-preflight-errors=all --config x",
        "kubeadm init --ignore-preflight-errors ALL",
    ];
    for case in cases {
        assert_eq!(text(case), case);
    }
}

#[test]
fn errors_that_are_ignored_already_are_joined() {
    let rest = "Swap,FileContent--proc-sys-net-bridge-bridge-nf-call-iptables";
    let cases = [
        (
            "kubeadm init --ignore-preflight-errors=Mem --config x",
            format!("kubeadm init --ignore-preflight-errors=Mem,{ERRORS} --config x"),
        ),
        (
            "kubeadm init --config x --ignore-preflight-errors systemverification,Mem",
            format!("kubeadm init --config x --ignore-preflight-errors systemverification,Mem,{rest}"),
        ),
        (
            "kubeadm init --ignore-preflight-errors=\"Mem\" --config x",
            format!("kubeadm init --ignore-preflight-errors=\"Mem\",{ERRORS} --config x"),
        ),
        (
            "kubeadm init --ignore-preflight-errors=",
            format!("kubeadm init --ignore-preflight-errors={ERRORS}"),
        ),
        (
            "kubeadm init --ignore-preflight-errors=$MORE",
            format!("kubeadm init --ignore-preflight-errors={ERRORS} --ignore-preflight-errors=$MORE"),
        ),
    ];
    for (case, expected) in cases {
        assert_eq!(text(case), expected);
        // A second pass changes nothing.
        if !case.contains('$') {
            assert_eq!(text(&expected), expected);
        }
    }
}

#[test]
fn lists_keep_their_words() {
    let flag = format!("--ignore-preflight-errors={ERRORS}");
    let cases: [(&[&str], Vec<&str>); 7] = [
        (&["kubeadm", "init", "--x", "a b"], vec!["kubeadm", "init", &flag, "--x", "a b"]),
        (&["sudo", "A=b c", "kubeadm", "join"], vec!["sudo", "A=b c", "kubeadm", "join", &flag]),
        (&["echo", "kubeadm", "init"], vec!["echo", "kubeadm", "init"]),
        (&["echo", "; kubeadm init"], vec!["echo", "; kubeadm init"]),
        (
            &["kubeadm", "join", "--ignore-preflight-errors=all"],
            vec!["kubeadm", "join", "--ignore-preflight-errors=all"],
        ),
        (&["sh", "-c", "echo kubeadm init"], vec!["sh", "-c", "echo kubeadm init"]),
        (&["kubeadm", "token", "list"], vec!["kubeadm", "token", "list"]),
    ];
    for (case, expected) in cases {
        assert_eq!(words(case), expected);
    }
    let shell = words(&["/bin/bash", "-xc", "kubeadm init --config 'a b'"]);
    assert_eq!(shell[2], format!("kubeadm init {flag} --config 'a b'"));
    let merged = words(&["kubeadm", "init", "--ignore-preflight-errors", "Mem"]);
    assert_eq!(merged[3], format!("Mem,{ERRORS}"));
}
