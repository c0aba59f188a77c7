//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use machinery::meta;

use super::{bindings, columns, mutations, policies, webhooks};
use crate::kind::{Kind, kind};
use crate::subject::{Change, NOTHING, Subject};

const GROUP: &str = "admissionregistration.k8s.io";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject { kinds: &KINDS, columns: columns::of, warnings, ..NOTHING };

/// What names of configurations in files of kube-apiserver end in.
const STATIC: &str = ".static.k8s.io";

fn warnings(change: &Change<'_>, found: &mut Vec<String>) {
    if change.group == GROUP && meta::name(change.object).ends_with(STATIC) {
        found.push(format!(
            "metadata.name: names ending with {STATIC:?} are reserved for static manifest-based configurations and \
             cannot be managed via the API"
        ));
    }
}

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
