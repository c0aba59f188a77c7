//! The door to randomness. Everything that draws a random number is given a [`Random`].

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// A shared source of random numbers: seeded from the operating system, or by the simulation.
#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

/// The alphabet of generated name suffixes, as Kubernetes draws them (no vowels, no look-alikes).
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Random {
    /// Seeded from the operating system.
    pub fn system() -> Self {
        Self(Arc::new(Mutex::new(StdRng::from_os_rng())))
    }

    /// Reproducible from `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    fn with<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Five characters for a generated name.
    pub fn name_suffix(&self) -> String {
        self.characters(NAME_ALPHABET, 5)
    }

    /// `length` characters drawn from `alphabet`.
    pub fn characters(&self, alphabet: &[u8], length: usize) -> String {
        self.with(|rng| {
            (0..length).map(|_| char::from(alphabet[rng.random_range(0..alphabet.len())])).collect()
        })
    }

    /// A version 4 UUID in its text form.
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        self.fill(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Fills `bytes`.
    pub fn fill(&self, bytes: &mut [u8]) {
        self.with(|rng| rng.fill_bytes(bytes));
    }

    /// A 64-bit number.
    pub fn number(&self) -> u64 {
        self.with(RngCore::next_u64)
    }

    /// A number in `0.0..1.0`.
    pub fn fraction(&self) -> f64 {
        self.with(|rng| rng.random::<f64>())
    }
}
