//! The turns of large requests: a limited number at a time, with fair queuing by user.

use std::sync::Arc;

use futures::future::BoxFuture;
use machinery::status::Status;
use registry::{Aside, Turns};

use super::flows::{Flows, too_many};
use crate::limits;
use crate::metrics::Metrics;

/// The seats of large requests.
pub(crate) struct Large {
    seats: Arc<Flows>,
    metrics: Metrics,
}

/// The turns of one user.
struct UserTurns {
    large: Arc<Large>,
    user: String,
}

impl Large {
    pub(crate) fn new(metrics: Metrics) -> Arc<Self> {
        let seats = Flows::new(limits::LARGE_REQUESTS, limits::FLOW_LARGE_REQUESTS);
        Arc::new(Self { seats, metrics })
    }

    /// Returns how large work for `user` is performed.
    pub(crate) fn of_user(self: &Arc<Self>, user: &str) -> Aside {
        Aside::in_turn(Arc::new(UserTurns { large: self.clone(), user: user.to_owned() }))
    }
}

impl Turns for UserTurns {
    /// Performs `work` within [`limits::REQUEST`].
    fn perform<'a>(&'a self, work: BoxFuture<'a, ()>) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            let Large { seats, metrics } = &*self.large;
            let seat = seats.enter(&self.user).await;
            let _seat = seat.map_err(|_| {
                metrics.limit("large_requests");
                too_many()
            })?;
            let done = registry::aside::blocking(tokio::time::timeout(limits::REQUEST, work));
            done.map_err(|_| {
                metrics.limit("request");
                Status::timeout("the request took too long")
            })
        })
    }
}
