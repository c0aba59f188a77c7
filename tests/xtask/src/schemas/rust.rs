//! Generates Rust types from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context, bail};
use serde_json::Value;

use super::names;
use super::source::{Source, Type};

const HEAD: &str = "// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.\n\n";

/// Path and text of each generated file in `src/`.
pub fn files(source: &Source) -> anyhow::Result<Vec<(String, String)>> {
    let mut bodies: BTreeMap<(String, String), String> = BTreeMap::new();
    for (name, kind) in source.kinds.iter().filter(|(_, kind)| !kind["module"].is_null()) {
        let module = kind["module"].as_str().context("`module` must be text")?;
        let (module, file) = module.split_once('/').context("`module` must be MODULE/FILE")?;
        let body = bodies.entry((module.to_owned(), file.to_owned())).or_default();
        body.push_str(&root(source, kind).with_context(|| format!("in {name}"))?);
    }
    for named in source.types.values().filter(|named| named.schema["x-rust"].is_null()) {
        let body = bodies.entry((named.module.clone(), named.file.clone())).or_default();
        body.push_str(&structure(source, named).with_context(|| format!("in the type {}", named.name))?);
    }
    let mut modules: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, file) in bodies.keys() {
        modules.entry(module).or_default().insert(file);
    }
    let mut files = Vec::new();
    for (module, names) in modules {
        files.push((format!("{module}/mod.rs"), module_file(module, &names)));
    }
    for ((module, file), body) in bodies {
        let (body, uses) = shorten(source, &module, &file, body);
        let title = format!("//! Types of the API, `{module}`: {}.\n", file.replace('_', " "));
        files.push((
            format!("{module}/{file}.rs"),
            format!("{HEAD}{title}\n{}{uses}\n{body}", imports(&body)),
        ));
    }
    Ok(files)
}

fn imports(body: &str) -> String {
    let known = [
        ("BTreeMap<", "use std::collections::BTreeMap;\n\n"),
        ("IntOrString", "use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;\n"),
        ("ObjectMeta,", "use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;\n"),
        ("Serialize", "use serde::{Deserialize, Serialize};\n"),
        ("Value", "use serde_json::Value;\n"),
    ];
    let mut text = String::new();
    for (word, line) in known {
        let uses = match word {
            "Serialize" => body.contains("(Serialize,"),
            "Value" => body.contains(": Value") || body.contains("<Value>") || body.contains(", Value>"),
            _ => body.contains(word),
        };
        if uses {
            text.push_str(line);
        } else if word == "Serialize" {
            text.push_str("use serde::Deserialize;\n");
        }
    }
    text
}

/// Replaces the full paths of types by their names, and adds `use` lines for types of other files.
fn shorten(source: &Source, module: &str, file: &str, mut body: String) -> (String, String) {
    let mut paths = BTreeSet::new();
    for named in source.types.values() {
        let long = path(named);
        // A type of the prelude, for example `String`, is already written by its name.
        if !long.contains("::") {
            continue;
        }
        let place = format!(": {long},");
        let inside = format!("<{long}>");
        let value = format!(", {long}>");
        if [&place, &inside, &value].iter().all(|written| !body.contains(*written)) {
            continue;
        }
        body = body.replace(&place, &format!(": {},", named.name));
        body = body.replace(&inside, &format!("<{}>", named.name));
        body = body.replace(&value, &format!(", {}>", named.name));
        let here = named.schema["x-rust"].is_null() && named.module == module && named.file == file;
        if !here {
            paths.insert(long);
        }
    }
    let uses = paths.iter().map(|path| format!("use {path};\n")).collect();
    (body, uses)
}

fn module_file(module: &str, names: &BTreeSet<&str>) -> String {
    let mut text = format!("{HEAD}//! The types of `{module}`.\n\n");
    for name in names {
        if *name == module {
            let reason = "the group is named after its main kind";
            let _ = writeln!(text, "#[allow(clippy::module_inception, reason = \"{reason}\")]");
        }
        let _ = writeln!(text, "mod {name};");
    }
    for name in names {
        let _ = writeln!(text, "pub use {name}::*;");
    }
    text
}

/// The struct of a kind with its `kube::Resource` implementation.
fn root(source: &Source, kind: &Value) -> anyhow::Result<String> {
    let name = kind["names"]["kind"].as_str().context("`names.kind` is missing")?;
    let plural = kind["names"]["plural"].as_str().context("`names.plural` is missing")?;
    let group = kind["group"].as_str().context("`group` is missing")?;
    let version = kind["version"]["name"].as_str().context("`version.name` is missing")?;
    let scope = match kind["scope"].as_str() {
        Some("Namespaced") => "NamespaceResourceScope",
        Some("Cluster") => "ClusterResourceScope",
        other => bail!("`scope` is {other:?}"),
    };
    let mut text = documentation(kind["schema"]["description"].as_str().unwrap_or(name), "");
    text.push_str("#[derive(Deserialize, Clone, Debug, Default, PartialEq)]\n#[serde(default)]\n");
    let _ = writeln!(text, "pub struct {name} {{");
    text.push_str("/// Name, namespace, labels, owners and the rest that every object has.\n");
    text.push_str("pub metadata: ObjectMeta,\n");
    let mut parts = vec!["metadata".to_owned()];
    for part in ["spec", "status"] {
        let schema = &kind["schema"][part];
        if schema.is_null() {
            continue;
        }
        let reference = schema["$ref"].as_str().context("a part must be a reference")?;
        let named = source.named(reference)?;
        parts.push(if part == "spec" && is_never_empty(named) {
            "(spec)".to_owned()
        } else {
            part.to_owned()
        });
        let target = path(named);
        text.push_str(&documentation(describe(source, schema).as_str(), ""));
        let _ = match part {
            "status" => writeln!(text, "pub status: Option<{target}>,"),
            _ => writeln!(text, "pub {part}: {target},"),
        };
    }
    text.push_str("}\n\n");
    let parts = parts.join(", ");
    let _ = writeln!(
        text,
        "crate::kind!({name}, \"{group}\", \"{version}\", \"{plural}\", {scope}, [{parts}]);\n"
    );
    if let Some(status) = kind["schema"]["status"]["$ref"].as_str()
        && source.named(status)?.schema["properties"]["conditions"]["items"]["$ref"] == "Condition"
    {
        let _ = writeln!(text, "crate::has_conditions!({name});\n");
    }
    Ok(text)
}

/// The struct of a named type.
fn structure(source: &Source, named: &Type) -> anyhow::Result<String> {
    let schema = &named.schema;
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = documentation(schema["description"].as_str().unwrap_or(&named.name), "");
    text.push_str("#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]\n#[serde(default)]\n");
    let _ = writeln!(text, "pub struct {} {{", named.name);
    let properties = schema["properties"].as_object().context("a type must have `properties`")?;
    for (json, property) in properties {
        let name = names::field(json);
        let field = field_type(source, property).with_context(|| format!("in {json}"))?;
        text.push_str(&documentation(&describe(source, property), &name));
        let mut attributes = Vec::new();
        if name != *json {
            attributes.push(format!("rename = \"{json}\""));
        }
        let required = required.contains(&json.as_str());
        let (field, skip) = field.when(required);
        attributes.extend(skip.map(|skip| format!("skip_serializing_if = \"{skip}\"")));
        if !attributes.is_empty() {
            let _ = writeln!(text, "#[serde({})]", attributes.join(", "));
        }
        let _ = writeln!(text, "pub {name}: {field},");
    }
    text.push_str("}\n\n");
    Ok(text)
}

/// A field's Rust type, by the way in which an absent value is represented.
enum Field {
    /// A scalar or a struct.
    Plain(String),
    /// A struct that must have a field where it is written.
    NeverEmpty(String),
    /// A list.
    List(String),
    /// A list where an empty list has another meaning than an absent one.
    ListOrNone(String),
    /// A map.
    Map(String),
}

impl Field {
    /// The complete type, and the function that decides whether the field is omitted.
    fn when(self, required: bool) -> (String, Option<&'static str>) {
        match (self, required) {
            (
                Self::Plain(name)
                | Self::NeverEmpty(name)
                | Self::List(name)
                | Self::ListOrNone(name)
                | Self::Map(name),
                true,
            ) => (name, None),
            (Self::NeverEmpty(name), false) => {
                (format!("Option<{name}>"), Some("crate::empty::is_none_or_empty"))
            }
            (Self::Plain(name) | Self::ListOrNone(name), false) => {
                (format!("Option<{name}>"), Some("Option::is_none"))
            }
            (Self::List(name), false) => (name, Some("Vec::is_empty")),
            (Self::Map(name), false) => (name, Some("BTreeMap::is_empty")),
        }
    }

    fn name(self) -> String {
        self.when(true).0
    }
}

fn field_type(source: &Source, schema: &Value) -> anyhow::Result<Field> {
    if let Some(name) = schema["$ref"].as_str() {
        let named = source.named(name)?;
        let form = if is_never_empty(named) { Field::NeverEmpty } else { Field::Plain };
        return Ok(form(path(named)));
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return Ok(Field::Plain("IntOrString".to_owned()));
    }
    Ok(match (schema["type"].as_str(), schema["format"].as_str()) {
        (Some("string"), _) => Field::Plain("String".to_owned()),
        (Some("boolean"), _) => Field::Plain("bool".to_owned()),
        (Some("integer"), Some("int32")) => Field::Plain("i32".to_owned()),
        (Some("integer"), _) => Field::Plain("i64".to_owned()),
        (Some("number"), _) => Field::Plain("f64".to_owned()),
        (Some("array"), _) => {
            let list = format!("Vec<{}>", field_type(source, &schema["items"])?.name());
            // `minItems: 0` or `nullable` is set only where an empty list differs from an absent one.
            if schema["minItems"] == 0 || schema["nullable"] == true {
                Field::ListOrNone(list)
            } else {
                Field::List(list)
            }
        }
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            let value = field_type(source, &schema["additionalProperties"])?.name();
            Field::Map(format!("BTreeMap<String, {value}>"))
        }
        (Some("object") | None, _) if schema["x-kubernetes-preserve-unknown-fields"] == true => {
            Field::Plain("Value".to_owned())
        }
        (kind, _) => bail!("no Rust type for type {kind:?}: an object must be a reference"),
    })
}

/// Returns whether a server refuses an object of the type that has no fields.
fn is_never_empty(named: &Type) -> bool {
    named.schema["minProperties"].as_u64().is_some_and(|fields| fields > 0)
}

/// The path of a type in generated code.
fn path(named: &Type) -> String {
    match named.schema["x-rust"].as_str() {
        Some(path) => path.to_owned(),
        None => format!("crate::{}::{}", named.module, named.name),
    }
}

/// The description of the field, or else that of its type.
fn describe(source: &Source, schema: &Value) -> String {
    let own = schema["description"].as_str();
    let named = schema["$ref"].as_str().and_then(|name| source.types.get(name));
    let inherited = named.and_then(|named| named.schema["description"].as_str());
    own.or(inherited).unwrap_or_default().to_owned()
}

/// A doc comment, wrapped to lines.
fn documentation(text: &str, instead: &str) -> String {
    let text = if text.is_empty() { format!("`{instead}`") } else { text.to_owned() };
    let mut lines = String::new();
    let mut line = String::from("///");
    // Unescaped brackets would be links.
    for word in text.replace('[', "\\[").replace(']', "\\]").split_whitespace() {
        if line.len() + 1 + word.len() > 104 {
            let _ = writeln!(lines, "{line}");
            line = String::from("///");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(lines, "{line}");
    lines
}
