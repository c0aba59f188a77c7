//! Reads the log of a container.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use futures::{Stream, StreamExt, future, stream};
use hyper::body::Bytes;
use machinery::clock::parse_rfc3339;
use tokio::sync::watch;

use super::ASIDE;

/// What a client wants of a log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only the last lines.
    pub tail: Option<usize>,
    /// Only lines since this time.
    pub since: Option<DateTime<Utc>>,
    /// At most this many bytes.
    pub limit: Option<usize>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
}

/// The log of one start of a container.
pub struct LogFile {
    /// The file.
    pub path: PathBuf,
    /// Changes with each line, and is closed when the container has ended; `None` if it has ended already.
    pub written: Option<watch::Receiver<u64>>,
}

/// Returns the text of a log as a client wants it. If it is followed, the stream ends with the container.
pub fn stream(log: LogFile, options: Options, follow: bool) -> impl Stream<Item = Bytes> + Send + 'static {
    let LogFile { path, written } = log;
    let (first, offset) = read(&path, &options);
    let left = options.limit.map(|limit| limit.saturating_sub(first.len()));
    let state = Following { path, options: Options { limit: left, ..options }, offset };
    let written = written.filter(|_| follow);
    let later = stream::unfold((state, written), |(mut state, written)| async move {
        let mut written = written?;
        // The last lines of a container that has ended are read once more.
        let has_ended = written.changed().await.is_err();
        let text = state.next();
        Some((text, (state, Some(written).filter(|_| !has_ended))))
    });
    stream::once(async { Bytes::from(first) }).chain(later).filter(|text| future::ready(!text.is_empty()))
}

struct Following {
    path: PathBuf,
    options: Options,
    offset: u64,
}

impl Following {
    fn next(&mut self) -> Bytes {
        let (text, offset) = read_from(&self.path, self.offset, &self.options);
        self.offset = offset;
        self.options.limit = self.options.limit.map(|limit| limit.saturating_sub(text.len()));
        text.into()
    }
}

/// Returns the text of a log as a client wants it, and the size of the file up to which it was read.
fn read(path: &Path, options: &Options) -> (Vec<u8>, u64) {
    let current = fs::read(path).unwrap_or_default();
    let size = current.len() as u64;
    let before = fs::read(path.with_extension(ASIDE)).unwrap_or_default();
    (
        text(
            before
                .split_inclusive(|byte| *byte == b'\n')
                .chain(current.split_inclusive(|byte| *byte == b'\n')),
            options,
        ),
        size,
    )
}

/// Returns the text of the lines of a log file from an offset on.
fn read_from(path: &Path, offset: u64, options: &Options) -> (Vec<u8>, u64) {
    let mut content = Vec::new();
    let mut size = 0;
    if let Ok(mut file) = File::open(path) {
        size = file.metadata().map_or(0, |found| found.len());
        // A smaller file is a new one.
        let from = if size < offset { 0 } else { offset };
        let read =
            file.seek(SeekFrom::Start(from)).and_then(|_| file.take(size - from).read_to_end(&mut content));
        size = from + read.unwrap_or_default() as u64;
    }
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    let following = Options { tail: None, ..options.clone() };
    (text(lines, &following), size)
}

/// Returns the lines that a client has asked for.
pub fn text<'a>(lines: impl Iterator<Item = &'a [u8]>, options: &Options) -> Vec<u8> {
    let mut kept: VecDeque<Vec<u8>> = VecDeque::new();
    let mut is_within_line = false;
    for line in lines {
        let Some(parsed) = Line::parse(line) else { continue };
        if options.since.is_some_and(|since| parsed.time.is_none_or(|time| time < since)) {
            continue;
        }
        let mut out = Vec::new();
        if options.timestamps && !is_within_line {
            out.extend_from_slice(parsed.stamp);
            out.push(b' ');
        }
        out.extend_from_slice(parsed.text);
        if parsed.is_whole {
            out.push(b'\n');
        }
        match kept.back_mut().filter(|_| is_within_line) {
            Some(last) => last.extend_from_slice(&out),
            None => kept.push_back(out),
        }
        is_within_line = !parsed.is_whole;
        if !is_within_line && options.tail.is_some_and(|tail| kept.len() > tail) {
            kept.pop_front();
        }
    }
    let mut all: Vec<u8> = kept.into_iter().flatten().collect();
    all.truncate(options.limit.unwrap_or(usize::MAX));
    all
}

struct Line<'a> {
    stamp: &'a [u8],
    time: Option<DateTime<Utc>>,
    is_whole: bool,
    text: &'a [u8],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        let mut parts = line.splitn(4, |byte| *byte == b' ');
        let (stamp, _stream, kind, text) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let time = std::str::from_utf8(stamp).ok().and_then(parse_rfc3339);
        Some(Self { stamp, time, is_whole: kind == b"F", text })
    }
}
