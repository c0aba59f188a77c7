//! TFTP (RFC 1350) with the options that firmware uses (RFC 2347, 2348, 2349, 7440). Read only, and only for files that the
//! configuration names.

pub mod packet;
pub mod sender;
pub mod server;
mod transfer;
