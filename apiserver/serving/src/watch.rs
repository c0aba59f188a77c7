//! Watch streams: events as lines, bookmarks, and an end.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use futures::stream::{self, Stream};
use machinery::clock::Clock;
use registry::{EventType, Watch, WatchEvent};
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::metrics::WatchCount;
use crate::negotiate::Encoding;
use crate::transform::Form;

/// What a watch stream needs.
pub(crate) struct Stage {
    pub(crate) watch: Watch,
    pub(crate) form: Form,
    pub(crate) encoding: Encoding,
    pub(crate) clock: Clock,
    pub(crate) bookmarks: bool,
    pub(crate) lasts: Duration,
    /// Set when the server stops.
    pub(crate) stop: CancellationToken,
    /// Counts this watch while it runs.
    pub(crate) counted: WatchCount,
}

struct Running {
    stage: Stage,
    end: BoxFuture<'static, ()>,
    next_bookmark: BoxFuture<'static, ()>,
    first: bool,
    ended: bool,
}

/// The body of a watch's answer.
pub(crate) fn stream(stage: Stage) -> impl Stream<Item = Bytes> + Send + 'static {
    let running = Running {
        end: timer(&stage.clock, stage.lasts),
        next_bookmark: timer(&stage.clock, limits::BOOKMARK_EVERY),
        first: true,
        ended: false,
        stage,
    };
    stream::unfold(running, |mut running| async move {
        let line = running.next().await?;
        Some((line, running))
    })
}

fn timer(clock: &Clock, duration: Duration) -> BoxFuture<'static, ()> {
    let clock = clock.clone();
    Box::pin(async move { clock.sleep(duration).await })
}

impl Running {
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        tokio::select! {
            biased;
            () = self.stage.stop.cancelled() => None,
            event = self.stage.watch.next() => {
                let event = event?;
                self.ended = event.kind == EventType::Error;
                Some(self.line(&event))
            }
            () = &mut self.end => {
                self.ended = true;
                let event = self.stage.bookmarks.then(|| self.stage.watch.bookmark())?;
                Some(self.line(&event))
            }
            () = &mut self.next_bookmark, if self.stage.bookmarks => {
                self.next_bookmark = timer(&self.stage.clock, limits::BOOKMARK_EVERY);
                let event = self.stage.watch.bookmark();
                Some(self.line(&event))
            }
        }
    }

    fn line(&mut self, event: &WatchEvent) -> Bytes {
        let object = if event.kind == EventType::Error {
            vec![event.object.clone()]
        } else {
            let first = std::mem::take(&mut self.first);
            self.stage.form.event(&event.object, self.stage.clock.now(), first)
        };
        self.stage.counted.event();
        if self.stage.encoding == Encoding::Protobuf {
            let value = machinery::decode::own(&object.concat()).unwrap_or_default();
            let object = crate::answer::protobuf(&value);
            return Bytes::from(machinery::protobuf::watch_frame(event.kind.as_str(), &object));
        }
        let size: usize = object.iter().map(Bytes::len).sum();
        let mut line = BytesMut::with_capacity(size + 40);
        line.extend_from_slice(b"{\"type\":\"");
        line.extend_from_slice(event.kind.as_str().as_bytes());
        line.extend_from_slice(b"\",\"object\":");
        for piece in object {
            line.extend_from_slice(&piece);
        }
        line.extend_from_slice(b"}\n");
        match self.stage.encoding {
            Encoding::Yaml => yaml_document(&line),
            _ => line.freeze(),
        }
    }
}

/// Events as YAML are documents of one stream.
fn yaml_document(line: &[u8]) -> Bytes {
    let value = machinery::decode::own(line).unwrap_or_default();
    Bytes::from(format!("---\n{}", crate::yaml::write(&value)))
}
