//! Downloads an image over HTTP; a broken connection is resumed where it broke.

use std::io;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, LAST_MODIFIED, LOCATION, RANGE,
};
use hyper::{Request, Response, StatusCode, Uri};
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::{Image, Pieces};
use crate::journal::Journal;
use crate::server::Https;

/// A server that sends nothing for this long counts as a broken connection.
const SILENCE: Duration = Duration::from_secs(30);
/// The number of attempts without progress.
const ATTEMPTS: u32 = 8;
const PAUSE_MIN: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(20);
const REDIRECTIONS_MAX: u32 = 5;
/// The number of buffered pieces between network and disk; a piece is what the connection delivers at once, up to some hundred KiB.
const PIECES: usize = 64;
/// The largest file of checksums in bytes.
const TEXT_BYTES_MAX: usize = 4 << 20;

/// A file on a web server.
#[derive(Clone)]
pub struct Source {
    url: Uri,
    client: Https,
    clock: Clock,
    journal: Journal,
}

/// The properties that identify a version of a file.
#[derive(Clone, Debug, Default, PartialEq)]
struct Version {
    validator: Option<String>,
    total: Option<u64>,
}

impl Source {
    /// Returns the file at `url`.
    ///
    /// # Errors
    /// The URL is invalid, or its scheme is not `http` or `https`.
    pub fn new(url: &str, client: Https, clock: Clock, journal: Journal) -> Result<Self> {
        let parsed: Uri = url.parse().with_context(|| format!("spec.image.url {url:?} is no URL"))?;
        let scheme = parsed.scheme_str().unwrap_or_default();
        ensure!(
            matches!(scheme, "http" | "https") && parsed.host().is_some(),
            "the agent fetches http:// and https:// URLs, and not {url:?}"
        );
        Ok(Self { url: parsed, client, clock, journal })
    }

    /// Downloads a small file as text.
    ///
    /// # Errors
    /// The file cannot be fetched, is not UTF-8, or is too large.
    pub async fn text(&self) -> Result<String> {
        let mut stream = self.stream(0);
        let mut text = Vec::new();
        while let Some(piece) = stream.pieces.recv().await {
            text.extend(piece?);
            ensure!(text.len() <= TEXT_BYTES_MAX, "{} is larger than {TEXT_BYTES_MAX} bytes", self.url);
        }
        String::from_utf8(text).with_context(|| format!("{} is no text", self.url))
    }

    /// Returns a stream of the file's bytes from `offset` on.
    pub fn stream(&self, offset: u64) -> Stream {
        let (sender, pieces) = mpsc::channel(PIECES);
        let (total, known_total) = watch::channel(None);
        let source = self.clone();
        tokio::spawn(async move {
            if let Err(error) = source.fetch(offset, &sender, &total).await {
                // Sending fails if the receiver was dropped because the work was ended.
                let _ = sender.send(Err(io::Error::other(format!("{error:#}")))).await;
            }
        });
        Stream { pieces, total: known_total }
    }

    /// Reads `length` bytes from `offset` on. Must be called outside of asynchronous code.
    ///
    /// # Errors
    /// The bytes cannot be fetched, or the server does not support ranges.
    pub fn range(&self, offset: u64, length: usize, runtime: &Handle) -> Result<Vec<u8>> {
        runtime.block_on(async {
            let (mut pause, mut attempts) = (PAUSE_MIN, 0);
            loop {
                match self.range_once(offset, length).await {
                    Ok(bytes) => return Ok(bytes),
                    Err(Failure::Broken(error)) if attempts + 1 >= ATTEMPTS => return Err(error),
                    Err(Failure::Broken(_)) => attempts += 1,
                    Err(Failure::Final(error)) => return Err(error),
                }
                self.clock.sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        })
    }

    async fn range_once(&self, offset: u64, length: usize) -> Result<Vec<u8>, Failure> {
        let end = offset + length as u64 - 1;
        let response = self.get(Some(&format!("bytes={offset}-{end}")), None).await?;
        if response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(Failure::Final(anyhow::anyhow!(
                "{}: the server knows no ranges, which a qcow2 image needs: take a raw image (compressed, if you like)",
                self.url
            )));
        }
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(piece) = next(&mut body).await? {
            bytes.extend(piece);
            // Stop reading if the server sends more than the requested range.
            if bytes.len() > length {
                break;
            }
        }
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(Failure::Final(anyhow::anyhow!(
                "{}: bytes {offset} to {end} were asked for, and {} came",
                self.url,
                bytes.len()
            )))
        }
    }

    async fn fetch(
        &self,
        offset: u64,
        sender: &mpsc::Sender<io::Result<Bytes>>,
        total: &watch::Sender<Option<u64>>,
    ) -> Result<()> {
        let (mut at, mut version) = (offset, None);
        let (mut attempts, mut pause) = (0, PAUSE_MIN);
        loop {
            let before = at;
            match self.fetch_once(&mut at, &mut version, sender, total).await {
                Ok(()) => return Ok(()),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Broken(error)) => {
                    if at > before {
                        (attempts, pause) = (0, PAUSE_MIN);
                    }
                    attempts += 1;
                    if attempts >= ATTEMPTS {
                        return Err(error.context(format!("{ATTEMPTS} attempts from byte {at} on failed")));
                    }
                    self.journal.line(format!("{} broke at byte {at}, going on: {error:#}", self.url));
                    self.clock.sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    async fn fetch_once(
        &self,
        at: &mut u64,
        version: &mut Option<Version>,
        sender: &mpsc::Sender<io::Result<Bytes>>,
        total: &watch::Sender<Option<u64>>,
    ) -> Result<(), Failure> {
        let range = (*at > 0).then(|| format!("bytes={at}-"));
        let validator = version.as_ref().and_then(|version| version.validator.clone());
        let response = self.get(range.as_deref(), validator.as_deref()).await?;
        let partial = response.status() == StatusCode::PARTIAL_CONTENT;
        let now = Version::of(response.headers(), partial);
        total.send_replace(now.total);
        let first = version.get_or_insert_with(|| now.clone());
        if *first != now {
            return Err(Failure::Final(anyhow::anyhow!(
                "{}: the image was replaced while it was fetched; begin again",
                self.url
            )));
        }
        // A server without ranges sends the file from its beginning.
        let mut skip = if partial { 0 } else { *at };
        let mut body = response.into_body();
        while let Some(mut piece) = next(&mut body).await? {
            let passed = usize::try_from(skip).unwrap_or(usize::MAX).min(piece.len());
            piece.advance(passed);
            skip -= passed as u64;
            if piece.is_empty() {
                continue;
            }
            let length = piece.len() as u64;
            if sender.send(Ok(piece)).await.is_err() {
                return Err(Failure::Final(anyhow::anyhow!("ended")));
            }
            *at += length;
        }
        match now.total {
            Some(total) if *at < total => {
                Err(Failure::Broken(anyhow::anyhow!("{} of {total} bytes came", *at)))
            }
            _ => Ok(()),
        }
    }

    /// Sends the request, and follows redirections.
    async fn get(&self, range: Option<&str>, validator: Option<&str>) -> Result<Response<Incoming>, Failure> {
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTIONS_MAX {
            let mut request = Request::get(url.clone()).header("accept-encoding", "identity");
            if let Some(range) = range {
                request = request.header(RANGE, range);
                if let Some(validator) = validator {
                    request = request.header(IF_RANGE, validator);
                }
            }
            let request = request.body(Full::default()).map_err(|error| Failure::Final(error.into()))?;
            let answer = tokio::time::timeout(SILENCE, self.client.request(request)).await;
            let response = answer
                .map_err(|_| Failure::Broken(anyhow::anyhow!("{url}: no answer in {} s", SILENCE.as_secs())))?
                .map_err(|error| {
                    Failure::Broken(anyhow::Error::new(error).context(format!("{url} cannot be reached")))
                })?;
            let status = response.status();
            if status.is_redirection() {
                url = redirection(&url, response.headers()).map_err(Failure::Final)?;
                continue;
            }
            return match status {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT => Ok(response),
                // The server may recover, so the request is repeated.
                status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                    Err(Failure::Broken(anyhow::anyhow!("{url}: {status}")))
                }
                status => Err(Failure::Final(anyhow::anyhow!(
                    "{url}: {status}: is spec.image.url right, and may this machine fetch it?"
                ))),
            };
        }
        Err(Failure::Final(anyhow::anyhow!("{}: more than {REDIRECTIONS_MAX} redirections", self.url)))
    }
}

enum Failure {
    /// The connection broke, or the server fails temporarily.
    Broken(anyhow::Error),
    /// A repeated request would fail in the same way.
    Final(anyhow::Error),
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Broken(error) | Failure::Final(error) => error,
        }
    }
}

async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    loop {
        let frame = tokio::time::timeout(SILENCE, body.frame()).await;
        let frame = frame
            .map_err(|_| Failure::Broken(anyhow::anyhow!("nothing came for {} s", SILENCE.as_secs())))?;
        match frame {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => {
                return Err(Failure::Broken(anyhow::Error::new(error).context("the connection broke")));
            }
        }
    }
}

fn redirection(from: &Uri, headers: &HeaderMap) -> Result<Uri> {
    let to = headers
        .get(LOCATION)
        .and_then(|to| to.to_str().ok())
        .with_context(|| format!("{from}: a redirection to nowhere"))?;
    let target: Uri =
        to.parse().with_context(|| format!("{from}: a redirection to {to:?}, which is no URL"))?;
    let mut parts = target.into_parts();
    if parts.authority.is_none() {
        let base = from.clone().into_parts();
        (parts.scheme, parts.authority) = (base.scheme, base.authority);
    }
    let target = Uri::from_parts(parts)?;
    if from.scheme_str() == Some("https") && target.scheme_str() != Some("https") {
        bail!("{from}: a redirection from https to {target}");
    }
    Ok(target)
}

impl Version {
    fn of(headers: &HeaderMap, partial: bool) -> Self {
        let text = |name| headers.get(&name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        // A weak entity tag does not identify the exact bytes.
        let tag = text(ETAG).filter(|tag| !tag.starts_with("W/"));
        let total = if partial {
            text(CONTENT_RANGE).and_then(|range| range.rsplit('/').next()?.parse().ok())
        } else {
            text(CONTENT_LENGTH).and_then(|length| length.parse().ok())
        };
        Self { validator: tag.or_else(|| text(LAST_MODIFIED)), total }
    }
}

/// The bytes of a file as they arrive; must be read outside of asynchronous code.
pub struct Stream {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    total: watch::Receiver<Option<u64>>,
}

impl Stream {
    /// Returns the length of the whole file, once the server has sent it.
    pub fn total(&self) -> watch::Receiver<Option<u64>> {
        self.total.clone()
    }
}

impl Iterator for Stream {
    type Item = io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pieces.blocking_recv()
    }
}

/// An image that is downloaded.
pub struct Fetched {
    source: Source,
    total: Mutex<Option<watch::Receiver<Option<u64>>>>,
    runtime: Handle,
}

impl Fetched {
    /// Returns the image that `source` delivers, fetched by tasks of `runtime`.
    pub fn new(source: Source, runtime: Handle) -> Self {
        Self { source, total: Mutex::default(), runtime }
    }
}

impl Image for Fetched {
    fn open(&self) -> Pieces {
        let _entered = self.runtime.enter();
        let stream = self.source.stream(0);
        *self.total.lock() = Some(stream.total());
        Box::new(stream)
    }

    fn total(&self) -> Option<u64> {
        self.total.lock().as_ref().and_then(|total| *total.borrow())
    }

    fn range(&self, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.source.range(offset, length, &self.runtime)
    }
}
