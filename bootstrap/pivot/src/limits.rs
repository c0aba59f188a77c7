//! Every limit of a pivot.

use std::time::Duration;

/// Requests in flight at one server.
pub const IN_FLIGHT: usize = 16;
/// Objects of one page of a list.
pub const PAGE: usize = 500;
/// Up to so many namespaces each is listed by itself.
pub const NAMESPACES_LISTED_ALONE: usize = 4;
/// Objects between two syncs of the journal: what a resumed pivot may have to look at twice.
pub const BATCH: usize = 64;
/// Objects that one request of deletion removes; a server has a minute for a request.
pub const DELETE_BATCH: usize = 500;
/// How often a request that failed for want of a connection, or was shed, is tried again.
pub const RETRIES: u32 = 5;
/// The first pause before a request is tried again; it doubles.
pub const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How long providers may hold objects back, as long as clusterctl waits.
pub const BLOCK_MOVE_WAIT: Duration = Duration::from_secs(150);
/// How long a provider may take to make ready what it hands over; one that does not run never will.
pub const HAND_OVER_WAIT: Duration = Duration::from_secs(5);
/// The longest pause before a watch that has ended is begun anew.
pub const HELD_PAUSE_MAX: Duration = Duration::from_secs(2);
/// How often objects that still change are copied again before a person must look.
pub const ROUNDS: u32 = 8;
/// Pause between two such rounds.
pub const ROUND_PAUSE: Duration = Duration::from_millis(250);
/// Clocks may differ by this much before it is worth a word.
pub const CLOCK_SKEW: Duration = Duration::from_secs(5);
/// One record of a journal.
pub const RECORD: usize = 64 * 1024 * 1024;
