//! Reads lists page by page.

use machinery::url::encode;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Call, Server};
use crate::error::{Error, Result};
use crate::limits;

/// The media type of a list with only the metadata of its objects.
const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// One page of a list.
#[derive(Deserialize)]
pub struct Page {
    /// The metadata of the list, with the position of the next page.
    #[serde(default)]
    metadata: PageMetadata,
    /// The objects; those of built-in kinds lack `apiVersion` and `kind`.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub items: Vec<Box<RawValue>>,
    /// The size of this page and of those before it, in bytes.
    #[serde(skip)]
    read: usize,
    /// The number of objects that was asked for.
    #[serde(skip)]
    limit: usize,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    next: String,
}

/// An API server of Kubernetes that is asked for metadata alone says null instead of an empty list.
fn null_as_empty<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<Box<RawValue>>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Server {
    /// Returns the page that follows `page`, or the first page; `None` after the last page.
    ///
    /// # Errors
    /// The errors of [`Server::get`], and [`Error::TooLarge`].
    pub async fn page(&self, what: &str, path: &str, page: Option<&Page>) -> Result<Option<Page>> {
        self.page_as(what, path, page, None).await
    }

    async fn page_as(
        &self,
        what: &str,
        path: &str,
        last: Option<&Page>,
        accept: Option<&'static str>,
    ) -> Result<Option<Page>> {
        let first = (limits::PAGE, "", 0);
        let (limit, next, read) = last.map_or(first, |last| (last.limit, &last.metadata.next, last.read));
        if last.is_some() && next.is_empty() {
            return Ok(None);
        }
        let (limit, text) = match self.page_text(what, path, next, limit, accept).await {
            // The next pages are small, too.
            Err(Error::TooLarge { .. }) if limit > limits::SMALL_PAGE => {
                (limits::SMALL_PAGE, self.page_text(what, path, next, limits::SMALL_PAGE, accept).await?)
            }
            text => (limit, text?),
        };
        let page: Page = self.parse(what, &text)?;
        let read = read + text.len();
        if read > limits::LIST {
            return Err(self.too_large(what, limits::LIST));
        }
        Ok(Some(Page { read, limit, ..page }))
    }

    async fn page_text(
        &self,
        what: &str,
        path: &str,
        next: &str,
        limit: usize,
        accept: Option<&'static str>,
    ) -> Result<Vec<u8>> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut path = format!("{path}{separator}limit={limit}");
        if !next.is_empty() {
            path.push_str("&continue=");
            path.push_str(&encode(next));
        }
        self.text(what, &path, Call { accept, ..Call::read() }).await
    }

    /// Returns all objects of a list that is known to be short.
    ///
    /// # Errors
    /// The errors of [`Server::page`].
    pub async fn list(&self, what: &str, path: &str) -> Result<Vec<Box<RawValue>>> {
        self.list_as(what, path, None).await
    }

    /// Returns the metadata of all objects of a list.
    ///
    /// # Errors
    /// The errors of [`Server::page`].
    pub async fn list_metadata(&self, what: &str, path: &str) -> Result<Vec<Value>> {
        let items = self.list_as(what, path, Some(METADATA_ONLY)).await?;
        items.iter().map(|item| self.parse(what, item.get().as_bytes())).collect()
    }

    async fn list_as(
        &self,
        what: &str,
        path: &str,
        accept: Option<&'static str>,
    ) -> Result<Vec<Box<RawValue>>> {
        let mut items = Vec::new();
        let mut last: Option<Page> = None;
        while let Some(mut page) = self.page_as(what, path, last.as_ref(), accept).await? {
            items.append(&mut page.items);
            last = Some(page);
        }
        Ok(items)
    }
}
