//! What a test logs.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::io;
use std::sync::{Arc, Mutex};

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};

/// What a thread logs, with its spans, until this is dropped.
pub struct Log {
    text: Text,
    _default: DefaultGuard,
    _other: Dispatch,
}

impl Log {
    pub fn of_this_thread() -> Self {
        // With a single subscriber, a thread that does not have it would decide for all threads that a line is not wanted.
        let other = Dispatch::new(NoSubscriber::new());
        let text = Text::default();
        let (writer, subscriber) = (text.clone(), tracing_subscriber::fmt().with_ansi(false));
        let subscriber = subscriber.with_max_level(tracing::Level::DEBUG).with_writer(move || writer.clone());
        Self { text, _default: set_default(subscriber.finish()), _other: other }
    }

    /// Returns what was logged until now.
    pub fn written(&self) -> String {
        String::from_utf8(self.text.0.lock().unwrap().clone()).unwrap()
    }
}

#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
