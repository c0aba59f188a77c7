//! The limits of port-forwards.

use std::time::Duration;

/// Maximum number of port-forwards of an API server at the same time.
pub const PORT_FORWARDS: usize = 256;
/// Maximum number of ports of a port-forward with `v4.channel.k8s.io`, which numbers two channels for each with one byte.
pub const PORTS: usize = 128;
/// Size in bytes of the buffer between a port-forward and the server in the Pod, in each direction.
pub const PORT_BUFFER: usize = 64 * 1024;
/// Maximum size in bytes of a WebSocket message of a port-forward. client-go sends at most 33 KiB in one.
pub const PORT_MESSAGE: usize = 1024 * 1024;

/// Maximum size in bytes of a SPDY control frame without its header. SPDY/3 demands at least 8 KiB.
pub const SPDY_CONTROL_FRAME: usize = 16 * 1024;
/// Maximum size in bytes of a SPDY header block after decompression.
pub const SPDY_HEADER_BLOCK: usize = 16 * 1024;
/// Maximum number of headers in a SPDY header block.
pub const SPDY_HEADERS: usize = 64;
/// Maximum number of streams of a SPDY session that are open at the same time. A forwarded connection has two.
pub const SPDY_STREAMS: usize = 256;
/// Number of bytes that are read from a connection or from a stream at once, and that a data frame has at most.
pub const SPDY_CHUNK: usize = 16 * 1024;
/// Number of frames that wait for being written. A session with so many reads nothing until the client has read one.
pub const SPDY_QUEUE: usize = 16;
/// Time in which the client must read what is left to write when a SPDY session ends.
pub const SPDY_GOODBYE: Duration = Duration::from_secs(10);
