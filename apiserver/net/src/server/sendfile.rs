//! Sends files from the page cache to a connection without TLS by `sendfile`, so that their content is never copied to this program.
//!
//! The HTTP library knows only bodies of bytes. So a body of [`Kernel::body`] consists of as many zeros as the file has bytes, and the connection sends bytes of
//! the file in their place. They agree on the place by its order: the body waits until everything before it has been written, and only
//! then do the next bytes that the library writes stand for the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use rustix::fs::{Advice, fadvise, sendfile};
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::limits;

/// The layer of a router whose handlers send files: an answer that has a [`FileRange`] as an extension is sent from there, if the connection
/// can. Otherwise its body is sent, which has to be the same bytes.
pub async fn send_files(request: Request, next: Next) -> Response {
    let kernel = request.extensions().get::<Kernel>().cloned();
    let mut answer = next.run(request).await;
    match (kernel, answer.extensions_mut().remove::<FileRange>()) {
        (Some(kernel), Some(range)) => answer.map(|_| axum::body::Body::new(kernel.body(range))),
        _ => answer,
    }
}

/// The content of all frames that stand for a file.
static ZEROS: [u8; limits::FILE_PART] = [0; limits::FILE_PART];

/// A part of a file that is the whole body of a response.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The open file that is sent.
    pub file: Arc<File>,
    /// Where the part begins, in bytes.
    pub offset: u64,
    /// The size of the part, in bytes.
    pub length: u64,
}

/// What the connection and its bodies share.
#[derive(Clone, Default)]
pub(crate) struct Kernel(Arc<Mutex<Turn>>);

#[derive(Default)]
struct Turn {
    /// The body that waits until everything before it has been written.
    asked: Option<FileRange>,
    /// The rest of the file that the next bytes stand for.
    sending: Option<FileRange>,
    /// The task of the connection, which polls the body.
    waker: Option<Waker>,
}

impl Kernel {
    /// Returns a body that stands for a part of a file.
    pub(crate) fn body(&self, range: FileRange) -> FileBody {
        FileBody { turn: self.clone(), left: range.length, range: Some(range), is_begun: false }
    }
}

/// The body of a response, whose bytes stand for those of a file.
pub(crate) struct FileBody {
    turn: Kernel,
    range: Option<FileRange>,
    left: u64,
    is_begun: bool,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if !self.is_begun {
            let turn = self.turn.clone();
            let mut turn = turn.0.lock();
            if turn.asked.is_none() && turn.sending.is_none() {
                turn.asked = self.range.take();
            }
            // It has its turn if it has asked, and the connection has taken what it asked for.
            self.is_begun = self.range.is_none() && turn.asked.is_none();
            if !self.is_begun {
                turn.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(ZEROS.len());
        self.left -= count as u64;
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(ZEROS.get(..count).unwrap_or_default())))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// A connection that sends files in the place of their bodies.
pub(crate) struct FileSender {
    stream: TcpStream,
    turn: Kernel,
}

impl FileSender {
    /// Wraps a connection; the second value makes its bodies.
    pub(crate) fn new(stream: TcpStream) -> (Self, Kernel) {
        let turn = Kernel::default();
        (Self { stream, turn: turn.clone() }, turn)
    }

    /// Sends at most `length` bytes of the file whose turn it is; `None` if the next bytes stand for themselves.
    fn poll_file(&self, context: &mut Context<'_>, length: usize) -> Option<Poll<io::Result<usize>>> {
        let mut turn = self.turn.0.lock();
        let range = turn.sending.as_mut()?;
        let most = length.min(usize::try_from(range.length).unwrap_or(usize::MAX));
        let sent = match self.poll_send(context, range, most) {
            Poll::Ready(Ok(sent)) => sent as u64,
            other => return Some(other),
        };
        range.offset += sent;
        range.length -= sent;
        if range.length == 0 {
            turn.sending = None;
        }
        Some(Poll::Ready(Ok(usize::try_from(sent).unwrap_or(usize::MAX))))
    }

    fn poll_send(
        &self,
        context: &mut Context<'_>,
        range: &FileRange,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        // The disk reads what comes next while this part is sent, because `sendfile` waits for the disk.
        let next = range.offset.saturating_add(most as u64);
        let _ = fadvise(
            &range.file,
            next,
            std::num::NonZeroU64::new(2 * limits::FILE_PART as u64),
            Advice::WillNeed,
        );
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            let mut offset = range.offset;
            let send = || match sendfile(&self.stream, &range.file, Some(&mut offset), most) {
                // The file system cannot do it.
                Err(Errno::INVAL | Errno::NOSYS) => self.copy(range, most),
                other => Ok(other?),
            };
            match self.stream.try_io(Interest::WRITABLE, send) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error)
                    if [io::ErrorKind::WouldBlock, io::ErrorKind::Interrupted].contains(&error.kind()) => {}
                other => return Poll::Ready(other),
            }
        }
    }

    fn copy(&self, range: &FileRange, most: usize) -> io::Result<usize> {
        let mut part = vec![0; most.min(limits::FILE_PART)];
        let count = range.file.read_at(&mut part, range.offset)?;
        part.truncate(count);
        if part.is_empty() { Ok(0) } else { Ok(rustix::io::write(&self.stream, &part)?) }
    }
}

impl AsyncRead for FileSender {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for FileSender {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.poll_file(context, bytes.len()) {
            Some(sent) => sent,
            None => Pin::new(&mut self.stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.poll_file(context, parts.iter().map(|part| part.len()).sum()) {
            Some(sent) => sent,
            None => Pin::new(&mut self.stream).poll_write_vectored(context, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        let mut turn = self.turn.0.lock();
        // The library flushes after it has written everything that it has, so the body that asks comes next.
        if turn.sending.is_none() {
            if turn.asked.is_some() {
                turn.sending = turn.asked.take();
            }
            if let Some(waker) = turn.waker.take() {
                waker.wake();
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
