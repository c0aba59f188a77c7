//! Mirrors and authorities of registries, in containerd's form: `FOLDER/REGISTRY/hosts.toml`, or `FOLDER/_default/hosts.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A place from which the images of a registry come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address up to `/v2`.
    pub base: String,
    /// The name of the registry, if this is a mirror of it.
    pub mirrors: Option<String>,
    /// Whether it may say which image a tag means.
    pub resolves: bool,
    /// Whether manifests and blobs come from it.
    pub pulls: bool,
    /// Files with certificates of further authorities.
    pub authorities: Vec<PathBuf>,
}

/// The folder with the configuration of registries.
#[derive(Debug, Clone, Default)]
pub struct Hosts(Option<PathBuf>);

#[derive(Deserialize)]
struct File {
    server: Option<String>,
    #[serde(default)]
    host: BTreeMap<toml::Spanned<String>, Host>,
    /// The registry itself.
    #[serde(flatten)]
    own: Host,
}

#[derive(Deserialize)]
struct Host {
    capabilities: Option<Vec<String>>,
    ca: Option<Files>,
    #[serde(default)]
    skip_verify: bool,
    #[serde(default)]
    override_path: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Files {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

impl Hosts {
    /// Returns the configuration in a folder; `None` for no mirrors at all.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// Returns the endpoints of a registry in the order in which they are asked: its mirrors, and then the registry itself.
    ///
    /// # Errors
    /// The file of the registry cannot be read, or has another form.
    pub fn endpoints(&self, registry: &str) -> Result<Vec<Endpoint>> {
        let Some((path, text)) = self.file(registry)? else { return Ok(vec![Endpoint::of(registry)]) };
        parse(&text, registry, path.parent().unwrap_or(Path::new("")))
            .with_context(|| path.display().to_string())
    }

    fn file(&self, registry: &str) -> Result<Option<(PathBuf, String)>> {
        // containerd also takes the form without a colon, which not every disk has in names.
        let plain = registry.rsplit_once(':').map(|(host, port)| format!("{host}_{port}_"));
        let names = [Some(registry.to_owned()), plain, Some("_default".to_owned())];
        for name in names.into_iter().flatten() {
            let Some(folder) = &self.0 else { return Ok(None) };
            let path = folder.join(name).join("hosts.toml");
            match std::fs::read_to_string(&path) {
                Ok(text) => return Ok(Some((path, text))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
            }
        }
        Ok(None)
    }
}

impl Endpoint {
    /// The registry itself. On this machine it is asked without TLS, as other clients do.
    fn of(registry: &str) -> Self {
        let host = match registry {
            "docker.io" => "registry-1.docker.io",
            other => other,
        };
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_here = name == "localhost" || name.starts_with("127.") || name == "[::1]";
        let scheme = if is_here { "http" } else { "https" };
        Self {
            base: format!("{scheme}://{host}/v2"),
            mirrors: None,
            resolves: true,
            pulls: true,
            authorities: Vec::new(),
        }
    }
}

fn parse(text: &str, registry: &str, folder: &Path) -> Result<Vec<Endpoint>> {
    let file: File = toml::from_str(text)?;
    // The mirrors are asked in the order of the file.
    let mut mirrors: Vec<(usize, &str, &Host)> =
        file.host.iter().map(|(url, host)| (url.span().start, url.get_ref().as_str(), host)).collect();
    mirrors.sort_by_key(|(place, ..)| *place);
    let mut endpoints = Vec::new();
    for (_, url, host) in mirrors {
        let mut endpoint = host.endpoint(url, folder)?;
        endpoint.mirrors = Some(registry.to_owned());
        endpoints.push(endpoint);
    }
    endpoints.push(match &file.server {
        Some(url) => file.own.endpoint(url, folder)?,
        None => Endpoint { authorities: file.own.authorities(folder), ..Endpoint::of(registry) },
    });
    Ok(endpoints)
}

impl Host {
    fn endpoint(&self, url: &str, folder: &Path) -> Result<Endpoint> {
        ensure!(!self.skip_verify, "{url}: skip_verify is not supported; name the authority with ca");
        let url = url.trim_end_matches('/');
        let with_scheme = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
        ensure!(
            with_scheme.starts_with("https://") || with_scheme.starts_with("http://"),
            "{url}: only https and http are supported"
        );
        let base = if self.override_path || with_scheme.ends_with("/v2") {
            with_scheme
        } else {
            format!("{with_scheme}/v2")
        };
        let can = |what: &str| {
            self.capabilities.as_ref().is_none_or(|all| all.iter().any(|capability| capability == what))
        };
        Ok(Endpoint {
            base,
            mirrors: None,
            resolves: can("resolve"),
            pulls: can("pull"),
            authorities: self.authorities(folder),
        })
    }

    fn authorities(&self, folder: &Path) -> Vec<PathBuf> {
        let files = match &self.ca {
            None => &[][..],
            Some(Files::One(file)) => std::slice::from_ref(file),
            Some(Files::Several(files)) => files,
        };
        files.iter().map(|file| folder.join(file)).collect()
    }
}
