//! Every limit of a pivot.

use std::time::Duration;

/// Concurrent requests to one server.
pub const IN_FLIGHT: usize = 16;
/// Objects of one page of a list.
pub const PAGE: usize = 500;
/// Objects of one page of a list whose pages are too large otherwise.
pub const SMALL_PAGE: usize = 16;
/// The largest answer, in bytes. An API server stores no object of more than a few megabytes, so a small page fits.
pub const ANSWER: usize = 64 * 1024 * 1024;
/// The largest list with all its pages, in bytes.
pub const LIST: usize = 1024 * 1024 * 1024;
/// The largest event of a watch, in bytes. It has only the metadata of an object.
pub const LINE: usize = 8 * 1024 * 1024;
/// The largest answer of a refusal, in bytes.
pub const REFUSAL: usize = 1024 * 1024;
/// Up to this many namespaces are listed one by one; with more, one list covers all namespaces.
pub const NAMESPACES_LISTED_ALONE: usize = 4;
/// Objects between two syncs of the journal; a resumed pivot may have to look at as many again.
pub const BATCH: usize = 64;
/// Objects that one deletion request removes; a server limits a request to one minute.
pub const DELETE_BATCH: usize = 500;
/// The number of retries of a request that found no connection or that an overloaded server refused.
pub const RETRIES: u32 = 5;
/// The number of such retries while a server has never answered, so that a wrong or dead address is reported within two seconds.
pub const RETRIES_AT_FIRST: u32 = 3;
/// The first pause before a retry; it doubles each time.
pub const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// The time for which providers may block the move of objects; clusterctl waits as long.
pub const BLOCK_MOVE_WAIT: Duration = Duration::from_secs(150);
/// The time in which a provider must prepare its handover. A provider that does not run never does.
pub const HAND_OVER_WAIT: Duration = Duration::from_secs(5);
/// The longest pause before a watch that ended is restarted.
pub const HELD_PAUSE_MAX: Duration = Duration::from_secs(2);
/// The number of times that changing objects are copied again before the pivot gives up.
pub const ROUNDS: u32 = 8;
/// Pause between two such rounds.
pub const ROUND_PAUSE: Duration = Duration::from_millis(250);
/// A larger difference between two clocks causes a warning.
pub const CLOCK_SKEW: Duration = Duration::from_secs(5);
/// The largest record of a journal, in bytes.
pub const RECORD: usize = 64 * 1024 * 1024;
