//! What a thread writes, as a stream that somebody reads. Few bytes wait, and an error reaches the reader instead of an early end.

use std::io::{self, Write};
use std::pin::Pin;

use anyhow::Result;
use bytes::Bytes;
use futures::stream::unfold;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use tokio_util::io::StreamReader;

use crate::limits;

/// Returns what `write` writes. It runs in a thread of its own, which ends when the reader is dropped.
pub fn of(
    write: impl FnOnce(&mut dyn Write) -> Result<()> + Send + 'static,
) -> Box<dyn AsyncRead + Send + Unpin> {
    let (sender, receiver) = mpsc::channel(limits::PARTS);
    drop(tokio::task::spawn_blocking(move || {
        let mut out = io::BufWriter::with_capacity(limits::PART, Parts(sender.clone()));
        let written = write(&mut out).and_then(|()| Ok(out.flush()?));
        if let Err(error) = written {
            // Nothing is lost if nobody reads any more.
            drop(sender.blocking_send(Err(io::Error::other(format!("{error:#}")))));
        }
    }));
    let parts = unfold(receiver, async |mut receiver| {
        let part: io::Result<Bytes> = receiver.recv().await?;
        Some((part, receiver))
    });
    let parts: Pin<Box<dyn futures::Stream<Item = io::Result<Bytes>> + Send>> = Box::pin(parts);
    Box::new(StreamReader::new(parts))
}

struct Parts(mpsc::Sender<io::Result<Bytes>>);

impl Write for Parts {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = &bytes[..bytes.len().min(limits::PART)];
        self.0.blocking_send(Ok(Bytes::copy_from_slice(part))).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
