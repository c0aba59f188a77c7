//! Checksums of images.

use anyhow::{Context, Result, bail, ensure};
use md5::{Digest, Md5};
use ring::digest::{self, SHA256, SHA512};

/// The algorithm of a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// MD5, 32 hexadecimal digits.
    Md5,
    /// SHA-256, 64 hexadecimal digits.
    Sha256,
    /// SHA-512, 128 hexadecimal digits.
    Sha512,
}

/// The checksum that an image must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    kind: Kind,
    hexadecimal: String,
}

/// Returns whether a checksum is the URL of a file of checksums.
pub fn is_url(checksum: &str) -> bool {
    checksum.starts_with("http://") || checksum.starts_with("https://")
}

impl Checksum {
    /// Parses a checksum; `kind` is `BareMetalHost.spec.image.checksumType`.
    ///
    /// # Errors
    /// The text is not a checksum of that kind.
    pub fn read(text: &str, kind: &str) -> Result<Self> {
        let hexadecimal = text.trim().to_ascii_lowercase();
        ensure!(
            hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "spec.image.checksum {text:?} is neither a checksum nor the URL of one"
        );
        let of_length = match hexadecimal.len() {
            32 => Kind::Md5,
            64 => Kind::Sha256,
            128 => Kind::Sha512,
            length => bail!(
                "spec.image.checksum has {length} characters; an MD5 sum has 32, SHA-256 64, SHA-512 128"
            ),
        };
        let wanted = match kind {
            "" | "auto" => of_length,
            "md5" => Kind::Md5,
            "sha256" => Kind::Sha256,
            "sha512" => Kind::Sha512,
            other => bail!("spec.image.checksumType {other:?} is none of md5, sha256, sha512, auto"),
        };
        ensure!(
            wanted == of_length,
            "spec.image.checksum has {} characters, which is no {kind} sum",
            hexadecimal.len()
        );
        Ok(Self { kind: wanted, hexadecimal })
    }

    /// Finds the checksum of the image at `url` in a file of checksums: lines in the format of `sha256sum` or of the BSDs, or a single
    /// checksum.
    ///
    /// # Errors
    /// The file has no checksum of that kind for the image.
    pub fn find(file: &str, url: &str, kind: &str) -> Result<Self> {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        let name = path.rsplit('/').next().unwrap_or(path);
        let lines = || file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let of_image = lines().filter_map(|line| {
            if let Some((head, sum)) = line.split_once(") = ") {
                let (_, of) = head.split_once(" (")?;
                return (of == name).then_some(sum);
            }
            let (sum, of) = line.split_once(char::is_whitespace)?;
            let of = of.trim_start().trim_start_matches('*');
            (of.rsplit('/').next() == Some(name)).then_some(sum)
        });
        let alone = lines().next().filter(|line| lines().count() == 1 && !line.contains(char::is_whitespace));
        let mut sums = of_image.chain(alone);
        // A file may contain checksums of several kinds.
        let all: Vec<&str> = sums.by_ref().collect();
        let fitting = all.iter().find_map(|sum| Self::read(sum, kind).ok());
        fitting.with_context(|| {
            format!(
                "the file of checksums has none for {name} of the kind {:?}",
                if kind.is_empty() { "auto" } else { kind }
            )
        })
    }

    /// Returns a hasher of the checksum's kind.
    pub fn hasher(&self) -> Hasher {
        match self.kind {
            Kind::Md5 => Hasher::Md5(Md5::new()),
            Kind::Sha256 => Hasher::Sha2(digest::Context::new(&SHA256)),
            Kind::Sha512 => Hasher::Sha2(digest::Context::new(&SHA512)),
        }
    }

    /// Compares the checksum with that of the bytes that the hasher has seen.
    ///
    /// # Errors
    /// The checksums differ.
    pub fn verify(&self, hasher: Hasher) -> Result<()> {
        let bytes = match hasher {
            Hasher::Md5(sum) => sum.finalize().to_vec(),
            Hasher::Sha2(sum) => sum.finish().as_ref().to_vec(),
        };
        let found: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        ensure!(
            found == self.hexadecimal,
            "the image's checksum is {found}, and spec.image.checksum says {}: it is damaged, or another one; nothing of it can be started",
            self.hexadecimal
        );
        Ok(())
    }
}

/// A hash computation in progress.
pub enum Hasher {
    /// MD5.
    Md5(Md5),
    /// SHA-256 or SHA-512.
    Sha2(digest::Context),
}

impl Hasher {
    /// Adds bytes to the hash.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(sum) => sum.update(bytes),
            Self::Sha2(sum) => sum.update(bytes),
        }
    }
}
