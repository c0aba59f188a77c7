//! The dependencies of clients on the outside.

use std::sync::Arc;

use machinery::random::Random;

use crate::network::{Network, Sockets};

/// The doors to the outside.
#[derive(Clone)]
pub struct Doors {
    /// The network.
    pub network: Arc<dyn Network>,
    /// The source of random numbers for the keys of IPMI sessions.
    pub random: Random,
}

impl Doors {
    /// Returns the sockets and the randomness of this machine.
    pub fn system() -> Self {
        Self { network: Arc::new(Sockets), random: Random::system() }
    }
}
