//! The resync: each object is reconciled again from time to time, even if nothing happened. It is the net behind the events, for a rule
//! that misses one, and for the state outside of the cluster that no event reports.

use std::sync::Arc;
use std::time::Duration;

use crate::manager::Manager;
use crate::object::Request;
use crate::queue::{Cause, Queue};

/// Interval between two resyncs of a controller, as upstream's `--sync-period`.
const INTERVAL: Duration = Duration::from_secs(10 * 60);
/// Part of the interval over which its objects are spread, and by which the interval is longer or shorter. Without it, the controllers of a
/// process would all work at the same moment.
const SPREAD: f64 = 0.1;

/// Lists the names of all objects that a controller reconciles.
pub(crate) type Names = Box<dyn Fn() -> Vec<Request> + Send + Sync>;

/// Queues every object once an interval. Runs until it is dropped.
pub(crate) async fn run(manager: Manager, queue: Arc<Queue>, names: Names) {
    loop {
        let random = manager.random();
        let wait = INTERVAL.mul_f64(1.0 - SPREAD + 2.0 * SPREAD * random.fraction());
        manager.clock().sleep(wait).await;
        for name in names() {
            queue.add_after(name, INTERVAL.mul_f64(SPREAD * random.fraction()), Cause::Resync);
        }
    }
}
