//! The registry of metrics that all parts of a process share. The server, the store and the controllers register their metrics, and
//! `/metrics` serves all of them.
//!
//! A part gets its metrics with [`Metrics::part`], so that two instances of a part in one process, for example two managers, share their
//! metrics and no metric is registered twice. [`Limits`] counts the limits that were reached. docs/metrics.md lists all metrics.

mod exposition;
mod limits;

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use exposition::{OPEN_METRICS, media_type, plain};
pub use limits::Limits;

/// The metrics of a process. Clones share one registry.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    registry: Registry,
    parts: BTreeMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Metrics {
    /// Returns the metrics `P` of one part of the process. The first call for `P` creates and registers them with `register`; later calls
    /// return a clone, and `register` is not called. Instances of a part therefore count together. A part with figures of one instance,
    /// for example the size of a server's store, must add each instance to `P` after this call, or the figures of later instances are
    /// missing. `register` must not call this function, which holds a lock.
    pub fn part<P: Clone + Send + Sync + 'static>(&self, register: impl FnOnce(&mut Registry) -> P) -> P {
        let mut state = self.0.lock();
        if let Some(part) = state.parts.get(&TypeId::of::<P>()).and_then(|part| part.downcast_ref::<P>()) {
            return part.clone();
        }
        let part = register(&mut state.registry);
        state.parts.insert(TypeId::of::<P>(), Box::new(part.clone()));
        part
    }

    /// Returns the media type and the text of the current values of all metrics, in the format that a client's `Accept` header asks for:
    /// OpenMetrics, or the text format of Prometheus.
    pub fn answer(&self, accept: Option<&str>) -> (&'static str, String) {
        let media = media_type(accept);
        let text = self.text();
        (media, if media == OPEN_METRICS { text } else { plain(&text) })
    }

    /// Returns the current values of all metrics in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` cannot fail.
        let _ = encode(&mut text, &self.0.lock().registry);
        text
    }
}
