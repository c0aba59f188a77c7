//! Watch streams: events as lines, bookmarks, and time limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{self, Stream};
use machinery::clock::Clock;
use registry::{Aside, EventType, Watch, WatchEvent};
use tokio_util::sync::CancellationToken;

use super::event_lines::{self, EventLines};
use crate::limits;
use crate::metrics::WatchCount;
use crate::request::flows::Seat;
use crate::response::negotiate::Encoding;
use crate::response::transform::Form;

/// The inputs of a watch stream.
pub(crate) struct Stage {
    pub(crate) watch: Watch,
    pub(crate) form: Form,
    pub(crate) encoding: Encoding,
    /// The line cache that all watches share.
    pub(crate) lines: Arc<EventLines>,
    pub(crate) clock: Clock,
    /// How large events are brought into another form.
    pub(crate) aside: Aside,
    pub(crate) bookmarks: bool,
    pub(crate) lasts: Duration,
    /// Cancelled when the server stops.
    pub(crate) stop: CancellationToken,
    /// Counts this watch while it runs.
    pub(crate) counted: WatchCount,
    /// The seat of this watch, held while it runs.
    pub(crate) _seat: Option<Seat>,
}

struct Running {
    stage: Stage,
    stop: BoxFuture<'static, ()>,
    end: BoxFuture<'static, ()>,
    next_bookmark: BoxFuture<'static, ()>,
    first: bool,
    ended: bool,
    /// The remaining pieces of a line, the next one last.
    rest: Vec<Bytes>,
}

/// Returns the body of a watch's response.
pub(crate) fn stream(stage: Stage) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold(Running::new(stage), |mut running| async move {
        let line = running.next().await?;
        Some((line, running))
    })
}

/// Returns the events of a watch, each in one piece.
pub(crate) fn events(stage: Stage) -> impl Stream<Item = Bytes> + Send + 'static {
    stream::unfold(Running::new(stage), |mut running| async move {
        let first = running.next().await?;
        if running.rest.is_empty() {
            return Some((first, running));
        }
        let mut whole = first.to_vec();
        while let Some(piece) = running.rest.pop() {
            whole.extend_from_slice(&piece);
        }
        Some((Bytes::from(whole), running))
    })
}

/// Returns when the first bookmark is due: after the usual interval, or shortly before the end, so that the
/// client can resume from there.
fn first_bookmark(lasts: Duration) -> Duration {
    let before_end = lasts.checked_sub(limits::BOOKMARK_BEFORE_END).filter(|due| !due.is_zero());
    before_end.unwrap_or(limits::BOOKMARK_EVERY).min(limits::BOOKMARK_EVERY)
}

fn timer(clock: &Clock, duration: Duration) -> BoxFuture<'static, ()> {
    let clock = clock.clone();
    Box::pin(async move { clock.sleep(duration).await })
}

impl Running {
    fn new(stage: Stage) -> Self {
        Self {
            end: timer(&stage.clock, stage.lasts),
            next_bookmark: timer(&stage.clock, first_bookmark(stage.lasts)),
            stop: Box::pin(stage.stop.clone().cancelled_owned()),
            first: true,
            ended: false,
            rest: Vec::new(),
            stage,
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(piece) = self.rest.pop() {
            return Some(piece);
        }
        if self.ended {
            return None;
        }
        tokio::select! {
            biased;
            () = &mut self.stop => None,
            event = self.stage.watch.next() => {
                let event = event?;
                if matches!(self.stage.form, Form::Nothing) {
                    return None;
                }
                self.ended = event.kind == EventType::Error;
                self.line(&event).await
            }
            () = &mut self.end => None,
            () = &mut self.next_bookmark, if self.stage.bookmarks => {
                self.next_bookmark = timer(&self.stage.clock, limits::BOOKMARK_EVERY);
                let event = self.stage.watch.bookmark();
                self.line(&event).await
            }
        }
    }

    /// Returns the line of an event; `None` if the watch ends because too much large work is waiting. The client then continues at the last
    /// revision that it has seen.
    async fn line(&mut self, event: &WatchEvent) -> Option<Bytes> {
        self.stage.counted.event();
        if matches!((&self.stage.form, self.stage.encoding), (Form::Plain, Encoding::Json)) {
            return Some(self.stage.lines.of(event.kind, &event.object).unwrap_or_else(|| {
                let [head, object, end] = event_lines::pieces(event.kind, &event.object);
                self.rest = vec![end, object];
                head
            }));
        }
        let aside = self.stage.aside.clone();
        aside.perform(event.object.len(), async { self.rewritten(event) }).await.ok()
    }

    /// Returns the line of an event in another form than that of the store.
    fn rewritten(&mut self, event: &WatchEvent) -> Bytes {
        let object = if event.kind == EventType::Error {
            vec![event.object.clone()]
        } else {
            let first = std::mem::take(&mut self.first);
            self.stage.form.event(&event.object, self.stage.clock.now(), first)
        };
        if self.stage.encoding == Encoding::Protobuf {
            let value = machinery::decode::own(&object.concat()).unwrap_or_default();
            let object = crate::response::answer::protobuf(&value);
            return Bytes::from(kinds::protobuf::watch_frame(event.kind.as_str(), &object));
        }
        match self.stage.encoding {
            Encoding::Yaml => yaml_document(&event_lines::line(event.kind, &object)),
            _ => event_lines::line(event.kind, &object),
        }
    }
}

/// Returns an event as one document of a YAML stream.
fn yaml_document(line: &[u8]) -> Bytes {
    let value = machinery::decode::own(line).unwrap_or_default();
    Bytes::from(format!("---\n{}", machinery::yaml::write(&value).unwrap_or_default()))
}
