//! Frames of SPDY from clients that forward ports.

use bytes::Bytes;
use portforward::limits::SPDY_CONTROL_FRAME;
use portforward::spdy::frame::{Decoder, Encoder, Error, Frame};
use portforward::spdy::streams::Streams;

/// Reads the frames of bytes that arrive in pieces of this size. Parts of a data frame are joined.
fn read(input: &[u8], pieces: usize) -> (Vec<Frame>, Option<Error>) {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for piece in input.chunks(pieces) {
        decoder.push(piece);
        loop {
            match decoder.frame() {
                Ok(Some(frame)) => join(&mut frames, frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        assert!(decoder.buffered() <= 8 + SPDY_CONTROL_FRAME, "more is kept than a frame has");
    }
    (frames, None)
}

fn join(frames: &mut Vec<Frame>, frame: Frame) {
    match (frames.last_mut(), frame) {
        (
            Some(Frame::Data { stream: last, fin: fin @ false, data }),
            Frame::Data { stream, fin: ends, data: more },
        ) if *last == stream => {
            (*fin, *data) = (ends, Bytes::from([&data[..], &more[..]].concat()));
        }
        (_, frame) => frames.push(frame),
    }
}

/// Reads frames, writes and reads them again, and applies the rules of streams to them.
pub fn frames(input: &[u8]) -> String {
    let (frames, error) = read(input, input.len().max(1));
    assert_eq!(read(input, 3), (frames.clone(), error), "in pieces");
    let (mut encoder, mut written) = (Encoder::default(), Vec::new());
    frames.iter().for_each(|frame| encoder.encode(frame, &mut written));
    if written.len() < SPDY_CONTROL_FRAME {
        assert_eq!(read(&written, 1000), (frames.clone(), None), "written and read again");
    }
    let mut streams = Streams::default();
    let mut like = String::new();
    for frame in frames {
        let (frame, step) = (format!("{frame:?}"), streams.receive(frame));
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric()).collect::<String>();
        match step {
            Ok(step) => like.push_str(&format!("{} {}, ", word(&frame), word(&format!("{step:?}")))),
            Err(error) => return format!("{like}{error:?}"),
        }
    }
    let error = error.map(|error| format!("{error:?}")).unwrap_or_default();
    like.push_str(
        error.split(['(', ')']).take(2).collect::<Vec<_>>().join(" ").trim_end_matches(char::is_numeric),
    );
    like
}
