//! All limits of the HTTP layer. docs/metrics.md says in which metric each of them is counted.

use std::time::Duration;

/// Size in bytes of a request body, after decompression.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// Connections of authenticated users per listener. A further one closes another one.
pub const CONNECTIONS: usize = 4096;
/// Connections of unauthenticated clients per listener. A further one closes another one.
pub const STRANGERS: usize = 1024;
/// Idle timeout of a connection of an authenticated user. A connection with an open watch is not idle.
pub const IDLE: Duration = Duration::from_secs(5 * 60);
/// Idle timeout of an unauthenticated connection.
pub const STRANGER_IDLE: Duration = Duration::from_secs(30);
/// The time for which a client may stop reading a response.
pub const STALLED: Duration = Duration::from_secs(60);
/// Concurrent requests of one HTTP/2 connection.
pub const HTTP2_STREAMS: u32 = 250;
/// Size in bytes of an HTTP/1.1 request's head.
pub const HEADER_BYTES: usize = 64 * 1024;
/// Number of headers of an HTTP/1.1 request.
pub const HEADER_COUNT: usize = 128;
/// Size in bytes of an HTTP/2 request's headers, as HPACK counts them.
pub const HEADER_LIST_BYTES: u32 = 64 * 1024;
/// Time for the TLS handshake.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// Time for the headers of a request to arrive.
pub const HEADERS: Duration = Duration::from_secs(30);
/// Time for the body of a request to arrive.
pub const BODY: Duration = Duration::from_secs(30);
/// Time for a request other than a watch.
pub const REQUEST: Duration = Duration::from_secs(60);
/// Concurrent requests other than watches; masters have the same number of their own.
pub const REQUESTS: usize = 256;
/// Concurrent requests of one user: at most this many, and at most half of what other users leave free.
pub const FLOW_REQUESTS: usize = 128;
/// Waiting requests of one user.
pub const FLOW_WAITING: usize = 1024;
/// Time that a request may wait for its turn.
pub const WAITING: Duration = Duration::from_secs(15);
/// Concurrent watches of all users except masters.
pub const WATCHES: usize = 16 * 1024;
/// Concurrent watches of one user.
pub const FLOW_WATCHES: usize = 2 * 1024;
/// Size in bytes of what a client may send in one message over the WebSocket of a watch, which ignores it.
pub const SOCKET_MESSAGE_BYTES: usize = 64 * 1024;
/// Large requests that are worked on at the same time.
pub const LARGE_REQUESTS: usize = 2;
/// Large requests of one user that are worked on at the same time.
pub const FLOW_LARGE_REQUESTS: usize = 1;
/// Total characters of a response's warnings; beyond that they are cut.
pub const WARNING_CHARACTERS: usize = 4 * 1024;
/// Characters of each warning once they are cut.
pub const CUT_WARNING_CHARACTERS: usize = 256;
/// Time for in-flight requests to finish at shutdown.
pub const SHUTDOWN: Duration = Duration::from_secs(10);
/// The time for which a closing connection without a request in progress may send less than [`QUIET_BYTES`].
pub const QUIET: Duration = Duration::from_secs(1);
/// Minimum progress in bytes during [`QUIET`].
pub const QUIET_BYTES: u64 = 64 * 1024;
/// Time for a request body to arrive after the server was told to stop.
pub const UPLOAD_AT_SHUTDOWN: Duration = Duration::from_secs(1);
/// Responses of at least this many bytes are compressed if the client accepts it.
pub const GZIP_FROM_BYTES: usize = 128 * 1024;
/// Length in bytes of an `Audit-ID` that a client chooses. A longer one is replaced.
pub const AUDIT_ID_BYTES: usize = 256;
/// Length in bytes of `fieldManager`.
pub const FIELD_MANAGER_BYTES: usize = 128;
/// The number of bytes of a body that an error message shows.
pub const BODY_SUMMARY_BYTES: usize = 30;
/// Time between two bookmarks of a watch.
pub const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Time between the last bookmark and the end of a watch.
pub const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Duration of a watch for which the client sets no limit.
pub const WATCH: Duration = Duration::from_secs(30 * 60);
