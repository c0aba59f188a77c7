//! SPDY/3.1, the server's side, as far as port-forwards of Kubernetes need it: <https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/>.
//!
//! [`headers`] and [`frame`] are the codec, [`streams`] the rules for streams and [`windows`] those of flow control. They perform no I/O.
//! [`session`] applies them to a connection. All memory is bounded by `limits.rs`. What a client must not send ends its session.

pub mod dictionary;
pub mod frame;
pub mod headers;
pub mod session;
pub mod streams;
pub mod windows;
