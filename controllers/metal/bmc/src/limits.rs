//! Timeouts and size limits.

use std::time::Duration;

/// The timeout of establishing a connection, including TLS. Controllers are slow at key exchanges.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The timeout of a Redfish request, from connecting to the last byte.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answer in bytes. Attribute registries have some megabytes.
pub const BODY_MAX: usize = 16 * 1024 * 1024;
/// The largest number of redirections of a request.
pub const REDIRECTS_MAX: usize = 3;
/// The number of attempts of a GET if the service is busy or the connection breaks.
pub const GET_ATTEMPTS: u32 = 4;
/// The longest `Retry-After` that is honoured.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// The largest number of members of a collection that are read.
pub const MEMBERS_MAX: usize = 64;

/// The timeout of a task that belongs to a power, boot or media call.
pub const TASK_TIMEOUT: Duration = Duration::from_secs(120);
/// The interval at which a task is polled.
pub const TASK_INTERVAL: Duration = Duration::from_secs(2);
/// The number of times that a write is read back before it counts as not stored.
pub const READ_BACK_ATTEMPTS: u32 = 5;
/// The interval between these reads.
pub const READ_BACK_INTERVAL: Duration = Duration::from_secs(2);

/// The timeout of an IPMI request; doubled with each attempt.
pub const IPMI_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of attempts of an IPMI request.
pub const IPMI_ATTEMPTS: u32 = 4;
/// The largest datagram that is read, in bytes.
pub const DATAGRAM_MAX: usize = 1024;
/// The longest password of IPMI 2.0, in bytes.
pub const IPMI_PASSWORD_MAX: usize = 20;
/// The longest user name of IPMI, in bytes.
pub const IPMI_USERNAME_MAX: usize = 16;
/// The largest part of an FRU inventory that is read, in bytes: the areas that identify a machine are at its start.
pub const FRU_MAX: u16 = 2048;
