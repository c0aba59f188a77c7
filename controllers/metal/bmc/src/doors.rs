//! What clients reach the outside through.

use std::sync::Arc;

use machinery::random::Random;

use crate::network::{Network, Sockets};

/// The doors to the outside.
#[derive(Clone)]
pub struct Doors {
    /// Sockets.
    pub network: Arc<dyn Network>,
    /// Random numbers, for the keys of IPMI's sessions.
    pub random: Random,
}

impl Doors {
    /// Those of this machine.
    pub fn system() -> Self {
        Self { network: Arc::new(Sockets), random: Random::system() }
    }
}
