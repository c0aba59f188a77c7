//! The streams of a session and what each frame of the client means for them. The server opens none.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::frame::{Frame, INITIAL_WINDOW_SIZE, NUMBER_MAX, Reset};
use super::headers::Headers;
use crate::limits::SPDY_STREAMS;

/// What the session must do because of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants explain their fields")]
pub enum Step {
    /// Nothing.
    Nothing,
    /// Send this frame.
    Answer(Frame),
    /// Accept or refuse a new stream. If `fin`, the client sends nothing on it.
    Open { stream: u32, fin: bool, headers: Headers },
    /// Pass on data, or drop it if the stream has ended. If `fin`, the client sends no more.
    Data { stream: u32, fin: bool, data: Bytes },
    /// Drop everything of a stream that has ended. If there is a reason, the client does not know it yet.
    Close { stream: u32, reason: Option<Reset> },
    /// The client takes more bytes of a stream, or of the session if it is 0.
    Grow { stream: u32, bytes: u32 },
    /// The first size of windows.
    InitialWindow(u32),
}

/// The client broke a rule, after which the session cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages explain the fields")]
pub enum Error {
    /// Numbers of the client's streams are odd and rise.
    #[error("stream {stream} was opened after stream {last}")]
    Order { stream: u32, last: u32 },
    /// A setting has a value that it cannot have.
    #[error("setting {0} has the value {1}")]
    Setting(u32, u32),
}

/// The directions of a stream in which somebody still sends.
#[derive(Debug, Clone, Copy)]
struct Open {
    client: bool,
    server: bool,
}

/// The streams of a session.
#[derive(Debug, Default)]
pub struct Streams {
    open: BTreeMap<u32, Open>,
    last: u32,
    client_goes: bool,
}

impl Streams {
    /// Returns what a frame means.
    ///
    /// # Errors
    /// The session must end with a GOAWAY.
    pub fn receive(&mut self, frame: Frame) -> Result<Step, Error> {
        Ok(match frame {
            Frame::SynStream { stream, fin, headers } => return self.open(stream, fin, headers),
            Frame::SynReply { stream, .. } => reset(stream, Reset::InvalidStream),
            Frame::RstStream { stream, .. } => match self.open.remove(&stream) {
                Some(_) => Step::Close { stream, reason: None },
                None => Step::Nothing,
            },
            Frame::Settings(settings) => return initial_window(&settings),
            // Ours would be even, and we send none.
            Frame::Ping(number) if number % 2 == 1 => Step::Answer(Frame::Ping(number)),
            Frame::Ping(_) => Step::Nothing,
            Frame::GoAway { .. } => {
                self.client_goes = true;
                Step::Nothing
            }
            Frame::Headers { stream, fin, .. } => self.data(stream, fin, Bytes::new()),
            Frame::WindowUpdate { stream: 0, bytes } => Step::Grow { stream: 0, bytes },
            Frame::WindowUpdate { stream, bytes } if self.open.contains_key(&stream) => {
                Step::Grow { stream, bytes }
            }
            Frame::WindowUpdate { .. } => Step::Nothing,
            Frame::Data { stream, fin, data } => self.data(stream, fin, data),
        })
    }

    fn open(&mut self, stream: u32, fin: bool, headers: Headers) -> Result<Step, Error> {
        let last = self.last;
        if stream <= last || stream.is_multiple_of(2) {
            return Err(Error::Order { stream, last });
        }
        self.last = stream;
        if self.client_goes || self.open.len() >= SPDY_STREAMS {
            return Ok(reset(stream, Reset::RefusedStream));
        }
        self.open.insert(stream, Open { client: !fin, server: true });
        Ok(Step::Open { stream, fin, headers })
    }

    fn data(&mut self, stream: u32, fin: bool, data: Bytes) -> Step {
        let Some(open) = self.open.get_mut(&stream) else {
            let was_open = stream <= self.last && !stream.is_multiple_of(2);
            // The frame may have been sent before the client knew that the stream had ended.
            return match was_open {
                true => Step::Data { stream, fin: false, data },
                false => reset(stream, Reset::InvalidStream),
            };
        };
        if !open.client {
            self.remove(stream);
            return Step::Close { stream, reason: Some(Reset::StreamAlreadyClosed) };
        }
        open.client = !fin;
        if fin && !open.server {
            self.open.remove(&stream);
        }
        Step::Data { stream, fin, data }
    }

    /// Removes a stream that the server ends in both directions.
    pub fn remove(&mut self, stream: u32) {
        self.open.remove(&stream);
    }

    /// The server sends no more on a stream. Returns whether the stream has ended.
    pub fn finish(&mut self, stream: u32) -> bool {
        let Some(open) = self.open.get_mut(&stream) else { return true };
        open.server = false;
        if open.client {
            return false;
        }
        self.open.remove(&stream);
        true
    }

    /// Returns whether a stream has ended, or never was.
    pub fn is_closed(&self, stream: u32) -> bool {
        !self.open.contains_key(&stream)
    }

    /// Returns the last stream that the client opened, or 0.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Returns whether nothing more will come: the client opens no streams, and all have ended.
    pub fn are_done(&self) -> bool {
        self.client_goes && self.open.is_empty()
    }
}

fn reset(stream: u32, reason: Reset) -> Step {
    Step::Answer(Frame::RstStream { stream, status: reason as u32 })
}

fn initial_window(settings: &[(u32, u32)]) -> Result<Step, Error> {
    let window = settings.iter().rfind(|(number, _)| *number == INITIAL_WINDOW_SIZE);
    match window {
        None => Ok(Step::Nothing),
        Some((_, bytes)) if *bytes <= NUMBER_MAX => Ok(Step::InitialWindow(*bytes)),
        Some((number, bytes)) => Err(Error::Setting(*number, *bytes)),
    }
}
