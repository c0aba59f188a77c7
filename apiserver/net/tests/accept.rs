//! The pause after a connection that could not be accepted.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::cell::Cell;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::Duration;

use net::Acceptor;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::log::Log;

/// Returns a listener of which each `accept` fails at once: its socket has data, and does not listen.
fn failing_listener() -> TcpListener {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    listener.accept().unwrap().0.write_all(b"x").unwrap();
    let failing = std::net::TcpListener::from(OwnedFd::from(stream));
    failing.set_nonblocking(true).unwrap();
    TcpListener::from_std(failing).unwrap()
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_cancelled_do_not_shorten_the_pause() {
    let log = Log::of_this_thread();
    let listener = failing_listener();
    let (mut acceptor, attempts) = (Acceptor::new(&listener), Cell::new(0));
    // Servers cancel a call whenever one of their connections has ended.
    for _ in 0..100 {
        let next = acceptor.next(|| attempts.set(attempts.get() + 1));
        assert!(timeout(Duration::from_millis(10), next).await.is_err());
    }
    assert!((9..=11).contains(&attempts.get()), "{} attempts in a second", attempts.get());
    assert_eq!(log.written().matches("cannot accept a connection").count(), 1, "{}", log.written());
}
