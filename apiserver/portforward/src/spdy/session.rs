//! A session over a connection.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::frame::{Decoder, Encoder, Frame, GOAWAY_PROTOCOL_ERROR, Reset};
use super::headers::Headers;
use super::streams::{Step, Streams};
use super::windows::{ReceiveWindow, SendWindows};
use crate::limits::{PORT_BUFFER, SPDY_CHUNK, SPDY_GOODBYE, SPDY_QUEUE};

/// Serves a session until the client goes, the connection ends, or the client breaks the protocol.
///
/// `accept` gets the headers of each new stream and our end of it. If it returns `false`, the client learns that the stream is refused.
///
/// # Errors
/// Says why the session ended early: errors of the connection, and what the client did wrong.
pub async fn serve<S>(connection: S, accept: impl FnMut(&Headers, DuplexStream) -> bool) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite,
{
    let (reader, writer) = tokio::io::split(connection);
    let (frames, queue) = mpsc::channel(SPDY_QUEUE);
    let session = Session {
        accept,
        frames,
        streams: Streams::default(),
        ends: BTreeMap::new(),
        pumps: JoinSet::new(),
        windows: Windows::default(),
        taken: ReceiveWindow::default(),
    };
    let mut writing = pin!(write(writer, queue));
    tokio::select! {
        biased;
        written = &mut writing => written,
        read = session.run(reader) => {
            // The session is gone, so the queue ends with the frames in it.
            let written = tokio::time::timeout(SPDY_GOODBYE, writing).await;
            read.and(written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())))
        }
    }
}

/// Writes frames until there will be no more.
async fn write<W: AsyncWrite>(writer: WriteHalf<W>, mut queue: mpsc::Receiver<Frame>) -> io::Result<()> {
    let mut writer = writer;
    let (mut encoder, mut bytes) = (Encoder::default(), Vec::new());
    while let Some(frame) = queue.recv().await {
        bytes.clear();
        encoder.encode(&frame, &mut bytes);
        while bytes.len() < SPDY_CHUNK
            && let Ok(frame) = queue.try_recv()
        {
            encoder.encode(&frame, &mut bytes);
        }
        writer.write_all(&bytes).await?;
        writer.flush().await?;
    }
    writer.shutdown().await
}

/// The windows of what we send, and a signal that they have changed.
#[derive(Clone)]
struct Windows(Arc<Mutex<SendWindows>>, watch::Sender<()>);

impl Default for Windows {
    fn default() -> Self {
        Self(Arc::default(), watch::Sender::new(()))
    }
}

impl Windows {
    fn change<T>(&self, change: impl FnOnce(&mut SendWindows) -> T) -> T {
        let changed = change(&mut self.0.lock());
        self.1.send_replace(());
        changed
    }

    /// Waits until bytes may be sent on a stream; `None` if it has ended.
    async fn ready(&self, stream: u32) -> Option<()> {
        let mut changes = self.1.subscribe();
        while !self.0.lock().is_open(stream)? {
            changes.changed().await.ok()?;
        }
        Some(())
    }
}

/// The session's side of a stream.
struct End {
    /// Until the client has sent everything.
    writer: Option<WriteHalf<DuplexStream>>,
    /// The task that sends what is written at our side.
    pump: AbortHandle,
    taken: ReceiveWindow,
}

struct Session<A> {
    accept: A,
    frames: mpsc::Sender<Frame>,
    streams: Streams,
    ends: BTreeMap<u32, End>,
    /// A task for each stream, which ends with the number of the stream.
    pumps: JoinSet<u32>,
    windows: Windows,
    taken: ReceiveWindow,
}

impl<A: FnMut(&Headers, DuplexStream) -> bool> Session<A> {
    async fn run<R: AsyncRead>(mut self, mut reader: ReadHalf<R>) -> io::Result<()> {
        let (mut decoder, mut buffer) = (Decoder::default(), vec![0; SPDY_CHUNK]);
        while !self.streams.are_done() {
            tokio::select! {
                biased;
                Some(ended) = self.pumps.join_next() => {
                    // A task that was aborted belongs to a stream that has ended already.
                    if let Ok(stream) = ended && self.streams.finish(stream) {
                        self.forget(stream);
                    }
                }
                read = reader.read(&mut buffer) => {
                    let read = read?;
                    if read == 0 {
                        return Ok(());
                    }
                    decoder.push(&buffer[..read]);
                    if let Err(error) = self.decode(&mut decoder).await {
                        let last_stream = self.streams.last();
                        self.send(Frame::GoAway { last_stream, status: GOAWAY_PROTOCOL_ERROR }).await;
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    async fn decode(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        while let Some(frame) = decoder.frame().map_err(broken)? {
            let step = self.streams.receive(frame).map_err(broken)?;
            self.apply(step).await?;
        }
        Ok(())
    }

    async fn apply(&mut self, step: Step) -> io::Result<()> {
        match step {
            Step::Nothing => {}
            Step::Answer(frame) => self.send(frame).await,
            Step::Open { stream, fin, headers } => self.open(stream, fin, &headers).await,
            Step::Data { stream, fin, data } => self.data(stream, fin, &data).await,
            Step::Close { stream, reason } => self.close(stream, reason).await,
            Step::Grow { stream, bytes } => {
                if !self.windows.change(|windows| windows.grow(stream, bytes)) {
                    if stream == 0 {
                        return Err(broken("the window of the session overflows"));
                    }
                    self.fail(stream, Reset::FlowControlError).await;
                }
            }
            Step::InitialWindow(bytes) => {
                if !self.windows.change(|windows| windows.set_initial(bytes)) {
                    return Err(broken("the window of a stream overflows"));
                }
            }
        }
        Ok(())
    }

    async fn open(&mut self, stream: u32, fin: bool, headers: &Headers) {
        let (near, far) = tokio::io::duplex(PORT_BUFFER);
        if !(self.accept)(headers, far) {
            return self.fail(stream, Reset::RefusedStream).await;
        }
        self.send(Frame::SynReply { stream, fin: false, headers: Headers::new() }).await;
        self.windows.change(|windows| windows.open(stream));
        let (reader, writer) = tokio::io::split(near);
        let pump = self.pumps.spawn(pump(stream, reader, self.frames.clone(), self.windows.clone()));
        self.ends.insert(stream, End { writer: Some(writer), pump, taken: ReceiveWindow::default() });
        if fin {
            self.data(stream, fin, &[]).await;
        }
    }

    /// Passes data on, and waits until it is taken. Data of a stream that has ended is dropped.
    async fn data(&mut self, stream: u32, fin: bool, data: &[u8]) {
        if let Some(end) = self.ends.get_mut(&stream) {
            if let Some(writer) = &mut end.writer {
                // If our side has ended, the rest is dropped.
                drop(writer.write_all(data).await);
            }
            if fin && let Some(mut writer) = end.writer.take() {
                drop(writer.shutdown().await);
            }
            let grown = end.taken.take(data.len()).filter(|_| !fin);
            if let Some(bytes) = grown {
                self.send(Frame::WindowUpdate { stream, bytes }).await;
            }
        }
        if let Some(bytes) = self.taken.take(data.len()) {
            self.send(Frame::WindowUpdate { stream: 0, bytes }).await;
        }
        if fin && self.streams.is_closed(stream) {
            self.forget(stream);
        }
    }

    async fn fail(&mut self, stream: u32, reason: Reset) {
        self.streams.remove(stream);
        self.close(stream, Some(reason)).await;
    }

    async fn close(&mut self, stream: u32, reason: Option<Reset>) {
        if let Some(end) = self.forget(stream) {
            end.pump.abort();
        }
        if let Some(reason) = reason {
            self.send(Frame::RstStream { stream, status: reason as u32 }).await;
        }
    }

    fn forget(&mut self, stream: u32) -> Option<End> {
        self.windows.change(|windows| windows.close(stream));
        self.ends.remove(&stream)
    }

    /// Queues a frame. If the writer has ended, so will the session.
    async fn send(&self, frame: Frame) {
        drop(self.frames.send(frame).await);
    }
}

/// Sends what is written at our side of a stream, and that nothing more will come.
async fn pump(
    stream: u32,
    mut reader: ReadHalf<DuplexStream>,
    frames: mpsc::Sender<Frame>,
    windows: Windows,
) -> u32 {
    let mut buffer = vec![0; SPDY_CHUNK];
    while let Ok(read @ 1..) = reader.read(&mut buffer).await {
        let mut rest = Bytes::copy_from_slice(&buffer[..read]);
        while !rest.is_empty() {
            if windows.ready(stream).await.is_none() {
                return stream;
            }
            let Ok(place) = frames.reserve().await else { return stream };
            // Nothing is awaited from here on, so that a task that is aborted has not taken bytes that it did not send.
            let Some(taken) = windows.0.lock().take(stream, rest.len()) else { return stream };
            if taken > 0 {
                place.send(Frame::Data { stream, fin: false, data: rest.split_to(taken) });
            }
        }
    }
    drop(frames.send(Frame::Data { stream, fin: true, data: Bytes::new() }).await);
    stream
}

fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
