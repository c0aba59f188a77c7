//! `meta.k8s.io` Tables, which `kubectl get` requests.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use machinery::table;
use registry::{List, Served};
use serde_json::{Value, json};

use super::partial::{list_metadata, partial};

/// `includeObject`: what each row contains besides its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

impl Include {
    /// Parses the query parameter.
    ///
    /// # Errors
    /// 400 for any other value.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::None),
            other => {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::new(FieldErrorKind::Invalid, "includeObject", &other.into(), why);
                Err(Status::bad_request(format!("Unable to convert to Table as requested: {error}")))
            }
        }
    }
}

/// The columns of one resource, with compiled paths.
pub(crate) struct Table {
    version: &'static str,
    include: Include,
    /// `columnDefinitions` as JSON.
    heading: String,
    cells: Vec<Cell>,
}

enum Cell {
    Name,
    Computed(kinds::columns::Compute),
    Path(table::Column),
    /// The number at a JSON pointer; 0 if absent.
    Count(&'static str),
}

const NAME: &str =
    "Name must be unique within a namespace. It is set when the object is created and never changes.";
const AGE: &str = "When the object was created.";

impl Table {
    pub(crate) fn new(version: &'static str, served: &Served, include: Include) -> Self {
        if served.definition.built_in
            && let Some(columns) = kinds::columns(&served.definition.group, &served.definition.kind)
        {
            let shown = |one: &kinds::columns::Column| {
                heading(one.name, one.kind, one.format, one.description, one.priority)
            };
            let headings: Vec<String> = columns.iter().map(shown).collect();
            let cells = columns.into_iter().map(|one| Cell::Computed(one.cell)).collect();
            return Self { version, include, heading: heading_of(&headings), cells };
        }
        let columns = &served.version.columns;
        let mut headings = Vec::new();
        let mut cells = Vec::new();
        if columns.first().is_none_or(|column| column.format != "name") {
            headings.push(heading("Name", "string", "name", NAME, 0));
            cells.push(Cell::Name);
        }
        for column in columns {
            let Some(cell) = compile(&column.kind, &column.json_path) else { break };
            // Built-in kinds format their own ages and declare them as strings.
            let shown =
                if served.definition.built_in && column.kind == "date" { "string" } else { &column.kind };
            headings.push(heading(&column.name, shown, &column.format, &column.description, column.priority));
            cells.push(cell);
        }
        if columns.is_empty() {
            headings.push(heading("Age", "date", "", AGE, 0));
            cells.extend(compile("date", ".metadata.creationTimestamp"));
        }
        Self { version, include, heading: heading_of(&headings), cells }
    }

    /// Returns the columns of a Scale. Only those of custom resources declare the formats of name and age.
    pub(crate) fn of_scale(version: &'static str, built_in: bool, include: Include) -> Self {
        let (name, age) = if built_in { ("", "string") } else { ("name", "date") };
        let headings = [
            heading("Name", "string", name, NAME, 0),
            heading("Desired", "integer", "", "Number of desired replicas", 0),
            heading("Available", "integer", "", "Number of actual replicas", 0),
            heading("Age", age, "", AGE, 0),
        ];
        let mut cells = vec![Cell::Name, Cell::Count("/spec/replicas"), Cell::Count("/status/replicas")];
        cells.extend(compile("date", ".metadata.creationTimestamp"));
        Self { version, include, heading: heading_of(&headings), cells }
    }

    /// Returns a Table with one row.
    pub(crate) fn of_object(&self, object: &Bytes, now: DateTime<Utc>, with_heading: bool) -> Vec<Bytes> {
        let value: Value = machinery::decode::own(object).unwrap_or_default();
        let resource_version = json!({"resourceVersion": machinery::meta::resource_version(&value)});
        let mut pieces = vec![self.head(&resource_version.to_string(), with_heading)];
        self.row(object, &value, now, &mut pieces);
        pieces.push(Bytes::from_static(b"]}"));
        pieces
    }

    /// Returns a Table of one page of a list.
    pub(crate) fn of_list(&self, list: &List, now: DateTime<Utc>) -> Vec<Bytes> {
        let mut pieces = vec![self.head(&list_metadata(list), true)];
        for (at, item) in list.items.iter().enumerate() {
            if at > 0 {
                pieces.push(Bytes::from_static(b","));
            }
            let value: Value = machinery::decode::own(&item.object).unwrap_or_default();
            self.row(&item.object, &value, now, &mut pieces);
        }
        pieces.push(Bytes::from_static(b"]}\n"));
        pieces
    }

    fn head(&self, metadata: &str, with_heading: bool) -> Bytes {
        let heading = if with_heading { self.heading.as_str() } else { "null" };
        Bytes::from(format!(
            "{{\"kind\":\"Table\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"columnDefinitions\":{heading},\"rows\":[",
            self.version
        ))
    }

    fn row(&self, object: &Bytes, value: &Value, now: DateTime<Utc>, pieces: &mut Vec<Bytes>) {
        let cells = self.cells.iter().map(|cell| match cell {
            Cell::Name => machinery::meta::name(value).into(),
            Cell::Computed(compute) => compute(value, now),
            Cell::Path(column) => column.cell(value, now),
            Cell::Count(pointer) => value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default().into(),
        });
        let cells = Value::Array(cells.collect());
        pieces.push(Bytes::from(format!("{{\"cells\":{cells},\"object\":")));
        match self.include {
            Include::None => pieces.push(Bytes::from_static(b"null")),
            Include::Metadata => pieces.extend(partial(self.version, object)),
            Include::Object => pieces.push(object.clone()),
        }
        pieces.push(Bytes::from_static(b"}"));
    }
}

/// Compiles a column. The first column whose path is invalid ends the Table: it and all later ones are left
/// out.
fn compile(kind: &str, path: &str) -> Option<Cell> {
    table::Column::new(kind, path).ok().map(Cell::Path)
}

/// Returns a column definition as JSON, with its fields in the order of Go's struct.
fn heading(name: &str, kind: &str, format: &str, description: &str, priority: i64) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let [name, kind, format, description] = [name, kind, format, description].map(quoted);
    format!(
        "{{\"name\":{name},\"type\":{kind},\"format\":{format},\"description\":{description},\"priority\":{priority}}}"
    )
}

fn heading_of(columns: &[String]) -> String {
    format!("[{}]", columns.join(","))
}
