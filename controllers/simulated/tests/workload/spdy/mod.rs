//! Tests of SPDY: the codec, the rules, and sessions.

mod codec;
mod rules;
mod sessions;

use portforward::spdy::frame::{Decoder, Encoder, Frame};
use portforward::spdy::headers::Headers;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

pub fn headers(all: &[(&str, &str)]) -> Headers {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn open(stream: u32) -> Frame {
    Frame::SynStream { stream, fin: false, headers: Headers::new() }
}

pub fn data(stream: u32, fin: bool, content: &[u8]) -> Frame {
    Frame::Data { stream, fin, data: content.to_vec().into() }
}

/// A client's side of a connection.
pub struct Peer<S> {
    pub connection: S,
    encoder: Encoder,
    decoder: Decoder,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub fn new(connection: S) -> Self {
        Self { connection, encoder: Encoder::default(), decoder: Decoder::default() }
    }

    fn encode(&mut self, frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encoder.encode(frame, &mut bytes);
        bytes
    }

    pub async fn send(&mut self, frame: Frame) {
        let bytes = self.encode(&frame);
        self.connection.write_all(&bytes).await.unwrap();
        self.connection.flush().await.unwrap();
    }

    /// Returns the next frame, or `None` at the end of the connection. Nothing is lost if it is dropped.
    pub async fn receive(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.frame().unwrap() {
                return Some(frame);
            }
            let mut buffer = [0; 4096];
            match self.connection.read(&mut buffer).await.unwrap() {
                0 => return None,
                read => self.decoder.push(&buffer[..read]),
            }
        }
    }
}
