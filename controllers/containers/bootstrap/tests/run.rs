//! Scripts that run to their end.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command as Process;
use std::time::Duration;

use node_bootstrap::{Action, At, Command, Outcome, Output, Step, WriteFile, script};

use crate::containers_bootstrap::node::{LONG, Node, bootstrap, file, shell, shells};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn steps_run_once_and_in_their_order() {
    for words in shells() {
        let node = Node::with_shell(&words);
        let log = node.path("/log");
        let add = |what: &str| shell(&format!("echo {what} >>{}", log.display()));
        let steps = vec![
            file("/etc/a/b/one", b"first\n"),
            shell(&format!("cat {} >>{}", node.path("/etc/a/b/one").display(), log.display())),
            add("second"),
            Step {
                what: "words".to_owned(),
                action: Action::Run(Command::Arguments(
                    ["/bin/sh", "-c", "echo \"$1\" >>\"$2\"", "x", "it's $HOME; `x`", log.to_str().unwrap()]
                        .map(str::to_owned)
                        .to_vec(),
                )),
            },
            add("last"),
        ];
        assert_eq!(node.report().outcome, Outcome::NotStarted, "{words:?}");
        assert_eq!(node.run(&bootstrap(steps.clone()), LONG), Some(0), "{words:?}");
        assert_eq!(node.report().outcome, Outcome::Completed, "{words:?}");
        let expected = "first\nsecond\nit's $HOME; `x`\nlast\n";
        assert_eq!(String::from_utf8_lossy(&node.read("/log")), expected, "{words:?}");
        // The script had secrets.
        assert!(!node.state().join("script").exists());
        assert_eq!(mode(&node.state()), 0o700);
        // Another delivery and another start change nothing.
        assert_ne!(node.run(&bootstrap(steps), LONG), Some(0));
        assert_eq!(String::from_utf8_lossy(&node.read("/log")), expected);
        assert_eq!(node.report().outcome, Outcome::Completed);
        assert!(node.path("/run/cluster-api").is_dir());
    }
}

#[test]
fn files_have_their_mode_owner_and_content() {
    for words in shells() {
        let node = Node::with_shell(&words);
        fs::create_dir_all(node.path("/etc")).unwrap();
        for (name, bits) in [("kept", 0o600), ("grows", 0o640), ("changed", 0o777)] {
            let path = node.path("/etc").join(name);
            fs::write(&path, "old\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
        }
        std::os::unix::fs::symlink("kept", node.path("/etc/link")).unwrap();
        let write = |path: &str, mode, owner: Option<&str>, append| {
            let owner = owner.map(str::to_owned);
            let content = b"new\n".to_vec();
            let file = WriteFile { path: path.to_owned(), content, mode, owner, append };
            Step { what: path.to_owned(), action: Action::WriteFile(file) }
        };
        let steps = vec![
            write("/etc/kept", None, None, false),
            write("/etc/grows", None, None, true),
            write("/etc/changed", Some(0o4750), Some("1234:4321"), false),
            write("/etc/group", Some(0o600), Some(":4321"), true),
            write("/etc/plain", None, None, false),
            write("/etc/link", None, None, true),
            write("/var/new/folder/key", Some(0o600), Some("root:root"), false),
        ];
        assert_eq!(node.run(&bootstrap(steps), LONG), Some(0), "{:?}", node.report());
        let cases = [
            ("/etc/kept", 0o600, (0, 0), "new\nnew\n"),
            ("/etc/grows", 0o640, (0, 0), "old\nnew\n"),
            ("/etc/changed", 0o4750, (1234, 4321), "new\n"),
            ("/etc/group", 0o600, (0, 4321), "new\n"),
            ("/etc/plain", 0o644, (0, 0), "new\n"),
            ("/var/new/folder/key", 0o600, (0, 0), "new\n"),
        ];
        for (path, bits, owner, content) in cases {
            let metadata = fs::metadata(node.path(path)).unwrap();
            assert_eq!(mode(&node.path(path)), bits, "{path}");
            assert_eq!((metadata.uid(), metadata.gid()), owner, "{path}");
            assert_eq!(String::from_utf8_lossy(&node.read(path)), content, "{path}");
        }
        assert_eq!(mode(&node.path("/var/new")), 0o755);
    }
}

#[test]
fn a_failure_at_any_step_ends_the_bootstrap() {
    for failing in 1..=4 {
        let node = Node::new();
        let log = node.path("/log");
        let steps = (1..=4).map(|number| {
            let text = format!("echo {number} >>{}; echo out {number}; echo trouble >&2", log.display());
            shell(&if number == failing { format!("{text}; exit {}", number + 2) } else { text })
        });
        let steps: Vec<Step> = steps.collect();
        let what = steps[failing - 1].what.clone();
        assert_eq!(node.run(&bootstrap(steps), LONG), Some(1));
        let at = At { step: failing, of: 4, what };
        let output = Output { stdout: vec![format!("out {failing}")], stderr: vec!["trouble".to_owned()] };
        let code = i32::try_from(failing).unwrap() + 2;
        assert_eq!(node.report().outcome, Outcome::Failed { at, code, output });
        let expected: String = (1..=failing).map(|number| format!("{number}\n")).collect();
        assert_eq!(String::from_utf8_lossy(&node.read("/log")), expected);
        assert!(!node.state().join("script").exists());
    }
}

#[test]
fn files_that_cannot_be_written_fail() {
    let node = Node::new();
    fs::create_dir_all(node.path("/etc/folder")).unwrap();
    fs::write(node.path("/etc/file"), "").unwrap();
    assert!(Process::new("mkfifo").arg(node.path("/etc/pipe")).status().unwrap().success());
    let owned = |owner: &str| {
        let (path, content) = ("/etc/x".to_owned(), Vec::new());
        let file = WriteFile { path, content, mode: None, owner: Some(owner.to_owned()), append: false };
        Step { what: owner.to_owned(), action: Action::WriteFile(file) }
    };
    let cases = [
        (file("/etc/folder", b""), "folder is there, and is no file"),
        // A pipe would be waited for, for ever.
        (file("/etc/pipe", b""), "pipe is there, and is no file"),
        (file("/etc/file/below", b""), "File exists"),
        (owned("nobody-of-this-name"), "invalid user"),
        (owned("--help"), "invalid user"),
    ];
    for (step, expected) in cases {
        let _ = fs::remove_dir_all(node.state());
        assert_eq!(node.run(&bootstrap(vec![step]), LONG), Some(1));
        match node.report().outcome {
            Outcome::Failed { output, .. } => {
                assert!(output.stderr.concat().contains(expected), "{output:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn commands_that_cannot_run_fail_with_the_shells_codes() {
    for (words, code) in
        [(vec!["/no/such/program"], 127), (vec!["/etc"], 126), (vec!["/bin/sh", "-c", "exit 124"], 124)]
    {
        let node = Node::new();
        let words = words.into_iter().map(str::to_owned).collect();
        let step = Step { what: "x".to_owned(), action: Action::Run(Command::Arguments(words)) };
        assert_eq!(node.run(&bootstrap(vec![step]), LONG), Some(1));
        let Outcome::Failed { code: found, .. } = node.report().outcome else {
            panic!("{:?}", node.report())
        };
        assert_eq!(found, code);
    }
}

/// Whether a process is there and no zombie.
pub fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

/// Waits at most 20 seconds.
fn wait_until(mut condition: impl FnMut() -> bool) {
    let clock = machinery::clock::Clock::system();
    let begun = clock.now();
    while !condition() {
        assert!((clock.now() - begun).num_seconds() < 20, "it did not happen in time");
        std::thread::yield_now();
    }
}

/// A node whose command waits for ever, when its time is over, and the ids of the three
/// processes that the command has begun.
///
/// On a busy machine the time can end before the command begins; then it is tried with twice the
/// time.
fn node_whose_time_ended(shell_words: &[&'static str]) -> (Node, Vec<String>) {
    for seconds in [1, 2, 4, 8, 16, 32] {
        let node = Node::with_shell(shell_words);
        let (pids, later) = (node.path("/pids"), node.path("/later"));
        let text = format!(
            "echo begun; sleep 1000 & echo $! >{pids}; (sleep 1000) & echo $! >>{pids}; echo $$ >>{pids}; wait",
            pids = pids.display()
        );
        let steps = vec![shell("true"), shell(&text), shell(&format!("touch {}", later.display()))];
        assert_eq!(node.run(&bootstrap(steps), Duration::from_secs(seconds)), Some(1));
        let begun = fs::read_to_string(pids).unwrap_or_default();
        let begun: Vec<String> = begun.lines().map(str::to_owned).collect();
        if begun.len() == 3 {
            return (node, begun);
        }
    }
    panic!("the command did not begin in 32 seconds");
}

#[test]
fn the_time_ends_the_group_of_the_command() {
    // Busybox takes its own `timeout`, which knows no groups.
    for words in shells().into_iter().filter(|words| !words[0].contains("busybox")) {
        let (node, pids) = node_whose_time_ended(&words);
        let Outcome::TimedOut { at, output } = node.report().outcome else { panic!("{:?}", node.report()) };
        assert_eq!((at.step, at.of), (2, 3));
        assert_eq!(output.stdout, ["begun"]);
        // The signal went to all of them before the script went on.
        pids.iter().for_each(|pid| wait_until(|| !lives(pid)));
        assert!(!node.path("/later").exists());
    }
}

#[test]
fn a_command_that_does_not_listen_is_killed() {
    let node = Node::new();
    let text = script(
        &bootstrap(vec![shell("trap '' TERM; while :; do :; done")]),
        &node.place(),
        Duration::from_secs(1),
    );
    let text = text.unwrap().replace("\ngrace=10\n", "\ngrace=1\n");
    assert!(node.deliver_text(&text, text.as_bytes()).status.success());
    assert_eq!(node.start().wait().unwrap().code(), Some(1));
    assert!(matches!(node.report().outcome, Outcome::TimedOut { .. }), "{:?}", node.report());
}

#[test]
fn a_node_of_another_provider_is_known() {
    let node = Node::new();
    fs::create_dir_all(node.path("/run/cluster-api")).unwrap();
    fs::write(node.path("/run/cluster-api/capd.bootstrap.started"), "started\n").unwrap();
    assert_eq!(node.report().outcome, Outcome::Foreign { succeeded: false });
    fs::write(node.path("/run/cluster-api/bootstrap-success.complete"), "success\n").unwrap();
    assert_eq!(node.report().outcome, Outcome::Foreign { succeeded: true });
}

#[test]
fn no_step_begins_after_the_time() {
    // The time is over when the first step has ended, although that took no notice of it.
    let node = Node::new();
    let text = "read -r up rest </proc/uptime; end=$((${up%.*} + 2)); trap : TERM; \
                while [ \"${up%.*}\" -lt $end ]; do read -r up rest </proc/uptime; done; exit 0";
    let steps = vec![shell(text), shell("touch later")];
    assert_eq!(node.run(&bootstrap(steps), Duration::from_secs(1)), Some(1));
    let Outcome::TimedOut { .. } = node.report().outcome else { panic!("{:?}", node.report()) };
}

#[test]
fn a_command_in_the_background_does_not_hold_the_bootstrap() {
    let node = Node::new();
    let pid = node.path("/pid");
    let steps = vec![shell(&format!("sleep 1000 & echo $! >{}", pid.display())), shell("true")];
    assert_eq!(node.run(&bootstrap(steps), LONG), Some(0));
    let pid = fs::read_to_string(pid).unwrap();
    assert!(lives(&pid));
    assert!(Process::new("kill").arg(pid.trim()).status().unwrap().success());
}

#[test]
fn commands_have_no_input_and_a_clean_surrounding() {
    let node = Node::new();
    let out = node.path("/out");
    let text =
        format!("cat; pwd >{0}; umask >>{0}; ulimit -c >/dev/null; echo \"$HOME\" >>{0}", out.display());
    assert_eq!(node.run(&bootstrap(vec![shell(&text)]), LONG), Some(0));
    let home = std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned());
    assert_eq!(String::from_utf8_lossy(&node.read("/out")), format!("/\n0022\n{home}\n"));
}

#[test]
fn what_steps_could_not_do_is_told() {
    let node = Node::new();
    let steps = vec![shell("echo 'no such unit' >>\"$BOOTSTRAP_WARNINGS\""), shell("true")];
    assert_eq!(node.run(&bootstrap(steps), LONG), Some(0));
    assert_eq!(node.report().warnings, ["no such unit"]);
    assert_eq!(node.report().outcome, Outcome::Completed);
}

#[test]
fn a_node_without_timeout_fails_and_says_so() {
    let node = Node::new();
    node.deliver(&bootstrap(vec![shell("true")]), LONG);
    // A node whose programs are only those that the script needs before its first step.
    let programs = node.path("/programs");
    fs::create_dir(&programs).unwrap();
    for name in ["mkdir", "ln", "rm", "cat"] {
        let output = Process::new("/bin/sh").args(["-c", &format!("command -v {name}")]).output().unwrap();
        let path = String::from_utf8(output.stdout).unwrap();
        std::os::unix::fs::symlink(path.trim(), programs.join(name)).unwrap();
    }
    let words = node_bootstrap::start_command(&node.place());
    let status = Process::new(&words[0]).args(&words[1..]).env("PATH", &programs).status().unwrap();
    assert_eq!(status.code(), Some(1));
    let Outcome::Failed { code, output, .. } = node.report().outcome else { panic!("{:?}", node.report()) };
    assert_eq!(code, 127);
    assert!(output.stderr.concat().contains("timeout"), "{output:?}");
}

#[test]
fn a_script_that_arrives_in_part_is_not_run() {
    let node = Node::new();
    let text = script(&bootstrap(vec![shell("true")]), &node.place(), LONG).unwrap();
    for cut in [0, 1, text.len() / 2, text.len() - 1] {
        let output = node.deliver_text(&text, &text.as_bytes()[..cut]);
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("did not arrive as a whole"));
    }
    assert_eq!(fs::read_dir(node.state()).unwrap().count(), 0);
    assert_eq!(node.report().outcome, Outcome::NotStarted);
    assert_ne!(node.start().wait().unwrap().code(), Some(0));
    assert_eq!(node.report().outcome, Outcome::NotStarted);
    assert!(node.deliver_text(&text, text.as_bytes()).status.success());
    assert_eq!(node.start().wait().unwrap().code(), Some(0));
}

#[test]
fn a_full_disk_is_no_success() {
    // No shell says that a file is written when it is not.
    for words in shells() {
        let status = Process::new(words[0])
            .args(&words[1..])
            .args(["-c", "{ : && printf 'x' && printf 'y'; } >/dev/full"])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success(), "{words:?}");
    }
}
