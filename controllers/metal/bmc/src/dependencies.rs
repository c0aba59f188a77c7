//! The dependencies of clients on the outside.

use std::net::SocketAddr;
use std::sync::Arc;

use machinery::random::Random;

use crate::network::{Network, Sockets};

/// What clients need of the outside.
#[derive(Clone)]
pub struct Dependencies {
    /// The network.
    pub network: Arc<dyn Network>,
    /// The source of random numbers for the keys of IPMI sessions.
    pub random: Random,
}

impl Dependencies {
    /// Returns the sockets and the randomness of this machine. Controllers may also be at the addresses `here`, which are its own.
    pub fn system(here: Vec<SocketAddr>) -> Self {
        Self { network: Arc::new(Sockets::new(here)), random: Random::system() }
    }
}
