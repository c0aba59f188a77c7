//! Starts the parts of the housekeeping that the embedder has chosen.

use std::sync::Arc;

use futures::join;

use super::part::run;
use super::{
    aggregation, api_services, certificate_requests, cleanup, events, flow_control, garbage, namespaces,
    policy, priority_classes, quotas, service_accounts, token_secrets,
};
use crate::options::Housekeeping;
use crate::write::writes::Writes;

/// Creates the default objects and starts the tasks.
pub(crate) async fn start(writes: &Arc<Writes>, parts: Housekeeping) {
    if parts.namespaces {
        namespaces::create_defaults(writes).await;
    }
    if parts.standard_objects {
        join!(priority_classes::create(writes), flow_control::create(writes), api_services::create(writes));
        run(writes, api_services::PREFIX, api_services::Following::new);
    }
    if parts.namespace_deletion {
        run(writes, "/registry/", namespaces::Emptying::new);
    }
    if parts.roles {
        policy::reconcile(writes).await;
    }
    if parts.role_aggregation {
        run(writes, aggregation::PREFIX, aggregation::Aggregation::new);
    }
    run(writes, "/registry/", cleanup::Cleanup::new);
    if parts.service_accounts || parts.root_certificate.is_some() {
        run(writes, "/registry/core/", move |writes| {
            service_accounts::Defaults::new(writes, parts.service_accounts, parts.root_certificate)
        });
    }
    if let Some(content) = parts.token_secrets {
        run(writes, "/registry/core/", move |_| token_secrets::Filling::new(content));
    }
    if let Some(signer) = parts.request_signer {
        run(writes, certificate_requests::PREFIX, move |writes| {
            certificate_requests::Signing::new(writes, signer)
        });
    }
    if parts.garbage_collection {
        run(writes, "/registry/", garbage::Collector::new);
    }
    if parts.quotas {
        run(writes, "/registry/", quotas::Counting::new);
    }
    if parts.event_expiry {
        events::start(writes);
    }
}
