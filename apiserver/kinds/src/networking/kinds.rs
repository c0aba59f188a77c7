//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{columns, endpoints, ingress, network_policy, service, warnings};
use crate::kind::{Kind, kind};
use crate::strategy::Generation;
use crate::strategy::rules::{NONE, Rules};
use crate::subject::{NOTHING, Subject};

const GROUP: &str = "networking.k8s.io";

/// The warning for each request for `Endpoints`.
const ENDPOINTS: &str = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject =
    Subject { kinds: &KINDS, columns: columns::of, warnings: warnings::of, ..NOTHING };

#[rustfmt::skip]
static KINDS: [Kind; 8] = [
    kind("", "Endpoints", "endpoints", &["ep"]).create_on_update().deprecated(ENDPOINTS).metadata_repeats(2, 2).rules(endpoints::ENDPOINTS),
    kind("", "Service", "services", &["svc"]).status().all().create_on_update().returns_deleted()
        .selectable(&["spec.clusterIP", "spec.type"])
        .rules(service::SERVICE),
    kind(GROUP, "Ingress", "ingresses", &["ing"]).status().generation().rules(ingress::INGRESS),
    kind(GROUP, "IngressClass", "ingressclasses", &[]).cluster().generation().metadata_repeats(2, 2).rules(ingress::INGRESS_CLASS),
    kind(GROUP, "IPAddress", "ipaddresses", &["ip"]).cluster()
        .rules(Rules { immutable_fields: &["spec.parentRef"], ..NONE }),
    kind(GROUP, "NetworkPolicy", "networkpolicies", &["netpol"]).generation().rules(network_policy::NETWORK_POLICY),
    kind(GROUP, "ServiceCIDR", "servicecidrs", &[]).cluster().status(),
    kind("discovery.k8s.io", "EndpointSlice", "endpointslices", &[]).generation_of(Generation::SpecAndLabels).rules(endpoints::SLICE),
];
