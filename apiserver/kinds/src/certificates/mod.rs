//! CertificateSigningRequests.

mod columns;
pub(crate) mod kinds;
mod pem;
mod request;
mod signing_request;
