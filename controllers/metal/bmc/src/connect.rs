//! Selects the client for the protocol of a target.

use std::sync::Arc;

use crate::client::Bmc;
use crate::dependencies::Dependencies;
use crate::{Credentials, Protocol, Result, Target, Verification, ipmi, redfish};

/// Creates the client for a target. It sends nothing yet.
///
/// # Errors
/// The protocol cannot carry the credentials, the protocol lacks an option, or the certificate authorities are invalid.
pub fn connect(
    target: Target,
    credentials: Credentials,
    verification: Verification,
    dependencies: Dependencies,
) -> Result<Arc<dyn Bmc>> {
    Ok(match target.protocol {
        Protocol::Redfish => {
            Arc::new(redfish::Redfish::new(target, credentials, &verification, dependencies.network)?)
        }
        Protocol::Ipmi => Arc::new(ipmi::Ipmi::new(target, credentials, dependencies)?),
    })
}
