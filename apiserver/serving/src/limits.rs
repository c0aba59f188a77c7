//! Every limit of the HTTP surface. Each has a metric (`firstlight_limit_reached_total{limit=…}`).

use std::time::Duration;

/// Bytes of a request's body, after decompression.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// Connections of those who are signed in, of one listener at a time. One more ends another one.
pub const CONNECTIONS: usize = 4096;
/// Connections of everybody else, of one listener at a time. One more ends another one.
pub const STRANGERS: usize = 1024;
/// How long a connection may do nothing whose owner is signed in; a watch is something.
pub const IDLE: Duration = Duration::from_secs(5 * 60);
/// How long any other may go without a request.
pub const STRANGER_IDLE: Duration = Duration::from_secs(30);
/// How long a client may take none of an answer that is on its way.
pub const STALLED: Duration = Duration::from_secs(60);
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
/// Requests that are being answered at a time, other than watches; masters have as many of their own.
pub const REQUESTS: usize = 256;
/// … of one user: at most so many, and at most half of what others leave, so that there is a place for them.
pub const FLOW_REQUESTS: usize = 128;
/// Requests of one user that may wait for those to end.
pub const FLOW_WAITING: usize = 1024;
/// How long one of them may wait.
pub const WAITING: Duration = Duration::from_secs(15);
/// Watches of all users but masters at a time.
pub const WATCHES: usize = 16 * 1024;
/// … of one user.
pub const FLOW_WATCHES: usize = 2 * 1024;
/// Bytes from which on work is done aside, so that it holds no other request up.
pub const ASIDE_FROM_BYTES: usize = 128 * 1024;
/// Requests with so many bytes that are worked on at a time.
pub const LARGE_REQUESTS: usize = 2;
/// … of one user.
pub const FLOW_LARGE_REQUESTS: usize = 1;
/// Characters of all warnings of an answer, before they are cut.
pub const WARNING_CHARACTERS: usize = 4 * 1024;
/// Characters of each of them then.
pub const CUT_WARNING_CHARACTERS: usize = 256;
/// How long in-flight requests may take to end at shutdown.
pub const SHUTDOWN: Duration = Duration::from_secs(10);
/// How long a connection that is to end may send less than [`QUIET_BYTES`] while no request is being answered.
pub const QUIET: Duration = Duration::from_secs(1);
/// … in bytes.
pub const QUIET_BYTES: u64 = 64 * 1024;
/// How long a body that is arriving may still take when the server stops.
pub const UPLOAD_AT_SHUTDOWN: Duration = Duration::from_secs(1);
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
