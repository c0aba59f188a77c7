//! The flags for metrics and health checks, with the names that upstream's managers use.

use clap::{ArgAction, Args};

use crate::options::Address;

/// The flags for the addresses of metrics and health checks.
#[derive(Debug, Clone, Default, Args)]
pub struct DiagnosticsOptions {
    /// Address of /metrics, for example :8443 or 127.0.0.1:8443 [default: not served]
    ///
    /// It is served over HTTPS with a certificate that is created at each start. Clients need a bearer token that the cluster accepts,
    /// and a role that allows them to get /metrics.
    #[arg(long, value_name = "ADDR:PORT")]
    pub diagnostics_address: Option<Address>,
    /// Serve --diagnostics-address over HTTP, without authentication
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", value_name = "true|false")]
    pub insecure_diagnostics: bool,
    /// Address of /healthz and /readyz, for example :9440 [default: not served]
    #[arg(long, value_name = "ADDR:PORT")]
    pub health_addr: Option<Address>,
}
