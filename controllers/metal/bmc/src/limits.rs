//! How long and how much.

use std::time::Duration;

/// How long a connection may take to be made, TLS included. Controllers are slow at keys.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long one Redfish request may take, from connecting to the last byte.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How large an answer may be. Attribute registries have some megabytes.
pub const BODY_MAX: usize = 16 * 1024 * 1024;
/// How often an answer may point elsewhere.
pub const REDIRECTS_MAX: usize = 3;
/// How often a GET is sent when the service is too busy or the connection breaks.
pub const GET_ATTEMPTS: u32 = 4;
/// The longest wait that a `Retry-After` is granted.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);
/// How many members of a collection are read.
pub const MEMBERS_MAX: usize = 64;

/// How long a task is waited for that belongs to a power, boot or media call.
pub const TASK_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a task is looked at.
pub const TASK_INTERVAL: Duration = Duration::from_secs(2);
/// How often a write is read back before it counts as not stored.
pub const READ_BACK_ATTEMPTS: u32 = 5;
/// How long between two of them.
pub const READ_BACK_INTERVAL: Duration = Duration::from_secs(2);
/// How often power is looked at while it is waited for.
pub const POWER_INTERVAL: Duration = Duration::from_secs(2);

/// How long an IPMI answer is waited for; doubled with each attempt.
pub const IPMI_TIMEOUT: Duration = Duration::from_secs(1);
/// How often an IPMI request is sent.
pub const IPMI_ATTEMPTS: u32 = 4;
/// The largest datagram that is read.
pub const DATAGRAM_MAX: usize = 1024;
/// IPMI 2.0 passwords are no longer.
pub const IPMI_PASSWORD_MAX: usize = 20;
/// IPMI user names are no longer.
pub const IPMI_USERNAME_MAX: usize = 16;
/// The largest FRU inventory that is read: the areas that identify a machine are at its start.
pub const FRU_MAX: u16 = 2048;
