//! Permissions for CertificateSigningRequests: besides the permission to write `/approval` or `/status`, a
//! user needs `approve` or `sign` for the signer.

use machinery::field::quote;
use machinery::meta;
use machinery::status::Status;
use registry::{Operation, Review, Subresource};
use serde_json::Value;

use super::Rbac;
use crate::attributes::Resource;

const GROUP: &str = "certificates.k8s.io";

impl Rbac {
    /// Refuses approvals and certificates by users without the permission for the signer of the stored
    /// request.
    pub(super) fn check_signer(&self, review: &Review<'_>, object: &Value) -> Result<(), Status> {
        let definition = &review.served.definition;
        let request =
            (definition.group.as_str(), definition.plural.as_str()) == (GROUP, "certificatesigningrequests");
        let Some(old) = review.old.filter(|_| request && review.operation == Operation::Update) else {
            return Ok(());
        };
        let status = |field: &str| object["status"][field] != old["status"][field];
        let verb = match review.subresource {
            Subresource::Approval => "approve",
            Subresource::Status if status("certificate") || status("conditions") => "sign",
            _ => return Ok(()),
        };
        let signer = old["spec"]["signerName"].as_str().unwrap_or_default();
        let domain = format!("{}/*", signer.split('/').next().unwrap_or_default());
        let user = review.user;
        let may = |name: &str| {
            let signers =
                Resource { group: GROUP, version: "*", resource: "signers", name, ..Resource::default() };
            self.may(user, verb, signers)
        };
        if may(signer) || may(&domain) {
            return Ok(());
        }
        let why = format!("user not permitted to {verb} requests with signerName {}", quote(signer));
        Err(Status::forbidden(review.served.resource(), meta::name(object), &why))
    }
}
