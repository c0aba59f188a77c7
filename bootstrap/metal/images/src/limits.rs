//! Limits of the files that images are made of.

/// The largest kernel module, in bytes after decompression. Modules are read into memory.
pub const MODULE_BYTES_MAX: u64 = 256 << 20;
