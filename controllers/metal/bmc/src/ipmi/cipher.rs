//! Cipher suites 3 and 17: the integrity and encryption of a session's packets (IPMI 2.0, sections 13.28 to 13.32 and 22.15.2).

use aes::Aes128;
use aes::cipher::{Block, BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use ring::hmac;

/// The length in bytes of a block, and of the encryption key.
pub const BLOCK: usize = 16;

/// A cipher suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// 17: HMAC-SHA256, HMAC-SHA256-128, AES-CBC-128.
    Sha256,
    /// 3: HMAC-SHA1, HMAC-SHA1-96, AES-CBC-128. Every controller supports it.
    Sha1,
}

impl Suite {
    /// Returns IPMI's numbers of the algorithms: authentication, integrity, confidentiality.
    pub(crate) fn algorithms(self) -> [u8; 3] {
        match self {
            Self::Sha256 => [3, 4, 1],
            Self::Sha1 => [1, 1, 1],
        }
    }

    /// Returns the suite with these algorithms.
    pub(crate) fn of(algorithms: [u8; 3]) -> Option<Self> {
        [Self::Sha256, Self::Sha1].into_iter().find(|suite| suite.algorithms() == algorithms)
    }

    /// Returns the length of a packet's integrity code in bytes.
    pub fn signature_length(self) -> usize {
        match self {
            Self::Sha256 => 16,
            Self::Sha1 => 12,
        }
    }

    fn key(self, secret: &[u8]) -> hmac::Key {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        };
        hmac::Key::new(algorithm, secret)
    }

    /// Returns the HMAC of `data`.
    pub(crate) fn sign(self, secret: &[u8], data: &[u8]) -> Vec<u8> {
        hmac::sign(&self.key(secret), data).as_ref().to_vec()
    }

    /// Returns whether `signature` is the (truncated) HMAC of `data`, in constant time.
    pub fn verify(self, secret: &[u8], data: &[u8], signature: &[u8]) -> bool {
        let whole = self.sign(secret, data);
        // The comparison of HMACs of both values takes the same time wherever they differ.
        let key = self.key(secret);
        let wanted = whole.get(..signature.len()).unwrap_or_default();
        !wanted.is_empty() && hmac::verify(&key, wanted, hmac::sign(&key, signature).as_ref()).is_ok()
    }
}

/// The keys of a session for integrity and encryption.
#[derive(Clone)]
pub struct Keys {
    suite: Suite,
    signing: Vec<u8>,
    encrypting: [u8; BLOCK],
}

impl Keys {
    /// Derives the keys from the session integrity key. The constants have 20 bytes in both suites: the specification says so for
    /// SHA-1, and implementations do the same for SHA-256.
    pub fn derive(suite: Suite, integrity_key: &[u8]) -> Self {
        let second = suite.sign(integrity_key, &[2; 20]);
        let mut encrypting = [0; BLOCK];
        encrypting.iter_mut().zip(second).for_each(|(to, from)| *to = from);
        Self { suite, signing: suite.sign(integrity_key, &[1; 20]), encrypting }
    }

    /// Returns the signature of a packet.
    pub fn signature(&self, data: &[u8]) -> Vec<u8> {
        let mut signature = self.suite.sign(&self.signing, data);
        signature.truncate(self.suite.signature_length());
        signature
    }

    /// Returns the number of bytes of a signature.
    pub fn signature_length(&self) -> usize {
        self.suite.signature_length()
    }

    /// Returns whether the signature is that of the packet.
    pub fn verify(&self, data: &[u8], signature: &[u8]) -> bool {
        self.suite.verify(&self.signing, data, signature)
    }

    /// Returns the initialisation vector followed by the encrypted message. The padding is 1, 2, 3 … and its length.
    pub fn encrypt(&self, message: &[u8], vector: [u8; BLOCK]) -> Vec<u8> {
        let mut blocks = message.to_vec();
        let filling = (BLOCK - (message.len() + 1) % BLOCK) % BLOCK;
        blocks.extend((1u8..).take(filling));
        blocks.push(u8::try_from(filling).unwrap_or_default());
        let mut encryptor = cbc::Encryptor::<Aes128>::new(&self.encrypting.into(), &vector.into());
        let (whole, _) = Block::<Aes128>::slice_as_chunks_mut(&mut blocks);
        encryptor.encrypt_blocks(whole);
        [&vector[..], &blocks].concat()
    }

    /// Decrypts a payload of [`Self::encrypt`]; `None` if its length or padding is invalid.
    pub fn decrypt(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let (vector, blocks) = payload.split_first_chunk::<BLOCK>()?;
        if blocks.is_empty() || !blocks.len().is_multiple_of(BLOCK) {
            return None;
        }
        let mut blocks = blocks.to_vec();
        let mut decryptor = cbc::Decryptor::<Aes128>::new(&self.encrypting.into(), &(*vector).into());
        let (whole, _) = Block::<Aes128>::slice_as_chunks_mut(&mut blocks);
        decryptor.decrypt_blocks(whole);
        let filling = usize::from(blocks.pop()?);
        let length = blocks.len().checked_sub(filling).filter(|_| filling < BLOCK)?;
        blocks.truncate(length);
        Some(blocks)
    }
}
