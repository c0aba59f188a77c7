//! Flow control: how much each side may send before the other has taken it.
//!
//! client-go ([`moby/spdystream`](https://github.com/moby/spdystream)) knows no flow control: it never says that it has taken something, and
//! sends as much as the connection takes. Windows therefore limit what we send only from the first frame on in which the client speaks of
//! windows. What a client sends beyond its window waits in the connection: the session reads on only when a stream has taken it.

use std::collections::BTreeMap;

use super::frame::NUMBER_MAX;

/// The first size in bytes of each window.
pub const INITIAL: u32 = 64 * 1024;

/// The bytes that we may send. They are negative if we sent more before the client spoke of windows.
#[derive(Debug)]
pub struct SendWindows {
    are_counted: bool,
    initial: i64,
    session: i64,
    streams: BTreeMap<u32, i64>,
}

impl Default for SendWindows {
    fn default() -> Self {
        let initial = i64::from(INITIAL);
        Self { are_counted: false, initial, session: initial, streams: BTreeMap::new() }
    }
}

impl SendWindows {
    /// Adds a stream.
    pub fn open(&mut self, stream: u32) {
        self.streams.insert(stream, self.initial);
    }

    /// Removes a stream.
    pub fn close(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// Returns whether bytes may be sent on a stream now; `None` if it has ended.
    pub fn is_open(&self, stream: u32) -> Option<bool> {
        self.streams.get(&stream).map(|window| self.allowed(*window) > 0)
    }

    /// Returns how many of `wanted` bytes may be sent on a stream now, and takes them from its window; `None` if it has ended.
    pub fn take(&mut self, stream: u32, wanted: usize) -> Option<usize> {
        let allowed = self.allowed(*self.streams.get(&stream)?);
        let window = self.streams.get_mut(&stream)?;
        let taken = (wanted as i64).min(allowed);
        *window -= taken;
        self.session -= taken;
        Some(taken as usize)
    }

    fn allowed(&self, window: i64) -> i64 {
        if self.are_counted { window.min(self.session).max(0) } else { i64::MAX }
    }

    /// The client takes more bytes of a stream, or of the session if it is 0. Returns `false` if the window would overflow.
    #[must_use]
    pub fn grow(&mut self, stream: u32, bytes: u32) -> bool {
        self.are_counted = true;
        let window = if stream == 0 { Some(&mut self.session) } else { self.streams.get_mut(&stream) };
        let Some(window) = window else { return true };
        *window += i64::from(bytes);
        *window <= i64::from(NUMBER_MAX)
    }

    /// The client sets the first size of windows, which also changes those of open streams. Returns `false` if one would overflow.
    #[must_use]
    pub fn set_initial(&mut self, bytes: u32) -> bool {
        self.are_counted = true;
        let more = i64::from(bytes) - self.initial;
        self.initial = i64::from(bytes);
        self.streams.values_mut().for_each(|window| *window += more);
        self.streams.values().all(|window| *window <= i64::from(NUMBER_MAX))
    }
}

/// The bytes that were taken of what the client sent, of one stream or of the session.
#[derive(Debug, Default)]
pub struct ReceiveWindow {
    taken: u32,
}

impl ReceiveWindow {
    /// Notes that bytes were taken. Returns by how much the client's window grows, once that is half of a window.
    pub fn take(&mut self, bytes: usize) -> Option<u32> {
        self.taken = self.taken.saturating_add(bytes as u32);
        (self.taken >= INITIAL / 2).then(|| std::mem::take(&mut self.taken))
    }
}
