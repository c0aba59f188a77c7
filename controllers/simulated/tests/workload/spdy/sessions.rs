//! Sessions over a connection in memory.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Peer, data, headers, open};
use portforward::limits::{PORT_BUFFER, SPDY_CHUNK, SPDY_QUEUE, SPDY_STREAMS};
use portforward::spdy::frame::{Frame, INITIAL_WINDOW_SIZE, Reset};
use portforward::spdy::headers::Headers;
use portforward::spdy::session::serve;
use portforward::spdy::windows::INITIAL;

/// Longer than anything takes; time passes only when nothing else happens.
const SOON: Duration = Duration::from_secs(1);
/// What the connection holds in each direction.
const CONNECTION: usize = 1024;

/// A client, and the server's ends of its streams.
struct Client {
    peer: Peer<DuplexStream>,
    streams: mpsc::UnboundedReceiver<DuplexStream>,
    session: JoinHandle<std::io::Result<()>>,
}

impl Client {
    /// Connects. Streams with the header `refuse` are refused.
    fn connect() -> Self {
        let (connection, server) = tokio::io::duplex(CONNECTION);
        let (sender, streams) = mpsc::unbounded_channel();
        let session = tokio::spawn(serve(server, move |headers, stream| {
            headers.iter().all(|(name, _)| name != "refuse") && sender.send(stream).is_ok()
        }));
        Self { peer: Peer::new(connection), streams, session }
    }

    async fn send(&mut self, frame: Frame) {
        self.peer.send(frame).await;
    }

    /// Returns the next frame, or `None` at the end of the connection.
    async fn receive(&mut self) -> Option<Frame> {
        timeout(SOON, self.peer.receive()).await.expect("a frame")
    }

    /// Opens a stream, and returns the server's end.
    async fn open(&mut self, stream: u32) -> DuplexStream {
        self.send(open(stream)).await;
        let reply = Frame::SynReply { stream, fin: false, headers: Headers::new() };
        assert_eq!(self.receive().await, Some(reply));
        self.streams.recv().await.unwrap()
    }

    /// Reads data frames of a stream until there is no more for now; returns the content and whether the stream has ended.
    async fn data(&mut self, stream: u32) -> (Vec<u8>, bool) {
        let mut content = Vec::new();
        while let Ok(Some(frame)) = timeout(SOON, self.peer.receive()).await {
            match frame {
                Frame::Data { stream: of, fin, data } if of == stream => {
                    content.extend(data);
                    if fin {
                        return (content, true);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        (content, false)
    }

    /// The session must end with a GOAWAY, and with an error that contains `reason`.
    async fn expect_goaway(mut self, last_stream: u32, reason: &str) {
        assert_eq!(self.receive().await, Some(Frame::GoAway { last_stream, status: 1 }));
        assert_eq!(self.receive().await, None);
        let error = self.session.await.unwrap().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

/// Reads until the end, or until nothing comes for now.
async fn read(stream: &mut DuplexStream) -> (Vec<u8>, bool) {
    let (mut content, mut buffer) = (Vec::new(), vec![0; 4096]);
    while let Ok(read) = timeout(SOON, stream.read(&mut buffer)).await {
        match read.unwrap() {
            0 => return (content, true),
            read => content.extend(&buffer[..read]),
        }
    }
    (content, false)
}

#[tokio::test(start_paused = true)]
async fn a_stream_carries_bytes_both_ways_until_both_sides_end_it() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    client.send(data(1, false, b"question")).await;
    let mut question = [0; 8];
    stream.read_exact(&mut question).await.unwrap();
    assert_eq!(&question, b"question");
    client.send(data(1, true, b"?")).await;
    assert_eq!(read(&mut stream).await, (b"?".to_vec(), true));
    stream.write_all(b"answer").await.unwrap();
    drop(stream);
    assert_eq!(client.data(1).await, (b"answer".to_vec(), true));
    client.send(Frame::Ping(1)).await;
    assert_eq!(client.receive().await, Some(Frame::Ping(1)), "the session goes on");
    client.send(Frame::GoAway { last_stream: 0, status: 0 }).await;
    assert_eq!(client.receive().await, None);
    client.session.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn streams_do_not_wait_for_each_other() {
    let mut client = Client::connect();
    let (mut first, mut second) = (client.open(1).await, client.open(3).await);
    client.send(data(3, true, b"b")).await;
    assert_eq!(read(&mut second).await, (b"b".to_vec(), true));
    client.send(data(1, true, b"a")).await;
    assert_eq!(read(&mut first).await, (b"a".to_vec(), true));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_reset_is_dropped() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    client.send(Frame::RstStream { stream: 1, status: 5 }).await;
    assert_eq!(read(&mut stream).await, (Vec::new(), true));
    assert!(stream.write_all(b"lost").await.is_err());
    client.send(data(1, true, b"late")).await;
    client.send(Frame::Ping(1)).await;
    assert_eq!(client.receive().await, Some(Frame::Ping(1)));
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_refused_if_nobody_wants_it() {
    let mut client = Client::connect();
    let refused = |stream| Frame::RstStream { stream, status: Reset::RefusedStream as u32 };
    client.send(Frame::SynStream { stream: 1, fin: false, headers: headers(&[("refuse", "")]) }).await;
    assert_eq!(client.receive().await, Some(refused(1)));
    drop(client.open(3).await);
    assert_eq!(client.data(3).await, (Vec::new(), true));
}

#[tokio::test(start_paused = true)]
async fn streams_that_have_ended_make_room_for_others() {
    let mut client = Client::connect();
    let mut open = Vec::new();
    let last = 2 * SPDY_STREAMS as u32 - 1;
    for stream in (1..=last).step_by(2) {
        open.push(client.open(stream).await);
    }
    client.send(super::open(last + 2)).await;
    let refused = Frame::RstStream { stream: last + 2, status: Reset::RefusedStream as u32 };
    assert_eq!(client.receive().await, Some(refused));
    client.send(data(1, true, b"")).await;
    drop(open.remove(0));
    assert_eq!(client.data(1).await, (Vec::new(), true));
    client.open(last + 4).await;
}

#[tokio::test(start_paused = true)]
async fn what_breaks_the_protocol_ends_the_session() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    client.send(open(1)).await;
    client.expect_goaway(1, "stream 1 was opened after stream 1").await;
    assert_eq!(read(&mut stream).await, (Vec::new(), true), "its streams end, too");

    let mut client = Client::connect();
    client.peer.connection.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    // As a data frame, this is of a stream that was never opened, and very long.
    assert_eq!(
        client.receive().await,
        Some(Frame::RstStream { stream: u32::from_be_bytes(*b"GET "), status: 2 })
    );

    let mut client = Client::connect();
    client.peer.connection.write_all(&[0x80, 2, 0, 1, 0, 0, 0, 0]).await.unwrap();
    client.expect_goaway(0, "version 2").await;

    let mut client = Client::connect();
    client.send(Frame::WindowUpdate { stream: 0, bytes: 0x7fff_ffff }).await;
    client.expect_goaway(0, "overflows").await;
}

#[tokio::test(start_paused = true)]
async fn a_window_that_overflows_ends_its_stream() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    client.send(Frame::WindowUpdate { stream: 1, bytes: 0x7fff_ffff }).await;
    let reset = Frame::RstStream { stream: 1, status: Reset::FlowControlError as u32 };
    assert_eq!(client.receive().await, Some(reset));
    assert_eq!(read(&mut stream).await, (Vec::new(), true));
    client.open(3).await;
}

/// client-go knows no windows.
#[tokio::test(start_paused = true)]
async fn a_client_without_windows_gets_everything() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    let content: Vec<u8> = (0..1_000_000_u32).map(|at| at as u8).collect();
    let sent = content.clone();
    tokio::spawn(async move { stream.write_all(&sent).await });
    assert!(client.data(1).await == (content, true));
}

#[tokio::test(start_paused = true)]
async fn a_client_with_windows_gets_no_more_than_they_hold() {
    let mut client = Client::connect();
    client.send(Frame::Settings(vec![(INITIAL_WINDOW_SIZE, 10)])).await;
    let mut stream = client.open(1).await;
    stream.write_all(b"more than ten bytes").await.unwrap();
    assert_eq!(client.data(1).await, (b"more than ".to_vec(), false));
    client.send(Frame::WindowUpdate { stream: 1, bytes: 3 }).await;
    assert_eq!(client.data(1).await, (b"ten".to_vec(), false));
    drop(stream);
    client.send(Frame::WindowUpdate { stream: 1, bytes: 100 }).await;
    assert_eq!(client.data(1).await, (b" bytes".to_vec(), true));
}

#[tokio::test(start_paused = true)]
async fn the_client_learns_what_was_taken() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    let half = INITIAL / 2;
    client.send(data(1, false, &vec![7; half as usize])).await;
    let mut taken = vec![0; half as usize];
    stream.read_exact(&mut taken).await.unwrap();
    assert_eq!(client.receive().await, Some(Frame::WindowUpdate { stream: 1, bytes: half }));
    assert_eq!(client.receive().await, Some(Frame::WindowUpdate { stream: 0, bytes: half }));
}

/// A server in a Pod that reads nothing: what the client sends stays in the connection.
#[tokio::test(start_paused = true)]
async fn what_nobody_reads_fills_no_memory() {
    let mut client = Client::connect();
    let stream = client.open(1).await;
    let bytes = client.peer.encode(&data(1, false, &[7; 500]));
    let mut sent = 0;
    while timeout(SOON, client.peer.connection.write_all(&bytes)).await.is_ok() {
        sent += 500;
    }
    assert!((PORT_BUFFER..=PORT_BUFFER + SPDY_CHUNK + 2 * CONNECTION).contains(&sent), "{sent}");
    drop(client);
    drop(stream);
}

/// A client that reads nothing: a server in a Pod cannot write without end, and pings are not read without end.
#[tokio::test(start_paused = true)]
async fn what_the_client_does_not_read_fills_no_memory() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    let mut written = 0;
    while timeout(SOON, stream.write_all(&[7; 1000])).await.is_ok() {
        written += 1000;
    }
    assert!(written <= PORT_BUFFER + (SPDY_QUEUE + 4) * SPDY_CHUNK + CONNECTION, "{written}");
    let ping = client.peer.encode(&Frame::Ping(1));
    let mut pings = 0;
    while timeout(SOON, client.peer.connection.write_all(&ping)).await.is_ok() {
        pings += 1;
        assert!(pings < 10_000, "pings are read without end");
    }
}

/// The client is gone while the session has something to write.
#[tokio::test(start_paused = true)]
async fn the_end_of_the_connection_ends_the_session() {
    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    stream.write_all(&Bytes::from(vec![7; PORT_BUFFER])).await.unwrap();
    drop(client.peer.connection);
    assert!(client.session.await.unwrap().is_err());
    assert!(read(&mut stream).await.1);

    let mut client = Client::connect();
    let mut stream = client.open(1).await;
    client.peer.connection.shutdown().await.unwrap();
    assert_eq!(client.receive().await, None);
    client.session.await.unwrap().unwrap();
    assert!(read(&mut stream).await.1);
}
