//! The schema of one version in a CustomResourceDefinition.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use apiextensions::CompiledSchema;
use machinery::schema::SchemaError;
use serde_json::Value;

/// A schema that is compiled when it is needed: in many servers no client ever uses the versions that are not stored.
#[derive(Debug, Default)]
pub struct WrittenSchema {
    text: Arc<str>,
    compiled: OnceLock<CompiledSchema>,
}

impl WrittenSchema {
    /// Compiles a schema now.
    ///
    /// # Errors
    /// It is not a schema.
    pub(crate) fn now(source: &Value) -> Result<Self, SchemaError> {
        let compiled = OnceLock::from(CompiledSchema::parse(source)?);
        Ok(Self { text: Arc::default(), compiled })
    }

    /// Compiles a schema at its first use. Definitions are validated before they are stored, so it can be compiled; one that cannot
    /// declares no fields.
    pub(crate) fn later(text: Arc<str>) -> Self {
        Self { text, compiled: OnceLock::new() }
    }
}

impl Deref for WrittenSchema {
    type Target = CompiledSchema;

    fn deref(&self) -> &CompiledSchema {
        self.compiled.get_or_init(|| {
            let source: Value = serde_json::from_str(&self.text).unwrap_or_default();
            CompiledSchema::parse(&source).unwrap_or_default()
        })
    }
}
