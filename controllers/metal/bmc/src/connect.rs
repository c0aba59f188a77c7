//! Selects the client for the protocol of an address.

use std::sync::Arc;

use schemas::bmc_address::{BmcAddress, Protocol};

use crate::client::Bmc;
use crate::dependencies::Dependencies;
use crate::{Credentials, Result, Verification, ipmi, redfish};

/// Creates the client for an address. It sends nothing yet.
///
/// # Errors
/// The protocol cannot carry the credentials, the protocol lacks an option, or the certificate authorities are invalid.
pub fn connect(
    address: BmcAddress,
    credentials: Credentials,
    verification: Verification,
    dependencies: Dependencies,
) -> Result<Arc<dyn Bmc>> {
    Ok(match address.scheme.protocol() {
        Protocol::Redfish => {
            Arc::new(redfish::Redfish::new(address, credentials, &verification, dependencies.network)?)
        }
        Protocol::Ipmi => Arc::new(ipmi::Ipmi::new(address, credentials, dependencies)?),
    })
}
