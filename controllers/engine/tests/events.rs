//! Which events are recorded, over a client whose server keeps them, or does not answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use engine::events::{MAX_NAME, event_name};
use engine::testing::{EVENT_BURST, EVENT_INTERVAL, EVENT_OBJECTS, EVENTS_QUEUED};
use engine::{Manager, Settings};
use http::Response;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::client::Body;
use parking_lot::Mutex;

use crate::engine::support::manager_of;

/// The server of a test: the messages of its events, unless it does not answer.
#[derive(Clone, Default)]
struct Server {
    recorded: Arc<Mutex<Vec<String>>>,
    is_silent: bool,
}

impl Server {
    fn manager(&self) -> Manager {
        let server = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let server = server.clone();
            async move {
                if server.is_silent {
                    std::future::pending::<()>().await;
                }
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let event: Event = serde_json::from_slice(&body).unwrap();
                server.recorded.lock().push(event.message.unwrap());
                Ok::<_, Infallible>(Response::new(Body::from(body)))
            }
        });
        manager_of(service, Settings::default())
    }

    /// Returns the number of events that were recorded since the last call, after all that can be recorded were.
    async fn recorded(&self) -> usize {
        tokio::time::sleep(Duration::from_millis(1)).await;
        std::mem::take(&mut *self.recorded.lock()).len()
    }
}

fn object(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.uid = Some(name.to_owned());
    object
}

fn reached(manager: &Manager, limit: &str) -> Option<String> {
    let text = manager.all_metrics().text();
    let line = text.lines().find(|line| line.contains(&format!("{{limit=\"{limit}\"}}")));
    line.map(|line| line.rsplit(' ').next().unwrap_or_default().to_owned())
}

#[tokio::test(start_paused = true)]
async fn an_object_has_a_burst_of_events_and_then_one_at_an_interval() {
    let server = Server::default();
    let manager = server.manager();
    let recorder = manager.recorder("test");
    let record = |name: &str, count: u32| {
        (0..count)
            .for_each(|number| recorder.warning(&object(name), &(), "Failed", format!("the {number}th")));
    };
    record("one", EVENT_BURST - 1);
    assert_eq!(server.recorded().await, EVENT_BURST as usize - 1);
    record("one", 1);
    assert_eq!((server.recorded().await, reached(&manager, "event_burst")), (1, None));
    record("one", 3);
    assert_eq!((server.recorded().await, reached(&manager, "event_burst")), (0, Some("3".to_owned())));
    record("other", 1);
    manager.recorder("another").warning(&object("one"), &(), "Failed", "of another component");
    recorder.normal(&object("one"), &(), "Upgraded", "with another reason".to_owned());
    assert_eq!(server.recorded().await, 3, "other objects, components and reasons have their own");
    tokio::time::sleep(EVENT_INTERVAL).await;
    record("one", 2);
    assert_eq!(server.recorded().await, 1);
    tokio::time::sleep(EVENT_INTERVAL * 2 * EVENT_BURST).await;
    record("one", 2 * EVENT_BURST);
    assert_eq!(server.recorded().await, EVENT_BURST as usize);
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_objects_that_are_counted_are_limited() {
    let server = Server::default();
    let manager = server.manager();
    let recorder = manager.recorder("test");
    let record = |name: &str| recorder.normal(&object(name), &(), "Done", "done");
    (0..EVENT_BURST).for_each(|_| record("one"));
    for number in 1..EVENT_OBJECTS {
        record(&number.to_string());
        tokio::task::yield_now().await;
    }
    server.recorded().await;
    record("one");
    assert_eq!(server.recorded().await, 0, "it is known yet");
    for number in 0..EVENT_OBJECTS {
        record(&format!("new-{number}"));
        tokio::task::yield_now().await;
    }
    server.recorded().await;
    record("one");
    assert_eq!(server.recorded().await, 1, "it was forgotten");
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn events_for_a_server_that_does_not_answer_are_dropped_at_a_limit() {
    let server = Server { is_silent: true, ..Server::default() };
    let manager = server.manager();
    let recorder = manager.recorder("test");
    recorder.normal(&object("first"), &(), "Done", "this one is being sent");
    tokio::time::sleep(Duration::from_millis(1)).await;
    for number in 0..EVENTS_QUEUED {
        recorder.normal(&object(&number.to_string()), &(), "Done", "done");
    }
    assert_eq!(reached(&manager, "events_queued"), None);
    recorder.normal(&object("last"), &(), "Done", "done");
    assert_eq!(reached(&manager, "events_queued").as_deref(), Some("1"));
    manager.stop().await;
}

#[test]
fn names_of_events_fit() {
    let time = 0x18a9_0000_0000_0000;
    assert_eq!(event_name("cp", time), "cp.18a9000000000000");
    for (object, kept) in
        [("a".repeat(236), 236), ("a".repeat(253), 236), (format!("{}-b", "a".repeat(235)), 235)]
    {
        let name = event_name(&object, time);
        assert!(name.len() <= MAX_NAME);
        assert_eq!(name, format!("{}.18a9000000000000", "a".repeat(kept)));
    }
}
