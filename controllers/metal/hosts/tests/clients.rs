//! Tests of `clients`.

use std::sync::Arc;

use futures::future::BoxFuture;
use metal::clients::{Clients, Closing};
use metal::limits;
use metrics::Limits;
use parking_lot::Mutex;

/// A client that says that it was closed.
#[derive(Clone)]
struct Session(usize, Arc<Mutex<Vec<usize>>>);

impl Closing for Session {
    fn close(&self) -> BoxFuture<'_, ()> {
        self.1.lock().push(self.0);
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn each_client_that_is_forgotten_is_closed() {
    let closed = Arc::new(Mutex::new(Vec::new()));
    let clients = Clients::new(Limits::default());
    let add = |key: usize, name: usize| clients.add(key, Session(name, closed.clone()));
    (0..limits::BMC_CLIENTS).for_each(|key| add(key, key));
    assert!(clients.get(&0).is_some(), "the first is used again");
    add(limits::BMC_CLIENTS, limits::BMC_CLIENTS);
    tokio::task::yield_now().await;
    assert_eq!(*closed.lock(), [1], "the one that was not used for the longest time");
    add(0, 10_000);
    tokio::task::yield_now().await;
    assert_eq!(*closed.lock(), [1, 0], "an earlier one of the same key");
    assert!(clients.take_idle().is_empty(), "all of them were just added");
    assert!(clients.get(&5).is_some());
    assert_eq!(clients.take_idle().len(), limits::BMC_CLIENTS - 1, "all but the one that is used");
    clients.close_all().await;
    assert_eq!(*closed.lock(), [1, 0, 5]);
    assert!(clients.get(&5).is_none());
}
