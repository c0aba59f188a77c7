//! Images, as the user of system containers knows them.

use anyhow::Result;
use futures::future::BoxFuture;
use tokio::io::AsyncRead;

/// Finds images: on this machine, and in registries.
pub trait Images: Send + Sync {
    /// Makes an image available, and returns it as [`crate::Spec::image`] takes it. What is there already is not fetched again. `report` is
    /// told, in words, how far it is.
    ///
    /// # Errors
    /// The name is none of an image, no source has the image, or it is damaged; the error says where it was looked for.
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<String>>;

    /// Returns an image as an archive that `ctr images import` reads, with this name in it.
    ///
    /// # Errors
    /// Those of [`Images::find`].
    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>>;
}

/// Is told how far something is.
pub type Report<'a> = &'a (dyn Fn(&str) + Send + Sync);
