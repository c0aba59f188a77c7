//! Shell texts with and without the flag, run by a real shell: they do the same, and each `kubeadm init` and `join` that
//! runs has the flag.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command as Process;

use machinery::random::Random;
use node_bootstrap::{Action, Bootstrap, Command, NodeOptions, Step};

/// Notes its words without the flag; whether it had the flag goes into another file.
const KUBEADM: &str = "#!/bin/sh\nflag=no\nfor word; do\ncase $word in\n--ignore-preflight-errors=SystemVerification,*) \
                       flag=yes;;\n*) set -- \"$@\" \"$word\";;\nesac\nshift\ndone\necho \"kubeadm $*\"\ncase $* in\n*init* | \
                       *join*) echo $flag >>flags;;\nesac\n";

/// Commands that do or do not run kubeadm.
const COMMANDS: &[&str] = &[
    "kubeadm init",
    "kubeadm join --config 'a b'",
    "kubeadm --v 5 join",
    "kubeadm version",
    "env A=b kubeadm init --x",
    "A='kubeadm init' kubeadm join",
    "exec_me='kubeadm init'; echo \"$exec_me\"",
    "echo kubeadm init",
    "echo 'a; kubeadm init'",
    "echo \"a && kubeadm join\"",
    "echo a\\; kubeadm init",
    "echo \"$(kubeadm join x)\"",
    "echo `kubeadm init`",
    "sh -c 'kubeadm init; echo kubeadm init'",
    "sh -c \"echo 'kubeadm join'; kubeadm join\"",
    "if kubeadm init; then kubeadm join; fi",
    "for x in kubeadm init; do echo $x; done",
    "case init in init) kubeadm init;; esac",
    "(kubeadm join)",
    "{ kubeadm init; }",
    "! kubeadm join",
    "kubeadm init 2>&1 >out | cat",
    ">out kubeadm init",
    "timeout 5 kubeadm join",
    "nohup kubeadm init 2>/dev/null",
    "# kubeadm init\ntrue",
    "cat <<EOF\nkubeadm init\n\"'`echo x`\nEOF\ntrue",
    "cat <<'A B' && kubeadm join\n; kubeadm init $(\nA B\ntrue",
    "cat <<-EOF | kubeadm init\n\tkubeadm join\n\tEOF\ntrue",
    "kubeadm \\\n init",
    "x=$((1 + 2)); echo ${x:-kubeadm init} $x",
    "echo \"${x:-$(kubeadm join)}\" '\"' \\\" \\'",
    "echo a#b; kubeadm init # kubeadm join",
];

const BETWEEN: &[&str] = &["; ", "\n", " && ", " || ", "\n\n", " ;\n", "\ntrue | cat; "];

fn run(text: &str, folder: &Path, programs: &Path) -> (String, String) {
    fs::create_dir_all(folder).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Process::new("/bin/sh")
        .args(["-c", text])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let out = fs::read_to_string(folder.join("out")).unwrap_or_default();
    let shown = format!("{:?} {out:?} {:?}", output.status.code(), String::from_utf8_lossy(&output.stdout));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{text}");
    (shown, fs::read_to_string(folder.join("flags")).unwrap_or_default())
}

fn adapted(text: &str) -> String {
    let step = Step { what: String::new(), action: Action::Run(Command::Shell(text.to_owned())) };
    let bootstrap =
        Bootstrap { steps: vec![step], warnings: Vec::new() }.adapt(NodeOptions::default()).unwrap();
    match &bootstrap.steps[0].action {
        Action::Run(Command::Shell(text)) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_do_the_same_with_the_flag() {
    let folder = tempfile::tempdir().unwrap();
    let programs = folder.path().join("programs");
    fs::create_dir(&programs).unwrap();
    fs::write(programs.join("kubeadm"), KUBEADM).unwrap();
    fs::set_permissions(programs.join("kubeadm"), fs::Permissions::from_mode(0o755)).unwrap();
    let alone = COMMANDS.iter().map(|command| (*command).to_owned());
    let random = Random::seeded(10);
    let draw = |from: &[&'static str]| from[usize::try_from(random.number()).unwrap() % from.len()];
    let mixed = (0..120).map(|_| {
        let mut text = draw(COMMANDS).to_owned();
        for _ in 0..random.number() % 4 {
            // What stands behind a comment or the end of a here-document would be part of it.
            let between = if text.ends_with("true") || text.contains('#') { "\n" } else { draw(BETWEEN) };
            text = format!("{text}{between}{}", draw(COMMANDS));
        }
        text
    });
    for (index, text) in alone.chain(mixed).enumerate() {
        let with = adapted(&text);
        let (plain, flags) = run(&text, &folder.path().join(format!("{index}-plain")), &programs);
        let (ours, our_flags) = run(&with, &folder.path().join(format!("{index}-ours")), &programs);
        assert_eq!(ours, plain, "{text}\n---\n{with}");
        assert_eq!(flags.lines().count(), our_flags.lines().count(), "{text}");
        assert!(flags.lines().all(|flag| flag == "no"), "{text}");
        assert!(our_flags.lines().all(|flag| flag == "yes"), "{text}\n---\n{with}");
        assert_eq!(adapted(&with), with, "a second pass changes nothing");
    }
}
