//! Starts the parts of the housekeeping that the embedder has chosen.

use super::part::run;
use super::{aggregation, cleanup, events, garbage, namespaces, policy, service_accounts};
use crate::registry::Registry;

/// Creates the default objects and starts the tasks.
pub(crate) async fn start(registry: &Registry) {
    let parts = registry.0.options.housekeeping.clone();
    if parts.namespaces {
        namespaces::create_defaults(registry).await;
    }
    if parts.namespace_deletion {
        run(registry, "/registry/", namespaces::Emptying::new);
    }
    if parts.roles {
        policy::reconcile(registry).await;
    }
    if parts.role_aggregation {
        run(registry, aggregation::PREFIX, aggregation::Aggregation::new);
    }
    run(registry, "/registry/", cleanup::Cleanup::new);
    if parts.service_accounts || parts.root_certificate.is_some() {
        run(registry, "/registry/core/", service_accounts::Defaults::new);
    }
    if parts.garbage_collection {
        run(registry, "/registry/", garbage::Collector::new);
    }
    if parts.event_expiry {
        events::start(registry);
    }
}
