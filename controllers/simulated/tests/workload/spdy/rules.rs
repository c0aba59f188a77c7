//! What frames mean for streams and windows.

use super::{data, open};
use portforward::limits::SPDY_STREAMS;
use portforward::spdy::frame::{Frame, INITIAL_WINDOW_SIZE, NUMBER_MAX, Reset};
use portforward::spdy::headers::Headers;
use portforward::spdy::streams::{Error, Step, Streams};
use portforward::spdy::windows::{INITIAL, ReceiveWindow, SendWindows};

fn reset(stream: u32, reason: Reset) -> Step {
    Step::Answer(Frame::RstStream { stream, status: reason as u32 })
}

fn opened(stream: u32) -> Step {
    Step::Open { stream, fin: false, headers: Headers::new() }
}

fn passed(stream: u32, fin: bool) -> Step {
    Step::Data { stream, fin, data: b"x".to_vec().into() }
}

/// Frames that arrive one after the other, and the last step.
#[test]
fn each_frame_has_its_step() {
    let x = |stream, fin| data(stream, fin, b"x");
    let rst = |stream| Frame::RstStream { stream, status: 5 };
    let goaway = Frame::GoAway { last_stream: 0, status: 0 };
    let reply = Frame::SynReply { stream: 1, fin: false, headers: Headers::new() };
    let more = |fin| Frame::Headers { stream: 1, fin, headers: Headers::new() };
    let grow = |stream| Frame::WindowUpdate { stream, bytes: 1 };
    let cases: Vec<(&str, Vec<Frame>, Result<Step, Error>)> = vec![
        ("a stream", vec![open(1)], Ok(opened(1))),
        ("numbers may be left out", vec![open(1), open(7)], Ok(opened(7))),
        ("the same number", vec![open(1), open(1)], Err(Error::Order { stream: 1, last: 1 })),
        ("a smaller number", vec![open(3), open(1)], Err(Error::Order { stream: 1, last: 3 })),
        ("a number of ours", vec![open(2)], Err(Error::Order { stream: 2, last: 0 })),
        ("after GOAWAY", vec![goaway.clone(), open(1)], Ok(reset(1, Reset::RefusedStream))),
        ("a reply", vec![open(1), reply], Ok(reset(1, Reset::InvalidStream))),
        ("data", vec![open(1), x(1, false)], Ok(passed(1, false))),
        ("the last data", vec![open(1), x(1, true)], Ok(passed(1, true))),
        (
            "data after the last",
            vec![open(1), x(1, true), x(1, false)],
            Ok(Step::Close { stream: 1, reason: Some(Reset::StreamAlreadyClosed) }),
        ),
        ("data after a reset", vec![open(1), rst(1), x(1, true)], Ok(passed(1, false))),
        ("data of no stream", vec![open(1), x(3, false)], Ok(reset(3, Reset::InvalidStream))),
        ("data of a stream of ours", vec![open(3), x(2, false)], Ok(reset(2, Reset::InvalidStream))),
        (
            "headers",
            vec![open(1), more(false)],
            Ok(Step::Data { stream: 1, fin: false, data: Default::default() }),
        ),
        (
            "headers at the end",
            vec![open(1), more(true), x(1, false)],
            Ok(Step::Close { stream: 1, reason: Some(Reset::StreamAlreadyClosed) }),
        ),
        ("a reset", vec![open(1), rst(1)], Ok(Step::Close { stream: 1, reason: None })),
        ("a reset of no stream", vec![rst(1)], Ok(Step::Nothing)),
        ("a ping", vec![Frame::Ping(3)], Ok(Step::Answer(Frame::Ping(3)))),
        ("a ping of ours", vec![Frame::Ping(2)], Ok(Step::Nothing)),
        ("GOAWAY", vec![goaway], Ok(Step::Nothing)),
        ("other settings", vec![Frame::Settings(vec![(4, 100)])], Ok(Step::Nothing)),
        (
            "the first window",
            vec![Frame::Settings(vec![(INITIAL_WINDOW_SIZE, 5), (INITIAL_WINDOW_SIZE, 6)])],
            Ok(Step::InitialWindow(6)),
        ),
        (
            "a window that is too large",
            vec![Frame::Settings(vec![(INITIAL_WINDOW_SIZE, NUMBER_MAX + 1)])],
            Err(Error::Setting(INITIAL_WINDOW_SIZE, NUMBER_MAX + 1)),
        ),
        ("the session's window", vec![grow(0)], Ok(Step::Grow { stream: 0, bytes: 1 })),
        ("a stream's window", vec![open(1), grow(1)], Ok(Step::Grow { stream: 1, bytes: 1 })),
        ("the window of no stream", vec![grow(1)], Ok(Step::Nothing)),
    ];
    for (name, frames, expected) in cases {
        let mut streams = Streams::default();
        let last = frames.into_iter().map(|frame| streams.receive(frame)).last();
        assert_eq!(last, Some(expected), "{name}");
    }
}

#[test]
fn a_stream_ends_when_both_sides_have_ended() {
    let mut streams = Streams::default();
    streams.receive(open(1)).unwrap();
    streams.receive(open(3)).unwrap();
    assert!(!streams.finish(1));
    assert!(!streams.is_closed(1));
    streams.receive(data(1, true, b"")).unwrap();
    assert!(streams.is_closed(1));
    streams.receive(data(3, true, b"")).unwrap();
    assert!(!streams.is_closed(3) && !streams.are_done());
    streams.receive(Frame::GoAway { last_stream: 0, status: 0 }).unwrap();
    assert!(!streams.are_done(), "a stream is open");
    assert!(streams.finish(3) && streams.are_done());
    assert_eq!(streams.last(), 3);
}

#[test]
fn streams_are_limited() {
    let mut streams = Streams::default();
    let numbers = (0..SPDY_STREAMS as u32).map(|at| 2 * at + 1);
    for stream in numbers {
        assert_eq!(streams.receive(open(stream)), Ok(opened(stream)));
    }
    let next = 2 * SPDY_STREAMS as u32 + 1;
    assert_eq!(streams.receive(open(next)), Ok(reset(next, Reset::RefusedStream)));
    streams.receive(Frame::RstStream { stream: 1, status: 5 }).unwrap();
    assert_eq!(streams.receive(open(next + 2)), Ok(opened(next + 2)));
}

#[test]
fn windows_count_once_the_client_speaks_of_them() {
    let mut windows = SendWindows::default();
    windows.open(1);
    assert_eq!(windows.take(1, 100_000), Some(100_000), "client-go has no windows");
    assert_eq!(windows.take(3, 1), None);
    assert!(windows.grow(1, 50_000));
    let left = 50_000 - (100_000 - INITIAL as usize);
    assert_eq!(windows.take(1, 100_000), Some(0), "the session's window is used up");
    assert!(windows.grow(0, 100_000));
    assert_eq!((windows.is_open(1), windows.take(1, 100_000)), (Some(true), Some(left)));
    assert_eq!((windows.is_open(1), windows.take(1, 1)), (Some(false), Some(0)));
    windows.close(1);
    assert_eq!((windows.is_open(1), windows.take(1, 1)), (None, None));
}

#[test]
fn windows_cannot_overflow() {
    let mut windows = SendWindows::default();
    windows.open(1);
    assert!(windows.grow(1, NUMBER_MAX - INITIAL));
    assert!(!windows.grow(1, 1));
    assert!(windows.grow(0, NUMBER_MAX - INITIAL));
    assert!(!windows.grow(0, 1));
    let mut windows = SendWindows::default();
    windows.open(1);
    assert!(windows.grow(1, 1));
    assert!(!windows.set_initial(NUMBER_MAX));
}

#[test]
fn the_first_size_changes_open_windows() {
    let mut windows = SendWindows::default();
    windows.open(1);
    assert!(windows.set_initial(10));
    windows.open(3);
    assert_eq!((windows.take(1, 100), windows.take(3, 100)), (Some(10), Some(10)));
    assert!(windows.set_initial(15));
    assert_eq!((windows.take(1, 100), windows.take(3, 100)), (Some(5), Some(5)));
    assert!(windows.set_initial(0) && windows.is_open(1) == Some(false));
}

#[test]
fn the_clients_window_grows_when_half_of_it_is_taken() {
    let (mut window, half) = (ReceiveWindow::default(), INITIAL / 2);
    assert_eq!(window.take(half as usize - 1), None);
    assert_eq!(window.take(1), Some(half));
    assert_eq!(window.take(half as usize + 5), Some(half + 5));
    assert_eq!(window.take(0), None);
}
