//! Serves the files of bundles to the server that takes over the services. It proves by a password that it has the key of the site's authority,
//! because bundles have manifests with passwords of BMCs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{Response, StatusCode};

use super::file::{self, Body};
use crate::fingerprint::fingerprint;

/// The first segment of the path of a bundle.
pub const FOLDER: &str = "bundles";

/// The files of bundles by name.
#[derive(Clone)]
pub struct BundleFiles {
    /// The fingerprint of the password, so that a comparison says nothing about the password itself.
    password: String,
    files: BTreeMap<String, PathBuf>,
}

impl BundleFiles {
    /// Returns the service of `files` for clients with the bearer token `password`.
    pub fn new(password: String, files: &[PathBuf]) -> Self {
        let named = |path: &PathBuf| Some((name_of(path)?, path.clone()));
        Self { password: fingerprint(password.as_bytes()), files: files.iter().filter_map(named).collect() }
    }

    /// Returns the answer to a request for the file `name`.
    pub(super) async fn answer(&self, name: &str, asked: &Parts) -> Response<Body> {
        let given = asked.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
        if fingerprint(given.as_bytes()) != self.password {
            return file::text(
                StatusCode::UNAUTHORIZED,
                "a bundle is given only to the server that takes over\n",
            );
        }
        match self.files.get(name) {
            Some(path) => file::answer(path, &asked.method, &asked.headers).await,
            None => file::not_found(),
        }
    }
}

/// Returns the name under which the file of a bundle is served: the last part of its path.
pub fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}
