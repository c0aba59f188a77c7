//! The source of randomness. All code that needs random numbers receives a [`Random`], so that tests and the simulation
//! control it.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, RngCore, SeedableRng};

/// A shared source of random numbers, seeded by the operating system or by the simulation.
#[derive(Clone)]
pub struct Random(Arc<Mutex<StdRng>>);

/// The alphabet of generated name suffixes, which is that of Kubernetes: no vowels and no similar characters.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// The digits of a uid.
const HEX: &[u8; 16] = b"0123456789abcdef";

/// Returns whether a text is what [`Random::name_suffix`] could have given.
pub fn is_name_suffix(text: &str) -> bool {
    text.len() == 5 && text.bytes().all(|byte| NAME_ALPHABET.contains(&byte))
}

impl Random {
    /// Returns a source that the operating system seeds.
    pub fn system() -> Self {
        Self(Arc::new(Mutex::new(StdRng::from_os_rng())))
    }

    /// Returns a source whose numbers are determined by `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    fn with<T>(&self, draw: impl FnOnce(&mut StdRng) -> T) -> T {
        draw(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the five characters of a generated name suffix.
    pub fn name_suffix(&self) -> String {
        self.characters(NAME_ALPHABET, 5)
    }

    /// Returns `length` characters from `alphabet`.
    pub fn characters(&self, alphabet: &[u8], length: usize) -> String {
        self.with(|rng| {
            (0..length).map(|_| char::from(alphabet[rng.random_range(0..alphabet.len())])).collect()
        })
    }

    /// Returns a version 4 UUID as text.
    pub fn uid(&self) -> String {
        let mut bytes = [0u8; 16];
        self.fill(&mut bytes);
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let mut text = String::with_capacity(36);
        for (index, byte) in bytes.into_iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.extend([byte >> 4, byte & 0x0f].map(|digit| char::from(HEX[usize::from(digit)])));
        }
        text
    }

    /// Fills `bytes` with random bytes.
    pub fn fill(&self, bytes: &mut [u8]) {
        self.with(|rng| rng.fill_bytes(bytes));
    }

    /// Returns a random 64-bit number.
    pub fn number(&self) -> u64 {
        self.with(RngCore::next_u64)
    }

    /// Returns a random number in `0.0..1.0`.
    pub fn fraction(&self) -> f64 {
        self.with(|rng| rng.random::<f64>())
    }
}
