//! For the tests of this workspace; not part of the API.

pub use crate::paths::discovery::groups::compare_versions;
pub use crate::paths::openapi::range::{Part, part};
pub use crate::request::target::path::{ResourcePath, unescaped};
pub use crate::resources::event_lines::{EventLines, KEPT_BYTES, line, pieces};
pub use crate::response::negotiate::{Convert, Encoding, JSON, Media, Offer, negotiate};
pub use crate::response::warnings::add as add_warnings;
pub use crate::transport::body::FRAME_BYTES;
pub use crate::transport::coalesce::{Coalesced, Coalescer, GATHERED_BYTES, TURN_BYTES};
pub use crate::transport::connections::{Connection, Connections, Verdict};

/// The limits that tests reach.
pub mod limits {
    pub use crate::limits::{
        BODY, BODY_BYTES, BOOKMARK_EVERY, CONNECTIONS, CUT_WARNING_CHARACTERS, FIELD_MANAGER_BYTES,
        FLOW_REQUESTS, FLOW_WAITING, FLOW_WATCHES, GZIP_FROM_BYTES, HANDSHAKE, HEADER_BYTES, HEADER_COUNT,
        HEADER_LIST_BYTES, HEADERS, HTTP2_STREAMS, IDLE, LARGE_REQUESTS, REQUEST, REQUESTS, STALLED,
        STRANGER_IDLE, STRANGERS, UPLOAD_AT_SHUTDOWN, WAITING, WARNING_CHARACTERS, WATCH,
    };
}
