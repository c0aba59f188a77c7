//! Units of Ignition: their commands really run, with a `systemctl` that only notes how it was called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use node_bootstrap::{Action, Command, Format, Metadata, Outcome, Step, parse};
use serde_json::json;

use crate::containers_bootstrap::node::{LONG, Node, bootstrap};

/// Starts `bad.service` and mounts in vain, knows no `none.service`, and never ends with `slow.service`.
const SYSTEMCTL: &str = "#!/bin/sh\necho \"$*\" >>NOTED\ncase $* in\n'cat -- none.service') exit 1;;\n*--now*bad.service | \
                         *--now*.mount) echo 'Job failed.' >&2; exit 5;;\n*--now*slow.service) exec sleep 1000;;\nesac\n";
const JOURNALCTL: &str = "#!/bin/sh\necho \"the last words of $*\"\n";

/// Starts a unit in a node. Returns the node and what `systemctl` was told.
fn start(unit: &str, limit: Duration) -> (Node, String) {
    let node = Node::new();
    let (programs, noted) = (node.path("/programs"), node.path("/noted"));
    fs::create_dir(&programs).unwrap();
    for (name, text) in [("systemctl", SYSTEMCTL), ("journalctl", JOURNALCTL)] {
        let path = programs.join(name);
        fs::write(&path, text.replace("NOTED", &noted.display().to_string())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let config =
        json!({"ignition": {"version": "3.4.0"}, "systemd": {"units": [{"name": unit, "enabled": true}]}});
    let read = parse(config.to_string().as_bytes(), Format::Ignition, &Metadata::default()).unwrap();
    // The programs come first in the path of each command.
    let in_path = |step: Step| match step.action {
        Action::Run(Command::Shell(text)) => {
            let text = format!("PATH={}:$PATH\n{text}", programs.display());
            Step { what: step.what, action: Action::Run(Command::Shell(text)) }
        }
        _ => panic!("{step:?}"),
    };
    let steps = read.steps.into_iter().filter(|step| step.what.contains(unit)).map(in_path).collect();
    node.run(&bootstrap(steps), limit);
    let noted = fs::read_to_string(noted).unwrap_or_default();
    (node, noted)
}

#[test]
fn units_are_enabled_and_started() {
    let (node, noted) = start("good.service", LONG);
    assert_eq!(node.report().outcome, Outcome::Completed);
    assert_eq!(noted, "cat -- good.service\nenable --now -- good.service\n");
}

#[test]
fn a_unit_that_fails_shows_the_end_of_its_log() {
    let (node, _) = start("bad.service", LONG);
    let Outcome::Failed { code, output, .. } = node.report().outcome else { panic!("{:?}", node.report()) };
    assert_eq!(code, 5);
    assert_eq!(output.stderr, ["Job failed.", "the last words of --no-pager -q -o cat -n 10 -u bad.service"]);
}

#[test]
fn what_a_node_can_do_without_is_a_warning() {
    let cases = [
        ("none.service", "none.service is not started: the node image has no such unit"),
        ("var-x.mount", "var-x.mount is not mounted: a node has no disks of its own"),
    ];
    for (unit, expected) in cases {
        let (node, _) = start(unit, LONG);
        assert_eq!(node.report().outcome, Outcome::Completed, "{unit}");
        assert_eq!(node.report().warnings, [expected]);
    }
}

#[test]
fn the_time_stops_a_unit() {
    let (node, noted) = start("slow.service", Duration::from_secs(1));
    assert!(matches!(node.report().outcome, Outcome::TimedOut { .. }), "{:?}", node.report());
    assert!(noted.ends_with("enable --now -- slow.service\nstop --no-block -- slow.service\n"), "{noted}");
}
