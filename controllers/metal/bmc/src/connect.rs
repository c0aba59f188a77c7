//! Which client speaks a target's protocol.

use std::sync::Arc;

use crate::client::Bmc;
use crate::doors::Doors;
use crate::{Credentials, Protocol, Result, Target, Verification, ipmi, redfish};

/// The client for a target. Nothing is sent yet.
///
/// # Errors
/// Credentials that the protocol cannot carry, options it does not know, or authorities that cannot be read.
pub fn connect(
    target: Target,
    credentials: Credentials,
    verification: Verification,
    doors: Doors,
) -> Result<Arc<dyn Bmc>> {
    Ok(match target.protocol {
        Protocol::Redfish => {
            Arc::new(redfish::Redfish::new(target, credentials, &verification, doors.network)?)
        }
        Protocol::Ipmi => Arc::new(ipmi::Ipmi::new(target, credentials, doors)?),
    })
}
