//! The live view of `up`, in a pseudo-terminal.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const DEADLINE: Duration = Duration::from_secs(120);

/// The bytes that the terminal has received, and the screen that a user sees.
struct Received {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

impl Received {
    fn lines(&self) -> Vec<String> {
        let screen = self.screen.screen();
        screen.rows(0, screen.size().1.get()).collect()
    }
}

/// `firstlight up` in a pseudo-terminal.
pub(crate) struct Terminal {
    controller: File,
    received: Arc<(Mutex<Received>, Condvar)>,
    child: Child,
}

impl Terminal {
    pub(crate) fn start(size: (u16, u16), variables: &[(&str, &str)], data: &Path) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let controller = File::from(controller);
        resize(&controller, size);
        let path = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let terminal = || Stdio::from(File::options().read(true).write(true).open(&path).unwrap());
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-cluster.yaml");
        let child = Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args(["up", "--listen", "127.0.0.1:0", "-f"])
            .arg(example)
            .arg("--data-dir")
            .arg(data)
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .envs(variables.iter().copied())
            .stdin(terminal())
            .stdout(terminal())
            .stderr(terminal())
            .spawn()
            .unwrap();
        let screen = vt100::Parser::new(cells(size.1), cells(size.0), 0);
        let received = Arc::new((Mutex::new(Received { bytes: Vec::new(), screen }), Condvar::new()));
        let (mut output, shared) = (controller.try_clone().unwrap(), received.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails when the program has ended.
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let mut received = shared.0.lock().unwrap();
                received.bytes.extend_from_slice(&buffer[..length]);
                received.screen.process(&buffer[..length]);
                shared.1.notify_all();
            }
        });
        Self { controller, received, child }
    }

    /// Changes the size, and tells the program, which has no controlling terminal from which the kernel would tell it.
    fn resize(&self, size: (u16, u16)) {
        self.received.0.lock().unwrap().screen.screen_mut().set_size(cells(size.1), cells(size.0));
        resize(&self.controller, size);
        kill_process(Pid::from_child(&self.child), Signal::WINCH).unwrap();
    }

    /// Waits until the lines of the screen are as wanted, and returns them.
    pub(crate) fn wait(&self, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let (received, changed) = &*self.received;
        let received = received.lock().unwrap();
        let waiting = |received: &mut Received| !wanted(&received.lines());
        let (received, outcome) = changed.wait_timeout_while(received, DEADLINE, waiting).unwrap();
        let lines = received.lines();
        assert!(!outcome.timed_out(), "after {DEADLINE:?}:\n{}", lines.join("\n"));
        lines
    }

    /// Calls `use_it` with the screen.
    pub(crate) fn with_screen<T>(&self, use_it: impl Fn(&vt100::Screen) -> T) -> T {
        use_it(self.received.0.lock().unwrap().screen.screen())
    }

    fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.received.0.lock().unwrap().bytes).into_owned()
    }

    /// Interrupts the program, as Ctrl-C does, and returns its exit code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn resize(terminal: &File, (columns, rows): (u16, u16)) {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
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
    let terminal = Terminal::start((80, 24), &[], folder.path());
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
    let dumb = Terminal::start((80, 24), &[("TERM", "dumb")], &folder.path().join("dumb"));
    let plain = Terminal::start((80, 24), &[("NO_COLOR", "1")], &folder.path().join("plain"));
    dumb.wait(|lines| lines.iter().any(|line| line.contains("Machine default/first-control-plane")));
    assert!(!dumb.bytes().contains('\u{1b}'), "{}", dumb.bytes());
    plain.wait(|lines| tree(lines).len() > 3);
    assert!(!plain.bytes().contains("\u{1b}[3"), "{}", plain.bytes());
    for terminal in [dumb, plain] {
        // Not 0, because the goal is not reached.
        assert_eq!(terminal.interrupt(), Some(130));
    }
}
