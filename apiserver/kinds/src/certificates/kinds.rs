//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{columns, signing_request};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};
use crate::subresource::Subresource;

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        ("certificates.k8s.io", "CertificateSigningRequest") => Some(columns::signing_request()),
        _ => None,
    },
    ..NOTHING
};

#[rustfmt::skip]
static KINDS: [Kind; 1] = [
    kind("certificates.k8s.io", "CertificateSigningRequest", "certificatesigningrequests", &["csr"]).cluster().status()
        .parts(&[Subresource::Approval])
        .selectable(&["spec.signerName"]).metadata_repeats(2, 2)
        .rules(signing_request::REQUEST),
];
