//! The behaviour of a service, and the faults that tests order.

use serde_json::Value;

/// A fault of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A response with this status and an error in Redfish's format.
    Status(u16),
    /// A 503 response, with the seconds of its `Retry-After`.
    Busy(Option<u64>),
    /// No response, ever.
    Silent,
    /// A 200 response with an HTML page.
    Garbage,
    /// The connection ends without a response.
    Drop,
    /// A successful response without any effect.
    Ignore,
    /// The normal response with the value at a JSON pointer replaced.
    Lie(&'static str, Value),
}

/// A fault for certain requests.
#[derive(Debug, Clone)]
pub struct Order {
    /// The method, `GET`, `PATCH` and so on.
    pub method: &'static str,
    /// Suffix of the path.
    pub path: &'static str,
    /// How often the fault occurs; `usize::MAX` for always.
    pub times: usize,
    /// The fault.
    pub fault: Fault,
}

/// How a service differs from a plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// The vendor whose extensions it has: `Dell`, `HPE` or `Supermicro`.
    pub vendor: Option<&'static str>,
    /// Whether basic authentication is disabled.
    pub sessions_only: bool,
    /// Whether writes are answered by 202 and a task.
    pub tasks: bool,
    /// Whether the allowed reset types are in an ActionInfo.
    pub action_info: bool,
    /// Whether virtual media is inserted by PATCH.
    pub media_by_patch: bool,
    /// Whether InsertMedia requires TransferProtocolType and TransferMethod.
    pub media_wants_transfer: bool,
    /// Whether `Once` is reported as `Continuous`, as in sushy-tools.
    pub once_is_continuous: bool,
    /// Whether `Continuous` is refused.
    pub no_continuous: bool,
    /// Whether entity tags are weak, while only strong ones are accepted in conditions.
    pub weak_tags: bool,
    /// Whether UEFI HTTP boot is not supported.
    pub no_http_boot: bool,
}
