//! Key generation, which may block the thread.

use engine::Manager;
use pki::{Identity, KeyAlgorithm};

use crate::certificates::{Purpose, Recipe};
use crate::error::{Error, Result};

/// Creates the content of the Secret of `purpose`. RSA keys take up to seconds and are generated on a
/// blocking thread; ECDSA keys are generated at once, so that the simulation stays in one thread.
pub(crate) async fn make(recipe: Recipe, purpose: Purpose, manager: &Manager) -> Result<Identity> {
    let (now, random) = (manager.clock().now(), manager.random().clone());
    match recipe.algorithm {
        KeyAlgorithm::EcdsaP256 | KeyAlgorithm::EcdsaP384 => recipe.make(purpose, now, &random),
        _ => {
            let made = tokio::task::spawn_blocking(move || recipe.make(purpose, now, &random)).await;
            made.unwrap_or_else(|error| Err(Error::Bootstrap(format!("the key was not made: {error}"))))
        }
    }
}
