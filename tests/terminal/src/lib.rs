//! A program in a pseudo-terminal, for tests, and pictures of its screen.

#![allow(clippy::unwrap_used, reason = "a part of tests, which may panic")]

pub mod picture;

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Limit for each change of the screen.
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

/// A program in a pseudo-terminal. It is killed when this is dropped.
pub struct Terminal {
    controller: File,
    received: Arc<(Mutex<Received>, Condvar)>,
    child: Child,
}

impl Terminal {
    /// Starts a program in a terminal of `size` columns and lines, with these environment variables beside `TERM`.
    ///
    /// # Panics
    /// If there are no pseudo-terminals, or the program cannot be started.
    pub fn start(size: (u16, u16), command: &mut Command, variables: &[(&str, &str)]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let controller = File::from(controller);
        resize(&controller, size);
        let path = ptsname(&controller, Vec::new()).unwrap().into_string().unwrap();
        let terminal = || Stdio::from(File::options().read(true).write(true).open(&path).unwrap());
        let command = command.env_remove("NO_COLOR").env("TERM", "xterm").envs(variables.iter().copied());
        let child = command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().unwrap();
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
    ///
    /// # Panics
    /// If the program has ended.
    pub fn resize(&self, size: (u16, u16)) {
        self.received.0.lock().unwrap().screen.screen_mut().set_size(cells(size.1), cells(size.0));
        resize(&self.controller, size);
        kill_process(Pid::from_child(&self.child), Signal::WINCH).unwrap();
    }

    /// Waits until the lines of the screen are as wanted, and returns them.
    ///
    /// # Panics
    /// If they are not within two minutes.
    pub fn wait(&self, wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
        let (received, changed) = &*self.received;
        let received = received.lock().unwrap();
        let waiting = |received: &mut Received| !wanted(&received.lines());
        let (received, outcome) = changed.wait_timeout_while(received, DEADLINE, waiting).unwrap();
        let lines = received.lines();
        assert!(!outcome.timed_out(), "after {DEADLINE:?}:\n{}", lines.join("\n"));
        lines
    }

    /// Calls `use_it` with the screen.
    ///
    /// # Panics
    /// If the thread that reads has panicked.
    pub fn with_screen<T>(&self, use_it: impl Fn(&vt100::Screen) -> T) -> T {
        use_it(self.received.0.lock().unwrap().screen.screen())
    }

    /// Returns everything that the program has written.
    ///
    /// # Panics
    /// If the thread that reads has panicked.
    pub fn bytes(&self) -> String {
        String::from_utf8_lossy(&self.received.0.lock().unwrap().bytes).into_owned()
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    /// If the kernel does not know the program.
    pub fn ended(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Interrupts the program, as Ctrl-C does, and returns its exit code.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn interrupt(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.ended()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It is fine if the program has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn cells(number: u16) -> NonZero<u16> {
    NonZero::new(number).unwrap()
}

fn resize(terminal: &File, (columns, rows): (u16, u16)) {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}
