//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{bindings, columns, mutations, policies, webhooks};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};

const GROUP: &str = "admissionregistration.k8s.io";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject { kinds: &KINDS, columns: columns::of, ..NOTHING };

#[rustfmt::skip]
static KINDS: [Kind; 6] = [
    kind(GROUP, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", &[]).cluster().extension().generation().conditional().metadata_repeats(1, 0)
        .rules(webhooks::WEBHOOKS),
    kind(GROUP, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", &[]).cluster().extension().generation().conditional().metadata_repeats(1, 0)
        .rules(webhooks::WEBHOOKS),
    kind(GROUP, "ValidatingAdmissionPolicy", "validatingadmissionpolicies", &[]).cluster().status().extension().generation().conditional().metadata_repeats(1, 0)
        .rules(policies::POLICY),
    kind(GROUP, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", &[]).cluster().extension().generation().conditional().metadata_repeats(1, 0)
        .rules(bindings::BINDING),
    kind(GROUP, "MutatingAdmissionPolicy", "mutatingadmissionpolicies", &[]).cluster().extension().generation().conditional().metadata_repeats(1, 0)
        .rules(mutations::POLICY),
    kind(GROUP, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", &[]).cluster().extension().generation().conditional().metadata_repeats(1, 0)
        .rules(mutations::BINDING),
];
