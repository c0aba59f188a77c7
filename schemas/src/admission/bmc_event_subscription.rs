//! Admission rules of BMCEventSubscription: those of Metal3's webhook (baremetal-operator v0.13).

use machinery::url;

use super::bare_metal_host::own_namespace;
use super::common::{Errors, at};
use super::request::Request;
use crate::metal3::BMCEventSubscription;

pub fn bmc_event_subscription(
    request: Request<'_>,
    subscription: &BMCEventSubscription,
    errors: &mut Errors,
) {
    const DESTINATION: &str = "spec.destination";
    let spec = &subscription.spec;
    if spec.host_name.as_deref().unwrap_or_default().is_empty() {
        errors.required("spec.hostName", "set it to the name of a BareMetalHost of this namespace");
    }
    match spec.destination.as_deref().filter(|destination| !destination.is_empty()) {
        None => errors.required(DESTINATION, "set it to the URL to which the events are sent"),
        Some(destination) => match url::parse_request_uri(destination) {
            Ok(url) if url.path.is_empty() => {
                errors.invalid(DESTINATION, destination, "must have a path, if only / at the end");
            }
            Ok(_) => {}
            Err(problem) => errors.invalid(DESTINATION, destination, format!("must be a URL: {problem}")),
        },
    }
    let namespace = subscription.metadata.namespace.as_deref().unwrap_or_default();
    own_namespace("spec.httpHeadersRef.namespace", spec.http_headers_ref.as_ref(), namespace, errors);
    if let Some(old) = request.old
        && at(old, &["spec"]) != at(request.new, &["spec"])
    {
        errors.forbidden("spec", "can't be changed: delete the subscription and make a new one");
    }
}
