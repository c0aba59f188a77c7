//! The image of this program, which is in no registry: the one that a cluster runs after a pivot into itself.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use system_containers::{Image, Images, Report};
use tokio::io::AsyncRead;
use tokio::sync::OnceCell;

use crate::image;

/// The archive of this program, which `up` and the controllers of one process need, and whose compression takes seconds.
static ITSELF: OnceCell<Bytes> = OnceCell::const_new();

/// The images of nodes, and that of this program under its default name.
pub(super) struct WithItself {
    images: Arc<dyn Images>,
}

impl WithItself {
    /// Returns these images, and that of this program.
    pub(super) fn new(images: Arc<dyn Images>) -> Self {
        Self { images }
    }
}

/// Returns the archive of this program, which is made once in a process.
async fn itself() -> Result<Bytes> {
    let made = ITSELF.get_or_try_init(|| async {
        let make = || -> Result<Bytes> {
            let mut archive = Vec::new();
            image::write(&mut archive, &image::default_reference(), &image::of_this_process()?)?;
            Ok(archive.into())
        };
        tokio::task::spawn_blocking(make).await.context("the image of this program was not made")?
    });
    made.await.cloned()
}

impl Images for WithItself {
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<Image>> {
        self.images.find(name, report)
    }

    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>> {
        if name != image::default_reference() {
            return self.images.archive(name);
        }
        async { Ok(Box::new(Cursor::new(itself().await?)) as Box<dyn AsyncRead + Send + Unpin>) }.boxed()
    }
}
