//! Files that one machine gets and no other: the door to whoever makes them.

use std::net::IpAddr;

use futures::future::BoxFuture;

use crate::pieces::Pieces;

/// A file of one machine, and what tells it from one with other content.
pub struct PersonalFile {
    /// The file.
    pub content: Pieces,
    /// Another one when the file is.
    pub tag: String,
}

/// Makes files of single machines.
pub trait PersonalFiles: Send + Sync + 'static {
    /// The file with that name for the machine at `client`; `None` when it has none of its own, so that the one of all machines is meant.
    fn find<'a>(&'a self, name: &'a str, client: IpAddr) -> BoxFuture<'a, Option<PersonalFile>>;

    /// Whether the machine with this address is one that somebody described.
    fn is_known(&self, client: IpAddr) -> bool;
}
