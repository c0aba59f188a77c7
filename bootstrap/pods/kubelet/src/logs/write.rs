//! Appends the output of a container to a file.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::watch;

use super::{ASIDE, FILE_BYTES, LINE_BYTES};

/// The file of one start of a container.
pub struct Log {
    path: PathBuf,
    clock: Clock,
    open: Mutex<Open>,
    /// Changes with each line, for those who follow.
    written: watch::Sender<u64>,
}

struct Open {
    file: File,
    size: u64,
}

impl Log {
    /// Creates the file. It can be read by its owner alone.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path, clock: &Clock) -> Result<Arc<Self>> {
        let cannot = || format!("cannot write {}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(path)).with_context(cannot)?;
        let open = Open { file: file(path).with_context(cannot)?, size: 0 };
        let written = watch::Sender::new(0);
        Ok(Arc::new(Self { path: path.to_owned(), clock: clock.clone(), open: Mutex::new(open), written }))
    }

    /// Returns a receiver that changes with each line, and is closed when the container has ended.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Appends a line, or a part of one.
    fn append(&self, stream: &str, text: &[u8], is_whole: bool) -> Result<()> {
        let time = self.clock.now().to_rfc3339_opts(chrono::SecondsFormat::Nanos, true);
        let mut line = format!("{time} {stream} {} ", if is_whole { 'F' } else { 'P' }).into_bytes();
        line.extend_from_slice(text);
        line.push(b'\n');
        let mut open = self.open.lock();
        if open.size + line.len() as u64 > FILE_BYTES {
            fs::rename(&self.path, self.path.with_extension(ASIDE))?;
            *open = Open { file: file(&self.path)?, size: 0 };
        }
        open.file.write_all(&line)?;
        open.size += line.len() as u64;
        self.written.send_modify(|count| *count += 1);
        Ok(())
    }
}

fn file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)
}

/// Copies a stream of a container to its log, until it ends. A full disk loses lines, and does not stop the container. Returns the last
/// bytes of the stream, for the termination message.
pub async fn copy(log: Arc<Log>, stream: &'static str, from: impl AsyncRead + Unpin) -> Vec<u8> {
    /// As much of the output as a termination message may have.
    const TAIL: usize = 4096;
    let mut reader = BufReader::with_capacity(LINE_BYTES, from);
    let mut tail = Vec::new();
    loop {
        let (text, used, is_whole) = match reader.fill_buf().await {
            Ok([]) | Err(_) => return tail,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => (bytes[..end].to_vec(), end + 1, true),
                None => (bytes.to_vec(), bytes.len(), false),
            },
        };
        reader.consume(used);
        tail.extend_from_slice(&text);
        if is_whole {
            tail.push(b'\n');
        }
        tail.drain(..tail.len().saturating_sub(TAIL));
        if let Err(error) = log.append(stream, &text, is_whole) {
            tracing::warn!("the log {} has gaps: {error:#}", log.path.display());
        }
    }
}
