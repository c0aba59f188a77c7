//! Templates of classes and of names: Go's `text/template` with sprig's functions, as Cluster API's patches and naming strategies use them.
//!
//! [`Template::parse`] finds what admission refuses, and [`Template::render`] what fails with some variables. The outputs are those of upstream, which the tests compare with
//! recordings. A template is a stranger's program, so its work is limited ([`limits`]), it reads nothing but its variables, and the same variables give the same text.
//!
//! ```text
//! execution (variables, calls) → syntax (tokens, tree) → functions (Go's and sprig's) → format (Go's fmt, JSON) → values (Go's types, the work)
//! ```

mod error;
mod execution;
mod format;
mod functions;
pub mod limits;
mod syntax;
mod values;

pub use error::Error;

use execution::MissingKey;
use syntax::Templates;

/// Returns the names of the functions that the templates of patches have; those that Go and sprig both define come twice.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    functions::names()
}

/// A template that has been parsed. It can be rendered by several threads.
#[derive(Debug)]
pub struct Template {
    templates: Templates,
    missing: MissingKey,
}

impl Template {
    /// Parses a template with sprig's functions, as `enabledIf` and `valueFrom.template` of a class's patches have it.
    ///
    /// # Errors
    /// [`Error::Syntax`] if the text is no template, or names a function or variable that does not exist.
    pub fn parse(text: &str) -> Result<Template, Error> {
        Template::with(text, functions::find, MissingKey::NoValue)
    }

    /// Parses the template of a name, as naming strategies have it: it has only the functions of Go's `text/template`, and a key that does not exist is an error.
    ///
    /// # Errors
    /// Those of [`Template::parse`].
    pub fn parse_name(text: &str) -> Result<Template, Error> {
        Template::with(text, functions::find_builtin, MissingKey::Error)
    }

    /// Parses the template of a file, as KubeadmConfigs have it (`contentFormat: Template`): it has only the functions of Go's `text/template`, and a key that does not
    /// exist gives no value, so that `{{ if .controlPlane }}` asks for it.
    ///
    /// # Errors
    /// Those of [`Template::parse`].
    pub fn parse_file(text: &str) -> Result<Template, Error> {
        Template::with(text, functions::find_builtin, MissingKey::NoValue)
    }

    fn with(text: &str, lookup: syntax::parser::Lookup, missing: MissingKey) -> Result<Template, Error> {
        let templates = syntax::parser::parse(text, lookup)
            .map_err(|wrong| Error::Syntax { line: wrong.line, message: wrong.message })?;
        Ok(Template { templates, missing })
    }

    /// Renders the template. The variables are the dot, usually an object; each number is a float, as in Go.
    ///
    /// # Errors
    /// [`Error::Rendering`] if the template fails with these variables, [`Error::Limit`] if it makes too much work.
    pub fn render(&self, variables: &serde_json::Value) -> Result<String, Error> {
        let mut steps = limits::STEPS_MAX;
        self.render_within(variables, &mut steps)
    }

    /// Like [`Template::render`], for many templates that share a bound: the steps that this rendering makes are taken off `steps`, and it fails when none are left.
    ///
    /// # Errors
    /// Those of [`Template::render`].
    pub fn render_within(&self, variables: &serde_json::Value, steps: &mut u64) -> Result<String, Error> {
        let output = execution::render(&self.templates, self.missing, variables, steps)?;
        String::from_utf8(output)
            .map_err(|_| Error::Rendering { line: 1, message: "the rendered text is not UTF-8".to_owned() })
    }
}
