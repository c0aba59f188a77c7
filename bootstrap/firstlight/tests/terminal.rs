//! The live view of `up`, in a pseudo-terminal.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;
use std::process::Command;

use test_terminal::Terminal;

/// Starts `firstlight up` with the example.
pub(crate) fn start(size: (u16, u16), variables: &[(&str, &str)], data: &Path) -> Terminal {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-cluster.yaml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(["up", "--listen", "127.0.0.1:0", "-f"]).arg(example).arg("--data-dir").arg(data);
    Terminal::start(size, &mut command, variables)
}

/// Returns the lines of the tree, which begin with a branch or a mark.
pub(crate) fn tree(lines: &[String]) -> Vec<&str> {
    let starts = ['✓', '…', '✗', '├', '└', '│'];
    lines
        .iter()
        .map(|line| line.trim_end())
        .filter(|line| line.starts_with(starts) || line.starts_with("   ├") || line.starts_with("   └"))
        .collect()
}

/// Returns whether the tree stands on the screen once, with all of its ten objects ready.
pub(crate) fn is_complete(lines: &[String]) -> bool {
    let tree = tree(lines);
    tree.len() == 10
        && tree.iter().all(|line| line.contains('✓'))
        && tree[0].starts_with("✓ Cluster default/first")
}

#[test]
fn the_tree_fits_the_terminal_also_when_its_size_changes() {
    let folder = tempfile::tempdir().unwrap();
    let terminal = start((80, 24), &[], folder.path());
    // The cause is on the screen, as narrow as it is.
    terminal.wait(|lines| tree(lines).iter().any(|line| line.contains("InfrastructureReady")));
    terminal.resize((120, 40));
    terminal.wait(|lines| lines.iter().any(|line| line.starts_with("Available after")));
    for size in [(200, 60), (80, 24), (40, 9)] {
        terminal.resize(size);
        let folds = size.1 == 9;
        let lines = terminal.wait(|lines| match folds {
            true => tree(lines).iter().any(|line| line.ends_with("more, all ready")),
            false => is_complete(lines),
        });
        let clusters = lines.iter().filter(|line| line.contains("Cluster default/first")).count();
        assert_eq!(clusters, 1, "{size:?}:\n{}", lines.join("\n"));
    }
    terminal.resize((120, 40));
    let lines = terminal.wait(is_complete);
    let above = |text: &str| lines.iter().filter(|line| line.starts_with(text)).count();
    for text in ["firstlight is up at", "Log: ", "Available after", "Next:", "All machines are there after"] {
        assert_eq!(above(text), 1, "{text}:\n{}", lines.join("\n"));
    }
    assert_eq!(terminal.interrupt(), Some(0));
    let log = std::fs::read_to_string(folder.path().join("firstlight.log")).unwrap();
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
}

#[test]
fn a_dumb_terminal_gets_lines_and_no_color_means_none() {
    let folder = tempfile::tempdir().unwrap();
    let dumb = start((80, 24), &[("TERM", "dumb")], &folder.path().join("dumb"));
    let plain = start((80, 24), &[("NO_COLOR", "1")], &folder.path().join("plain"));
    dumb.wait(|lines| lines.iter().any(|line| line.contains("Machine default/first-control-plane")));
    assert!(!dumb.bytes().contains('\u{1b}'), "{}", dumb.bytes());
    plain.wait(|lines| tree(lines).len() > 3);
    assert!(!plain.bytes().contains("\u{1b}[3"), "{}", plain.bytes());
    for terminal in [dumb, plain] {
        // Not 0, because the goal is not reached.
        assert_eq!(terminal.interrupt(), Some(130));
    }
}

#[test]
fn a_server_without_clusters_says_so_and_what_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args(["up", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.path());
    let terminal = Terminal::start((80, 24), &mut command, &[]);
    terminal.wait(|lines| {
        let has = |text: &str| lines.iter().any(|line| line.starts_with(text));
        has("No clusters yet.") && has("Ctrl-C stops the server; the same command continues.")
    });
    assert_eq!(terminal.interrupt(), Some(0));
}
