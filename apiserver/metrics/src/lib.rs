//! The registry of metrics that all parts of a process share: server, store and controllers register what they count, and whoever serves
//! `/metrics` writes all of it.
//!
//! A part asks the registry for its metrics with [`Metrics::part`], so that two of a kind in one process (two managers, say) count
//! together and no name is written twice.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The metrics of a process. Clones share everything.
#[derive(Clone, Default)]
pub struct Metrics(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    registry: Registry,
    parts: BTreeMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl Metrics {
    /// The metrics `P` of one part of the process; `register` makes and registers them when they are first asked for.
    pub fn part<P: Clone + Send + Sync + 'static>(&self, register: impl FnOnce(&mut Registry) -> P) -> P {
        let mut state = self.0.lock();
        if let Some(part) = state.parts.get(&TypeId::of::<P>()).and_then(|part| part.downcast_ref::<P>()) {
            return part.clone();
        }
        let part = register(&mut state.registry);
        state.parts.insert(TypeId::of::<P>(), Box::new(part.clone()));
        part
    }

    /// All metrics as they are now, in the OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // A `String` takes everything.
        let _ = encode(&mut text, &self.0.lock().registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[derive(Clone, Default)]
    struct Doors(Counter);

    #[test]
    fn two_of_a_kind_count_together() {
        let metrics = Metrics::default();
        let doors = || {
            metrics.part(|registry| {
                let doors = Doors::default();
                registry.register("doors_opened", "Doors opened", doors.0.clone());
                doors
            })
        };
        doors().0.inc();
        doors().0.inc();
        let expected =
            "# HELP doors_opened Doors opened.\n# TYPE doors_opened counter\ndoors_opened_total 2\n# EOF\n";
        assert_eq!(metrics.text(), expected);
    }
}
