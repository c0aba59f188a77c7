//! The limits of this crate.

use std::time::Duration;

/// Maximum size in bytes of what an extension answers, whatever the status code. Upstream has 20 MiB for errors, and no limit for other answers.
/// The patches of a Cluster with hundreds of MachineDeployments have about 3 MiB.
pub const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size in bytes of an answer that has no patches: such an answer becomes part of an object, which has at most 3 MiB.
pub const PLAIN_ANSWER_BYTES: usize = 3 * 1024 * 1024;
/// Maximum size in characters of the message of an answer; the rest is cut.
pub const MESSAGE_CHARACTERS: usize = 4096;
/// Number of characters of an answer that is no success which an error quotes.
pub const QUOTED_CHARACTERS: usize = 512;
/// Maximum number of handlers of one extension, as in the schema of ExtensionConfig.
pub const HANDLERS: usize = 512;
/// Maximum time in seconds that a handler may ask for.
pub const TIMEOUT_SECONDS: i32 = 30;
/// How long the variables that an extension has named are not asked for again.
pub const KEPT_FOR: Duration = Duration::from_secs(10 * 60);
/// Number of answers with variables that are kept; beyond that those are forgotten that were not used for the longest time.
pub const KEPT_ANSWERS: usize = 64;
