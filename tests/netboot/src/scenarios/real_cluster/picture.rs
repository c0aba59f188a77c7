//! The picture of the page: screens of the live view while the cluster comes up, and of kubectl at the end. UPDATE_EXPECT=1 writes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clients::session::{Tools, root};
use parking_lot::Mutex;
use test_terminal::Terminal;
use test_terminal::picture::{Frame, draw};

const PICTURE: &str = "docs/pictures/air-gap.svg";
const SIZE: (u16, u16) = (120, 30);
/// The command of the page, without what a reader of the picture need not know.
const UP: &str = "firstlight up --bundle site.bundle -f bundle: --pivot-to self --netboot-interface eth1 --netboot-address 10.0.0.1/24 …";
/// What the last screen shows.
const AFTER: &str = "kubectl get nodes,bmh,machines";

/// The screens so far.
pub(super) struct Picture {
    home: PathBuf,
    tools: Tools,
    frames: Mutex<Vec<Frame>>,
}

impl Picture {
    pub(super) fn new(home: &Path, tools: &Tools) -> Self {
        Self { home: home.to_owned(), tools: tools.clone(), frames: Mutex::default() }
    }

    /// Starts the live view of the server that runs.
    pub(super) fn view(&self) -> Terminal {
        let mut status = Command::new(&self.tools.firstlight);
        Terminal::start(SIZE, status.args(["status", "--watch"]).env("HOME", &self.home), &[])
    }

    /// Keeps the screen of the live view.
    pub(super) fn keep(&self, view: &Terminal) {
        let home = self.home.display().to_string();
        let named = |text: String| text.replace(&home, "/root");
        self.frames.lock().push(view.with_screen(|screen| Frame::read(UP, screen, named)));
    }

    /// Adds what kubectl prints about the cluster of a kubeconfig, and writes the picture if that is wanted.
    pub(super) fn finish(&self, kubeconfig: &Path) -> Result<()> {
        let mut kubectl = Command::new(self.tools.clients.join("kubectl"));
        kubectl.args(["get", "nodes,bmh,machines"]).env("KUBECONFIG", kubeconfig);
        let mut terminal = Terminal::start(SIZE, &mut kubectl, &[]);
        terminal.wait(|lines| lines.iter().any(|line| line.starts_with("machine.cluster.x-k8s.io/")));
        terminal.ended();
        let mut frames = self.frames.lock();
        frames.push(terminal.with_screen(|screen| Frame::read(AFTER, screen, |text| text)));
        if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
            std::fs::write(root().join(PICTURE), draw("firstlight up --pivot-to self", SIZE, &frames))?;
        }
        Ok(())
    }
}
