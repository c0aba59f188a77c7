//! Files and users of a KubeadmConfig, with what comes from Secrets and templates filled in. Pure functions.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemas::bootstrap::{File as FileSpec, User};
use serde_json::json;
use templates::Template;

use super::inputs::Inputs;
use crate::error::{Error, Result};
use crate::host::File;

/// The largest file, in bytes, that a template may render to.
pub const MAX_FILE: usize = 1 << 20;

fn secret<'a>(inputs: &'a Inputs<'_>, name: &str, key: &str) -> Result<&'a [u8]> {
    let value = inputs.secrets.get(&(name.to_owned(), key.to_owned()));
    value
        .map(Vec::as_slice)
        .ok_or_else(|| Error::Bootstrap(format!("Secret {name} does not exist or has no key {key}")))
}

/// Returns a file of the spec.
///
/// # Errors
/// Names the file and what is wrong with its content.
pub fn user_file(spec: &FileSpec, inputs: &Inputs<'_>) -> Result<File> {
    let mut encoding = spec.encoding.clone().unwrap_or_default();
    let mut content = spec.content.clone().unwrap_or_default();
    if let Some(source) = &spec.content_from {
        let bytes = secret(inputs, &source.secret.name, &source.secret.key)?;
        content = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if encoding.is_empty() => {
                encoding = "base64".to_owned();
                STANDARD.encode(bytes)
            }
            Err(_) => {
                return Err(Error::Bootstrap(format!(
                    "file {}: the content is not text, although its encoding is {encoding}",
                    spec.path
                )));
            }
        };
    }
    if spec.content_format.as_deref() == Some("Template") {
        content = rendered(&content, inputs)
            .map_err(|why| Error::Bootstrap(format!("file {}: {why}", spec.path)))?;
    }
    Ok(File {
        path: spec.path.clone(),
        owner: spec.owner.clone().unwrap_or_default(),
        permissions: spec.permissions.clone().unwrap_or_default(),
        encoding,
        append: spec.append == Some(true),
        content,
    })
}

fn rendered(content: &str, inputs: &Inputs<'_>) -> Result<String, String> {
    let variables = match inputs.control_plane_version {
        Some(version) => json!({ "controlPlane": { "version": version } }),
        None => json!({}),
    };
    let template = Template::parse_file(content).map_err(|error| error.to_string())?;
    let text = template.render(&variables).map_err(|error| error.to_string())?;
    if text.len() > MAX_FILE {
        return Err(format!("it becomes longer than {MAX_FILE} bytes"));
    }
    Ok(text)
}

/// Returns a user of the spec with its password.
///
/// # Errors
/// Names the user and the Secret.
pub fn resolved_user(user: &User, inputs: &Inputs<'_>) -> Result<User> {
    let mut user = user.clone();
    if let Some(source) = user.passwd_from.take() {
        let bytes = secret(inputs, &source.secret.name, &source.secret.key)?;
        let text = std::str::from_utf8(bytes).map_err(|_| {
            Error::Bootstrap(format!(
                "user {}: the password in Secret {} is not text",
                user.name, source.secret.name
            ))
        })?;
        user.passwd = Some(text.trim_end_matches('\n').to_owned());
    }
    Ok(user)
}
