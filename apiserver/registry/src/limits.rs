//! The limits of the registry.

/// From this many bytes on, work runs in a blocking section of the runtime, so that it does not delay other requests.
pub const ASIDE_FROM_BYTES: usize = 128 * 1024;

/// The work of a list or watch on one object that it need not look through, as a number of bytes.
pub const OBJECT_WORK_BYTES: usize = 32;

/// Work in bytes after which a list that runs in place lets other tasks run.
pub const YIELD_BYTES: usize = 16 * 1024;

/// Maximum number of items in all lists of an object of a built-in kind. A `{}` of two bytes gets defaults and errors of a kilobyte, and an
/// object that is in use has thousands at most.
pub const LIST_ITEMS_MAX: usize = 100_000;

/// Maximum size of a request to etcd in bytes: the default of its `--max-request-bytes`. What it refuses is refused here, so that every object
/// can move to a cluster that stores its objects in etcd.
pub const ETCD_REQUEST_BYTES_MAX: usize = 1536 * 1024;

/// Maximum size of a message that kube-apiserver sends to etcd, in bytes. It answers larger ones itself, with another text.
pub const ETCD_MESSAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The part of [`ETCD_REQUEST_BYTES_MAX`] that is left for what an encryption of stored objects adds: a prefix, a nonce, and an encrypted key.
pub const ENCRYPTION_ROOM_BYTES: usize = 4 * 1024;
