//! Frames and header blocks as bytes.

use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;

use super::{data, headers};
use portforward::limits::{SPDY_CONTROL_FRAME, SPDY_HEADER_BLOCK, SPDY_HEADERS};
use portforward::spdy::frame::{Decoder, Encoder, Error, Frame, NUMBER_MAX};
use portforward::spdy::headers::{self, Compressor, Decompressor, Headers};

/// What client-go (spdystream 0.5.1) sends: two streams of a port-forward, data, a ping, and the end.
const CLIENT_GO: [&str; 7] = [
    "800300010000003e0000000100000000000078f9e3c6a7c202253a48f95b044eea46c6e6960c0c0c9c4590f8ca04a5634603704a2c294a4dcc851636aca9a0a800000000ffff",
    "0000000101000000",
    "800300010000001600000003000000000000225333a8a44a04000000ffff",
    "000000030000000568656c6c6f",
    "800300060000000400000001",
    "80030003000000080000000300000005",
    "80030007000000080000000000000000",
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// Decodes bytes that arrive in pieces of this size; parts of data frames are joined.
fn decode(bytes: &[u8], pieces: usize) -> Result<Vec<Frame>, Error> {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    for piece in bytes.chunks(pieces) {
        decoder.push(piece);
        while let Some(frame) = decoder.frame()? {
            match (frames.last_mut(), frame) {
                (
                    Some(Frame::Data { stream: last, fin: fin @ false, data }),
                    Frame::Data { stream, fin: ends, data: more },
                ) if *last == stream => {
                    (*fin, *data) = (ends, [&data[..], &more[..]].concat().into());
                }
                (_, frame) => frames.push(frame),
            }
        }
        assert!(decoder.buffered() <= 8 + SPDY_CONTROL_FRAME + pieces);
    }
    Ok(frames)
}

fn encode(frames: &[Frame]) -> Vec<u8> {
    let (mut encoder, mut bytes) = (Encoder::default(), Vec::new());
    frames.iter().for_each(|frame| encoder.encode(frame, &mut bytes));
    bytes
}

#[test]
fn frames_of_client_go_are_read() {
    let stream = |stream, kind| Frame::SynStream {
        stream,
        fin: false,
        headers: headers(&[("port", "2379"), ("requestid", "0"), ("streamtype", kind)]),
    };
    let expected = [
        stream(1, "error"),
        data(1, true, b""),
        stream(3, "data"),
        data(3, false, b"hello"),
        Frame::Ping(1),
        Frame::RstStream { stream: 3, status: 5 },
        Frame::GoAway { last_stream: 0, status: 0 },
    ];
    let sent = bytes(&CLIENT_GO.concat());
    for pieces in [1, 7, sent.len()] {
        let mut frames = decode(&sent, pieces).unwrap();
        // The order of a map in Go.
        for frame in &mut frames {
            if let Frame::SynStream { headers, .. } = frame {
                headers.sort();
            }
        }
        assert_eq!(frames, expected, "in pieces of {pieces}");
    }
}

/// A zlib stream without a dictionary, with this plain text.
fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(plain.len() + 100);
    let mut compress = Compress::new(Compression::best(), false);
    compress.compress_vec(plain, &mut block, FlushCompress::Sync).unwrap();
    [&[0x78, 0x01], &block[..]].concat()
}

/// A header block with one header that has so many bytes altogether.
fn plain(length: usize) -> Vec<u8> {
    let value = vec![b'v'; length - 13];
    [&[0, 0, 0, 1, 0, 0, 0, 1, b'n'], &(value.len() as u32).to_be_bytes()[..], &value].concat()
}

#[test]
fn header_blocks_have_limits() {
    let read = |plain: &[u8]| Decompressor::default().decompress(&compressed(plain)).map(|found| found.len());
    assert_eq!(read(&plain(SPDY_HEADER_BLOCK)), Ok(1));
    assert_eq!(read(&plain(SPDY_HEADER_BLOCK + 1)), Err(headers::Error::TooLong));
    let bomb = compressed(&plain(64 * 1024 * 1024));
    assert!(bomb.len() < 100_000);
    assert_eq!(Decompressor::default().decompress(&bomb), Err(headers::Error::TooLong));
    let many = |count: usize| -> Headers { (0..count).map(|at| (format!("n{at}"), String::new())).collect() };
    let write = |headers: &Headers| Compressor::default().compress(headers);
    for (count, fits) in [(SPDY_HEADERS - 1, true), (SPDY_HEADERS, true), (SPDY_HEADERS + 1, false)] {
        let read = Decompressor::default().decompress(&write(&many(count)));
        assert_eq!(read, if fits { Ok(many(count)) } else { Err(headers::Error::TooMany) });
    }
}

#[test]
fn malformed_header_blocks_are_refused() {
    let name = |name: &str| [&[0, 0, 0, 1, 0, 0, 0, name.len() as u8], name.as_bytes(), &[0; 4]].concat();
    let twice = [&[0, 0, 0, 2][..], &name("a")[4..], &name("a")[4..]].concat();
    let cases: [(&[u8], headers::Error); 8] = [
        (b"", headers::Error::Malformed),
        (&[0, 0, 0, 1], headers::Error::Malformed),
        (&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff], headers::Error::Malformed),
        (&[0, 0, 0, 0, 0], headers::Error::Malformed),
        (&[0, 0, 0, 1, 0, 0, 0, 1, 0xff, 0, 0, 0, 0], headers::Error::Malformed),
        (&name("A"), headers::Error::Name),
        (&name(""), headers::Error::Name),
        (&twice, headers::Error::Name),
    ];
    for (plain, error) in cases {
        let read = Decompressor::default().decompress(&compressed(plain));
        assert_eq!(read, Err(error), "{plain:?}");
    }
    let blocks: [(&[u8], headers::Error); 5] = [
        (&[0x78], headers::Error::Zlib),
        (&[0x78, 0x00], headers::Error::Zlib),
        (&[0x78, 0xbb, 1, 2, 3, 4], headers::Error::Zlib),
        (&[0x78, 0x01, 7], headers::Error::Deflate),
        // The stream ends.
        (&[0x78, 0x01, 1, 4, 0, 0xfb, 0xff, 0, 0, 0, 0], headers::Error::Deflate),
    ];
    for (block, error) in blocks {
        assert_eq!(Decompressor::default().decompress(block), Err(error), "{block:?}");
    }
}

#[test]
fn malformed_frames_are_refused() {
    let frame = |kind: u8, flags: u8, content: &[u8]| {
        [&[0x80, 3, 0, kind, flags, 0, 0, content.len() as u8], content].concat()
    };
    let cases = [
        (vec![0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1], Error::Version(2)),
        (vec![0, 0, 0, 0, 0, 0, 0, 0], Error::Number(0)),
        (frame(1, 2, &[0; 10]), Error::Unidirectional),
        (frame(1, 0, &[0, 0, 0, 1]), Error::Length(1)),
        (frame(1, 0, &[0; 10]), Error::Number(1)),
        (frame(2, 0, &[0; 3]), Error::Length(2)),
        (frame(3, 0, &[0, 0, 0, 1]), Error::Length(3)),
        (frame(4, 0, &[0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 1]), Error::Length(4)),
        (frame(4, 0, &[0xff, 0xff, 0xff, 0xff]), Error::Length(4)),
        (frame(6, 0, &[]), Error::Length(6)),
        (frame(7, 0, &[0; 4]), Error::Length(7)),
        (frame(9, 0, &[0, 0, 0, 1, 0, 0, 0, 0]), Error::Number(9)),
    ];
    for (bytes, error) in cases {
        assert_eq!(decode(&bytes, bytes.len()), Err(error), "{bytes:?}");
    }
}

#[test]
fn control_frames_have_a_limit() {
    // A header block of so many bytes, stored, has 21 bytes beside it: SYN_STREAM's, zlib's, two of deflate.
    let frame = |length: usize| {
        let value = "v".repeat(length - 10 - 6 - 10 - 13);
        encode(&[Frame::SynStream { stream: 1, fin: true, headers: headers(&[("n", &value)]) }])
    };
    for (length, fits) in
        [(SPDY_CONTROL_FRAME - 1, true), (SPDY_CONTROL_FRAME, true), (SPDY_CONTROL_FRAME + 1, false)]
    {
        let bytes = frame(length);
        assert_eq!(bytes.len(), 8 + length);
        let read = decode(&bytes, 1000).map(|frames| frames.len());
        assert_eq!(read, if fits { Ok(1) } else { Err(Error::TooLong(length)) });
    }
}

#[test]
fn unknown_frames_are_left_out() {
    for kind in [0, 5, 10, 255] {
        let unknown = [&[0x80, 3, 0, kind, 0, 1, 0, 0][..], &[0xab; 1 << 16]].concat();
        let sent = [&unknown[..], &encode(&[Frame::Ping(1)])].concat();
        assert_eq!(decode(&sent, 1000), Ok(vec![Frame::Ping(1)]));
    }
}

fn any_headers() -> impl Strategy<Value = Headers> {
    prop::collection::btree_map("[a-z-]{1,12}", ".{0,40}", 0..6).prop_map(|map| map.into_iter().collect())
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let stream = 1..=NUMBER_MAX;
    prop_oneof![
        (stream.clone(), any::<bool>(), any_headers()).prop_map(|(stream, fin, headers)| Frame::SynStream {
            stream,
            fin,
            headers
        }),
        (stream.clone(), any::<bool>(), any_headers()).prop_map(|(stream, fin, headers)| Frame::SynReply {
            stream,
            fin,
            headers
        }),
        (stream.clone(), any::<bool>(), any_headers()).prop_map(|(stream, fin, headers)| Frame::Headers {
            stream,
            fin,
            headers
        }),
        (stream.clone(), any::<u32>()).prop_map(|(stream, status)| Frame::RstStream { stream, status }),
        prop::collection::vec((0..1_u32 << 24, any::<u32>()), 0..5).prop_map(Frame::Settings),
        any::<u32>().prop_map(Frame::Ping),
        (0..=NUMBER_MAX, any::<u32>())
            .prop_map(|(last_stream, status)| Frame::GoAway { last_stream, status }),
        (0..=NUMBER_MAX, stream.clone()).prop_map(|(stream, bytes)| Frame::WindowUpdate { stream, bytes }),
        (stream, any::<bool>(), prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(stream, fin, data)| super::data(stream, fin, &data)),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(mut frames in prop::collection::vec(any_frame(), 0..8), pieces in 1_usize..300) {
        // Frames of data of one stream, one after the other, cannot be told from parts of one.
        let is_data = |frame: &Frame| matches!(frame, Frame::Data { .. });
        frames.dedup_by(|next, last| is_data(next) && is_data(last));
        prop_assert_eq!(decode(&encode(&frames), pieces), Ok(frames));
    }

    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..2000), pieces in 1_usize..300) {
        drop(decode(&bytes, pieces));
    }

    #[test]
    fn random_content_is_read_or_refused(kind in 0_u8..12, flags in any::<u8>(), content in prop::collection::vec(any::<u8>(), 0..255)) {
        let zlib = [&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x78, 0x01][..], &content].concat();
        for content in [content, zlib] {
            let frame = [&[0x80, 3, 0, kind, flags, 0, (content.len() >> 8) as u8, content.len() as u8], &content[..]].concat();
            let whole = decode(&frame, frame.len());
            prop_assert_eq!(decode(&frame, 3), whole);
        }
    }
}
