//! What a service is told to be, and to do wrong.

use serde_json::Value;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status, with an error in Redfish's form.
    Status(u16),
    /// 503, with the seconds of its `Retry-After`.
    Busy(Option<u64>),
    /// No answer, ever.
    Silent,
    /// 200 and a page of HTML.
    Garbage,
    /// The connection ends without an answer.
    Drop,
    /// Says that it was done, and does not do it.
    Ignore,
    /// The answer, with this at a pointer in place of what is true.
    Lie(&'static str, Value),
}

/// A fault that is to happen.
#[derive(Debug, Clone)]
pub struct Order {
    /// `GET`, `PATCH` …
    pub method: &'static str,
    /// How the path ends.
    pub path: &'static str,
    /// How often; `usize::MAX` for always.
    pub times: usize,
    /// What happens.
    pub fault: Fault,
}

/// How a service differs from a plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// `Dell`, `HPE`, `Supermicro`: with their extensions.
    pub vendor: Option<&'static str>,
    /// Basic authentication is switched off.
    pub sessions_only: bool,
    /// Writes are answered by 202 and a task.
    pub tasks: bool,
    /// The offered reset types are in an ActionInfo.
    pub action_info: bool,
    /// Virtual media is inserted by PATCH.
    pub media_by_patch: bool,
    /// InsertMedia wants TransferProtocolType and TransferMethod.
    pub media_wants_transfer: bool,
    /// `Once` is shown as `Continuous`, as sushy-tools does.
    pub once_is_continuous: bool,
    /// `Continuous` is refused.
    pub no_continuous: bool,
    /// Tags are weak, and only strong ones are taken back.
    pub weak_tags: bool,
    /// There is no UEFI HTTP boot.
    pub no_http_boot: bool,
}
