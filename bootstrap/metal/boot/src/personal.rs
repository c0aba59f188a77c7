//! The interface to files that are generated for a single machine.

use std::net::IpAddr;

use futures::future::BoxFuture;

use crate::pieces::Pieces;

/// A file of one machine, and a tag that changes with its content.
pub struct PersonalFile {
    /// The content of the file.
    pub content: Pieces,
    /// The entity tag, which changes with the content.
    pub tag: String,
}

/// Generates files for single machines.
pub trait PersonalFiles: Send + Sync + 'static {
    /// Returns the file with that name for the machine at `client`; `None` if the machine gets the common file.
    fn find<'a>(&'a self, name: &'a str, client: IpAddr) -> BoxFuture<'a, Option<PersonalFile>>;

    /// Returns whether a BareMetalHost describes the machine with this address.
    fn is_known(&self, client: IpAddr) -> bool;
}
