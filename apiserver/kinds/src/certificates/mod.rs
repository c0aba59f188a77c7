//! CertificateSigningRequests.

mod columns;
pub(crate) mod kinds;
pub(crate) mod pem;
mod request;
mod signing_request;
