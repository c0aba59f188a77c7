//! The form in which objects are returned: plain, as a Table, or only their metadata.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use machinery::splice;
use machinery::status::Status;
use registry::{List, Served};

use super::negotiate::Convert;
use super::partial::{list_metadata, partial, sorted_list_metadata};
use super::table::{Include, Table};

/// The form of the objects of one request.
pub(crate) enum Form {
    Plain,
    Partial(&'static str),
    Table(Box<Table>),
    /// A form that cannot be produced; a watch ends at its first event.
    Nothing,
}

impl Form {
    /// Returns the form for the events of a watch.
    ///
    /// # Errors
    /// 400 for an invalid `includeObject`.
    pub(crate) fn of_event(convert: Option<Convert>, served: &Served, include: &str) -> Result<Self, Status> {
        match convert {
            Some(Convert::PartialObjectMetadataList(_)) => Ok(Self::Nothing),
            other => Self::of_object(other, served, include),
        }
    }

    /// Returns the form for single objects (also in watch events).
    ///
    /// # Errors
    /// 400 for an invalid `includeObject`; 406 (built-in kinds) or 500 (custom kinds) if a list kind is
    /// requested.
    pub(crate) fn of_object(
        convert: Option<Convert>,
        served: &Served,
        include: &str,
    ) -> Result<Self, Status> {
        Ok(match convert {
            None => Self::Plain,
            Some(Convert::PartialObjectMetadata(version)) => Self::Partial(version),
            Some(Convert::PartialObjectMetadataList(_)) if served.definition.built_in => {
                return Err(not_a_list(served));
            }
            Some(Convert::PartialObjectMetadataList(_)) => {
                return Err(Status::new(500, "", "content is not a list"));
            }
            Some(Convert::Table(version)) => Self::table(version, served, include)?,
        })
    }

    /// Returns the form for lists.
    ///
    /// # Errors
    /// 400 for an invalid `includeObject`, 406 if the kind of a single object is requested.
    pub(crate) fn of_list(convert: Option<Convert>, served: &Served, include: &str) -> Result<Self, Status> {
        Ok(match convert {
            None => Self::Plain,
            Some(Convert::PartialObjectMetadataList(version)) => Self::Partial(version),
            Some(Convert::PartialObjectMetadata(_)) => {
                let list = if served.definition.built_in {
                    format!("*core.{}", served.definition.list_kind)
                } else {
                    "*unstructured.UnstructuredList".to_owned()
                };
                return Err(Status::not_acceptable(format!(
                    "you requested PartialObjectMetadata, but the requested object is a list ({list})"
                )));
            }
            Some(Convert::Table(version)) => Self::table(version, served, include)?,
        })
    }

    /// Returns the Table of a Scale.
    ///
    /// # Errors
    /// 400 for an invalid `includeObject`.
    pub(crate) fn of_scale(version: &'static str, served: &Served, include: &str) -> Result<Self, Status> {
        let built_in = served.definition.built_in;
        Ok(Self::Table(Box::new(Table::of_scale(version, built_in, Include::parse(include)?))))
    }

    fn table(version: &'static str, served: &Served, include: &str) -> Result<Self, Status> {
        Ok(Self::Table(Box::new(Table::new(version, served, Include::parse(include)?))))
    }

    /// Converts one object.
    pub(crate) fn object(&self, object: &Bytes, now: DateTime<Utc>) -> Vec<Bytes> {
        match self {
            Self::Plain | Self::Nothing => vec![object.clone()],
            Self::Partial(version) => partial(version, object),
            Self::Table(table) => table.of_object(object, now, true),
        }
    }

    /// Converts the object of a watch event; a Table has column definitions in the `first` event only.
    pub(crate) fn event(&self, object: &Bytes, now: DateTime<Utc>, first: bool) -> Vec<Bytes> {
        match self {
            Self::Table(table) => table.of_object(object, now, first),
            _ => self.object(object, now),
        }
    }

    /// Converts a page of a list.
    pub(crate) fn list(&self, list: &List, served: &Served, now: DateTime<Utc>) -> Vec<Bytes> {
        match self {
            Self::Plain | Self::Nothing => plain_list(list, served),
            Self::Partial(version) => {
                let head = list_head("PartialObjectMetadataList", version, list);
                let items = list.items.iter().map(|item| partial(version, &item.object));
                join(head, items, END.to_owned())
            }
            Self::Table(table) => table.of_list(list, now),
        }
    }
}

/// Returns 406 for a request for list metadata of a single object of a built-in kind.
pub(crate) fn not_a_list(served: &Served) -> Status {
    let group = served.definition.group.split('.').next().filter(|group| !group.is_empty());
    let (package, kind) = (group.unwrap_or("core"), &served.definition.kind);
    Status::not_acceptable(format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list (*{package}.{kind})"
    ))
}

/// Returns a plain list. Items of custom kinds have kind and apiVersion, those of built-in kinds do not.
fn plain_list(list: &List, served: &Served) -> Vec<Bytes> {
    let definition = &served.definition;
    let built_in = definition.built_in;
    let (kind, api_version) = (&definition.list_kind, served.api_version());
    if !built_in {
        // A map in Go, whose keys are sorted.
        let head = format!("{{\"apiVersion\":\"{api_version}\",\"items\":[");
        let metadata = sorted_list_metadata(list);
        let tail = format!("],\"kind\":\"{kind}\",\"metadata\":{metadata}}}\n");
        return join(head, list.items.iter().map(|item| vec![item.object.clone()]), tail);
    }
    let items = list.items.iter().map(|item| {
        let mut pieces = Vec::with_capacity(4);
        splice::without_type(&item.object, &mut pieces);
        pieces
    });
    join(list_head(kind, &api_version, list), items, END.to_owned())
}

/// The end of a list in which the items come last.
const END: &str = "]}\n";

fn list_head(kind: &str, api_version: &str, list: &List) -> String {
    let metadata = list_metadata(list);
    format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":[")
}

fn join(head: String, items: impl Iterator<Item = Vec<Bytes>>, tail: String) -> Vec<Bytes> {
    let mut pieces = vec![Bytes::from(head)];
    for (at, item) in items.enumerate() {
        if at > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.extend(item);
    }
    pieces.push(Bytes::from(tail));
    pieces
}
