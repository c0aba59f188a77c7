//! Every limit of the HTTP surface. Each has a metric (`firstlight_limit_reached_total{limit=…}`).

use std::time::Duration;

/// Bytes of a request's body, after decompression.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// Connections of one listener at a time.
pub const CONNECTIONS: usize = 4096;
/// Requests of one HTTP/2 connection at a time.
pub const HTTP2_STREAMS: u32 = 250;
/// Bytes of an HTTP/1.1 request's head.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Headers of an HTTP/1.1 request.
pub const HEADER_COUNT: usize = 128;
/// Bytes of an HTTP/2 request's headers, as HPACK counts them.
pub const HEADER_LIST_BYTES: u32 = 64 * 1024;
/// How long a client may take for the TLS handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a client may take to send the headers of a request.
pub const HEADERS: Duration = Duration::from_secs(30);
/// How long a client may take to send a body.
pub const BODY: Duration = Duration::from_secs(30);
/// How long a request other than a watch may take.
pub const REQUEST: Duration = Duration::from_secs(60);
/// Requests that are being answered at a time, other than watches.
pub const REQUESTS: usize = 256;
/// … of one user: fewer, so that there is a place for others.
pub const FLOW_REQUESTS: usize = 128;
/// Requests of one user that may wait for those to end.
pub const FLOW_WAITING: usize = 1024;
/// How long one of them may wait.
pub const WAITING: Duration = Duration::from_secs(15);
/// How long in-flight requests may take to end at shutdown.
pub const SHUTDOWN: Duration = Duration::from_secs(10);
/// Answers of at least this many bytes are compressed for clients that accept it.
pub const GZIP_FROM_BYTES: usize = 128 * 1024;
/// Bytes of `fieldManager`.
pub const FIELD_MANAGER_BYTES: usize = 128;
/// Bytes of a body that an error shows.
pub const BODY_SUMMARY_BYTES: usize = 30;
/// Time between two bookmarks of a watch.
pub const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before the end of a watch its last bookmark is due.
pub const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How long a watch lasts when the client names no limit.
pub const WATCH: Duration = Duration::from_secs(30 * 60);
