//! Which connections a server has place for.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

/// The place of a connection, which is free again when this is dropped.
pub type Place = Box<dyn Any + Send>;

/// The places of a server's connections.
pub trait Places: Send + Sync + 'static {
    /// Takes a place for a connection from `client`. No further connection is accepted meanwhile.
    ///
    /// # Errors
    /// The name of the limit for which the connection is closed.
    fn take(&self, client: IpAddr) -> BoxFuture<'_, Result<Place, &'static str>>;
}

/// A few places for anybody. A further connection waits until one of the others ends.
#[derive(Debug)]
pub struct Waiting(Arc<Semaphore>);

impl Waiting {
    /// Creates this many places.
    pub fn new(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places)))
    }
}

impl Places for Waiting {
    fn take(&self, _: IpAddr) -> BoxFuture<'_, Result<Place, &'static str>> {
        // The semaphore is never closed.
        self.0.clone().acquire_owned().map(|permit| Ok(Box::new(permit) as Place)).boxed()
    }
}
