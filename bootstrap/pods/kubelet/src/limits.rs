//! The limits on what is read from a container, and on what waits for the worker of a Pod.

/// The most of a command's output that a probe or a hook keeps, in bytes; that of Kubernetes.
pub(crate) const COMMAND_OUTPUT: u64 = 10 << 10;
/// The largest answer to a health check over gRPC in bytes.
pub(crate) const HEALTH_ANSWER: usize = 4096;
/// The most redirects that a probe follows, as in Kubernetes.
pub(crate) const REDIRECTS: usize = 10;
/// The most of a container's last words that its status shows, in bytes; that of Kubernetes.
pub(crate) const TERMINATION_MESSAGE: usize = 4096;
/// The largest program in which flags are looked for, in bytes.
pub(crate) const PROGRAM: u64 = 512 << 20;
/// Events that wait for the worker of a Pod. Whoever has one more waits.
pub(crate) const EVENTS: usize = 64;
/// Signals that wait for a process. Whoever sends one more waits.
pub(crate) const SIGNALS: usize = 4;
