//! RSA key generation, which ring lacks.

use ::rsa::pkcs8::EncodePrivateKey;
use ::rsa::rand_core::{CryptoRng, Error as RandomError, RngCore};
use machinery::random::Random;

use crate::key::PrivateKey;

/// Adapts [`Random`] (a ChaCha generator seeded by the operating system) to the trait that the `rsa` crate
/// needs.
struct Source<'a>(&'a Random);

impl RngCore for Source<'_> {
    fn next_u32(&mut self) -> u32 {
        (self.0.number() >> 32) as u32
    }

    fn next_u64(&mut self) -> u64 {
        self.0.number()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), RandomError> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl CryptoRng for Source<'_> {}

/// Generates an RSA key of `bits` bits.
pub(crate) fn generate(bits: usize, random: &Random) -> Result<PrivateKey, String> {
    let key = ::rsa::RsaPrivateKey::new(&mut Source(random), bits).map_err(|error| error.to_string())?;
    let der = key.to_pkcs8_der().map_err(|error| error.to_string())?;
    PrivateKey::from_pkcs8(der.as_bytes()).map_err(|error| error.to_string())
}
