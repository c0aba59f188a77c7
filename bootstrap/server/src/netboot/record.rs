//! The record of the services in the data directory of a running server, from which a cluster takes them over.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::options::NetbootOptions;

/// The services of a running server that boot machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BareMetal {
    /// The arguments of the same services elsewhere, without bundles.
    pub arguments: Vec<String>,
    /// The URL of the services at the address that moves with them.
    pub server: Option<String>,
    /// The files of the bundles that the server serves.
    pub bundles: Vec<PathBuf>,
    /// The folder of images that are in no bundle.
    pub images: Option<PathBuf>,
}

impl BareMetal {
    /// Returns the services that `options` start; `None` if there are none.
    pub fn of(options: &NetbootOptions) -> Option<Self> {
        (!options.interfaces.is_empty()).then(|| Self {
            arguments: options.arguments(),
            server: options.address.map(|known| format!("https://{}:{}", known.address, options.https_port)),
            bundles: options.bundles.clone(),
            images: options.images.clone(),
        })
    }

    /// Returns what stays at the server, for people: a line for each thing.
    pub fn left_behind(&self) -> Vec<String> {
        let images = self.images.iter();
        images.map(|path| format!("the images in {}, which no bundle has", path.display())).collect()
    }
}
