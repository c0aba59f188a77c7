//! Frames as bytes.

use bytes::{Buf, Bytes, BytesMut};

use super::headers::{self, Compressor, Decompressor, Headers};
use crate::limits::SPDY_CONTROL_FRAME;

/// The version in control frames. SPDY/3.1 did not change it.
const VERSION: u16 = 3;
/// The size in bytes of what each frame begins with.
const HEADER: usize = 8;
/// The largest number of a stream, and the most by which a window can grow.
pub const NUMBER_MAX: u32 = 0x7fff_ffff;
/// The flag of the last frame of a stream.
const FIN: u8 = 1;
/// The flag of a stream on which the receiver cannot answer.
const UNIDIRECTIONAL: u8 = 2;
/// The setting for the first size of windows.
pub const INITIAL_WINDOW_SIZE: u32 = 7;

/// Why a stream ends, or a session. The numbers of the first are those of RST_STREAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Reset {
    /// The other side broke the protocol.
    ProtocolError = 1,
    /// The frame is for a stream that was never opened.
    InvalidStream = 2,
    /// The stream was not opened.
    RefusedStream = 3,
    /// The window overflows.
    FlowControlError = 7,
    /// The frame is for a stream that its sender had closed.
    StreamAlreadyClosed = 9,
}

/// The status of a GOAWAY after an error of the other side.
pub const GOAWAY_PROTOCOL_ERROR: u32 = 1;

/// A frame. Streams have numbers from 1 to [`NUMBER_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants explain their fields")]
pub enum Frame {
    /// SYN_STREAM: opens a stream. Priority and associated stream are ignored.
    SynStream { stream: u32, fin: bool, headers: Headers },
    /// SYN_REPLY: accepts a stream.
    SynReply { stream: u32, fin: bool, headers: Headers },
    /// RST_STREAM: ends a stream in both directions, with one of the numbers of [`Reset`] or another one.
    RstStream { stream: u32, status: u32 },
    /// SETTINGS: numbers of settings and their values.
    Settings(Vec<(u32, u32)>),
    /// PING, which is sent back.
    Ping(u32),
    /// GOAWAY: the sender accepts no streams after the last one that it names.
    GoAway { last_stream: u32, status: u32 },
    /// HEADERS: more headers of a stream.
    Headers { stream: u32, fin: bool, headers: Headers },
    /// WINDOW_UPDATE: the sender can take more bytes of a stream, or, if it is 0, of the session.
    WindowUpdate { stream: u32, bytes: u32 },
    /// A data frame, or a part of one.
    Data { stream: u32, fin: bool, data: Bytes },
}

/// What is wrong with a frame. The session cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The frame is of another version.
    #[error("a control frame has version {0}, and not {VERSION}")]
    Version(u16),
    /// A control frame is longer than [`SPDY_CONTROL_FRAME`].
    #[error("a control frame of {0} bytes is longer than {SPDY_CONTROL_FRAME}")]
    TooLong(usize),
    /// The length of a control frame is not that of its type.
    #[error("a control frame of type {0} has a wrong length")]
    Length(u16),
    /// The number of a stream or ping is 0, or too large.
    #[error("a frame of type {0} has a wrong number")]
    Number(u16),
    /// A stream that cannot be answered.
    #[error("unidirectional streams are not supported")]
    Unidirectional,
    /// The headers cannot be read.
    #[error(transparent)]
    Headers(#[from] headers::Error),
}

/// Turns bytes into frames.
#[derive(Default)]
pub struct Decoder {
    buffer: BytesMut,
    decompressor: Decompressor,
    rest: Rest,
}

/// What is left of a frame that has begun.
#[derive(Debug, Default, Clone, Copy)]
enum Rest {
    /// Nothing.
    #[default]
    Nothing,
    /// The frame is of an unknown type, and is left out.
    Skip(usize),
    /// The data frame's content.
    Data { stream: u32, fin: bool, bytes: usize },
}

impl Decoder {
    /// Adds bytes of the connection. The buffer stays small if [`Self::frame`] is called until it returns `None`.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the number of bytes that are not decoded yet.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Returns the next frame, or `None` if bytes are missing. A data frame is returned in several parts if it has not arrived completely.
    ///
    /// # Errors
    /// The bytes are no frames. Later calls return nonsense.
    pub fn frame(&mut self) -> Result<Option<Frame>, Error> {
        loop {
            match self.rest {
                Rest::Data { stream, fin, bytes } => return Ok(self.data(stream, fin, bytes)),
                Rest::Skip(bytes) => {
                    let skipped = bytes.min(self.buffer.len());
                    self.buffer.advance(skipped);
                    if skipped < bytes {
                        self.rest = Rest::Skip(bytes - skipped);
                        return Ok(None);
                    }
                    self.rest = Rest::Nothing;
                }
                Rest::Nothing => match self.begin()? {
                    Some(frame) => return Ok(Some(frame)),
                    None if matches!(self.rest, Rest::Nothing) => return Ok(None),
                    None => {}
                },
            }
        }
    }

    fn data(&mut self, stream: u32, fin: bool, bytes: usize) -> Option<Frame> {
        if bytes > 0 && self.buffer.is_empty() {
            return None;
        }
        let data = self.buffer.split_to(bytes.min(self.buffer.len())).freeze();
        let left = bytes - data.len();
        self.rest = if left == 0 { Rest::Nothing } else { Rest::Data { stream, fin, bytes: left } };
        Some(Frame::Data { stream, fin: fin && left == 0, data })
    }

    /// Begins a frame. A control frame is returned at once if it is complete; of others, [`Self::rest`] is left.
    fn begin(&mut self) -> Result<Option<Frame>, Error> {
        let Some(header) = self.buffer.first_chunk::<HEADER>() else { return Ok(None) };
        let [a, b, c, d, flags, high, middle, low] = *header;
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let first = u32::from_be_bytes([a, b, c, d]);
        if first & !NUMBER_MAX == 0 {
            self.buffer.advance(HEADER);
            if first == 0 {
                return Err(Error::Number(0));
            }
            self.rest = Rest::Data { stream: first, fin: flags & FIN != 0, bytes: length };
            return Ok(None);
        }
        let (version, kind) = ((first >> 16) as u16 & 0x7fff, first as u16);
        if version != VERSION {
            return Err(Error::Version(version));
        }
        if !(1..=9).contains(&kind) || kind == 5 {
            self.buffer.advance(HEADER);
            self.rest = Rest::Skip(length);
            return Ok(None);
        }
        if length > SPDY_CONTROL_FRAME {
            return Err(Error::TooLong(length));
        }
        if self.buffer.len() < HEADER + length {
            return Ok(None);
        }
        self.buffer.advance(HEADER);
        let content = self.buffer.split_to(length);
        self.control(kind, flags, &content).map(Some)
    }

    fn control(&mut self, kind: u16, flags: u8, content: &[u8]) -> Result<Frame, Error> {
        let fin = flags & FIN != 0;
        let number = |at: usize| {
            let bytes = content.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map(|bytes| u32::from_be_bytes(*bytes)).ok_or(Error::Length(kind))
        };
        let stream = || match number(0)? & NUMBER_MAX {
            0 => Err(Error::Number(kind)),
            stream => Ok(stream),
        };
        let exactly = |length: usize| if content.len() == length { Ok(()) } else { Err(Error::Length(kind)) };
        let block = |at: usize| content.get(at..).ok_or(Error::Length(kind));
        Ok(match kind {
            1 if flags & UNIDIRECTIONAL != 0 => return Err(Error::Unidirectional),
            1 => Frame::SynStream {
                stream: stream()?,
                fin,
                headers: self.decompressor.decompress(block(10)?)?,
            },
            2 => {
                Frame::SynReply { stream: stream()?, fin, headers: self.decompressor.decompress(block(4)?)? }
            }
            3 => {
                exactly(8)?;
                Frame::RstStream { stream: stream()?, status: number(4)? }
            }
            4 => {
                let count = number(0)? as usize;
                exactly(count.checked_mul(8).and_then(|bytes| bytes.checked_add(4)).unwrap_or(0))?;
                let settings =
                    (0..count).map(|at| Ok((number(4 + 8 * at)? & 0x00ff_ffff, number(8 + 8 * at)?)));
                Frame::Settings(settings.collect::<Result<_, Error>>()?)
            }
            6 => {
                exactly(4)?;
                Frame::Ping(number(0)?)
            }
            7 => {
                exactly(8)?;
                Frame::GoAway { last_stream: number(0)? & NUMBER_MAX, status: number(4)? }
            }
            8 => Frame::Headers { stream: stream()?, fin, headers: self.decompressor.decompress(block(4)?)? },
            _ => {
                exactly(8)?;
                let (stream, bytes) = (number(0)? & NUMBER_MAX, number(4)? & NUMBER_MAX);
                if bytes == 0 {
                    return Err(Error::Number(kind));
                }
                Frame::WindowUpdate { stream, bytes }
            }
        })
    }
}

/// Turns frames into bytes.
#[derive(Debug, Default)]
pub struct Encoder {
    compressor: Compressor,
}

impl Encoder {
    /// Appends a frame to `bytes`. A data frame must have less than 16 MiB.
    pub fn encode(&mut self, frame: &Frame, bytes: &mut Vec<u8>) {
        let mut content = Vec::new();
        let flags = |fin: &bool| if *fin { FIN } else { 0 };
        let (kind, flags) = match frame {
            Frame::Data { stream, fin, data } => {
                bytes.extend(stream.to_be_bytes());
                bytes.extend(flags_and_length(flags(fin), data.len()));
                bytes.extend(data);
                return;
            }
            Frame::SynStream { stream, fin, headers } => {
                put(&mut content, &[*stream, 0]);
                // Priority and slot.
                content.extend([0, 0]);
                content.extend(self.compressor.compress(headers));
                (1, flags(fin))
            }
            Frame::SynReply { stream, fin, headers } => {
                put(&mut content, &[*stream]);
                content.extend(self.compressor.compress(headers));
                (2, flags(fin))
            }
            Frame::RstStream { stream, status } => {
                put(&mut content, &[*stream, *status]);
                (3, 0)
            }
            Frame::Settings(settings) => {
                put(&mut content, &[settings.len() as u32]);
                settings.iter().for_each(|(number, value)| put(&mut content, &[*number, *value]));
                (4, 0)
            }
            Frame::Ping(number) => {
                put(&mut content, &[*number]);
                (6, 0)
            }
            Frame::GoAway { last_stream, status } => {
                put(&mut content, &[*last_stream, *status]);
                (7, 0)
            }
            Frame::Headers { stream, fin, headers } => {
                put(&mut content, &[*stream]);
                content.extend(self.compressor.compress(headers));
                (8, flags(fin))
            }
            Frame::WindowUpdate { stream, bytes } => {
                put(&mut content, &[*stream, *bytes]);
                (9, 0)
            }
        };
        put(bytes, &[!NUMBER_MAX | u32::from(VERSION) << 16 | kind]);
        bytes.extend(flags_and_length(flags, content.len()));
        bytes.extend(content);
    }
}

fn put(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
}

fn flags_and_length(flags: u8, length: usize) -> [u8; 4] {
    (u32::from(flags) << 24 | length as u32 & 0x00ff_ffff).to_be_bytes()
}
