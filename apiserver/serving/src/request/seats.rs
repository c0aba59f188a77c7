//! The seats of a server's requests: who waits for whom.

use std::sync::Arc;

use access::user::GROUP_MASTERS;
use machinery::status::Status;

use super::asked::Asked;
use super::flows::{Flows, Seat, too_many};
use super::verb::Verb;
use crate::limits;
use crate::metrics::Metrics;

/// The seats of requests, of those of `system:masters`, which never wait for those of other users, and of watches.
pub(crate) struct Seats {
    flows: Arc<Flows>,
    masters: Arc<Flows>,
    watches: Arc<Flows>,
    metrics: Metrics,
}

impl Seats {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            flows: Flows::new(limits::REQUESTS, limits::FLOW_REQUESTS),
            masters: Flows::new(limits::REQUESTS, limits::FLOW_REQUESTS),
            watches: Flows::new(limits::WATCHES, limits::FLOW_WATCHES),
            metrics,
        }
    }

    /// Waits for a seat. Watches last long, so they have seats of their own, for which no request waits.
    ///
    /// # Errors
    /// 429 if too many requests wait.
    pub(crate) async fn enter(&self, asked: &Asked<'_>) -> Result<Option<Seat>, Status> {
        let user = asked.user;
        let master = user.is_in(GROUP_MASTERS);
        let seat = match asked.target.verb() {
            Verb::Watch if master => return Ok(None),
            Verb::Watch => self.watches.try_enter(&user.name).ok_or("watches"),
            _ if master => self.masters.enter(&user.name).await,
            _ => self.flows.enter(&user.name).await,
        };
        seat.map(Some).map_err(|limit| {
            self.metrics.limit(limit);
            too_many()
        })
    }
}
