//! A site's own kernels, stubs and boot programs, in a folder with their checksums. No file is fetched from elsewhere.
//!
//! ```text
//! SHA256SUMS
//! x86_64/kernels/VERSION/vmlinuz
//! x86_64/kernels/VERSION/modules/kernel/…      those that an initramfs needs
//! x86_64/stub.efi
//! x86_64/ipxe/undionly.kpxe
//! x86_64/signed.efi                            a unified kernel image that the site has signed
//! aarch64/ipxe/snp-arm64.efi
//! aarch64/raspberry-pi/start4.elf
//! aarch64/firstlight-agent                     the agent, for machines unlike the server
//! ```

mod recognise;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::cache::{MODE, copied, sum};
use super::modules::KernelModules;
use recognise::{Found, recognise};

/// The file of checksums, in the format of `sha256sum`.
pub const SUMS: &str = "SHA256SUMS";
const STUB: &str = "stub.efi";
const KERNEL: &str = "vmlinuz";
const MODULES: &str = "modules";
const SIGNED: &str = "signed.efi";
const AGENT: &str = "firstlight-agent";
const RASPBERRY_PI: &str = "aarch64/raspberry-pi";

/// The folder of a site's files.
#[derive(Clone, Debug)]
pub struct Assets(PathBuf);

/// A kernel with its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The version, for example `6.1.0-56-cloud-amd64`.
    pub version: String,
    /// The path of the kernel.
    pub image: PathBuf,
    /// The folder of the modules, for [`KernelModules::read`].
    pub modules: PathBuf,
}

/// A file of the site with its checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The path relative to the folder.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The SHA-256 checksum in hexadecimal digits.
    pub sha256: String,
}

/// A file for the folder, whose checksum is known.
pub struct NewAsset<'a> {
    /// The path relative to the folder.
    pub path: String,
    /// The SHA-256 checksum in hexadecimal digits.
    pub sha256: String,
    /// The content.
    pub content: Box<dyn Read + 'a>,
}

impl Assets {
    /// Returns the assets in `folder`, which need not exist yet.
    pub fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// Copies all recognised files of a path, which is a file or a folder with subfolders. Returns a line for each.
    ///
    /// # Errors
    /// No file was recognised, or a file cannot be copied.
    pub fn add(&self, path: &Path) -> Result<Vec<String>> {
        let found = recognise(path)?;
        ensure!(
            !found.is_empty(),
            "{}: no kernel (vmlinuz-VERSION), no modules (lib/modules/VERSION), no stub of systemd (linuxx64.efi.stub), no iPXE, no signed \
             unified kernel image, no agent and no boot loader of a Raspberry Pi was recognised; unpack a package first (dpkg-deb -x, rpm2cpio)",
            path.display()
        );
        let mut sums = self.sums()?;
        let mut lines = Vec::new();
        for found in found {
            lines.push(self.take(found, &mut sums)?);
            self.write_sums(&sums)?;
        }
        Ok(lines)
    }

    /// Writes files that the folder does not have, undamaged, with these checksums. Returns how many it wrote.
    ///
    /// # Errors
    /// The content has another checksum, the path leads out of the folder, or a write fails.
    pub fn take_all<'a>(&self, files: impl Iterator<Item = NewAsset<'a>>) -> Result<usize> {
        let mut sums = self.sums()?;
        let mut taken = 0;
        for NewAsset { path, sha256, mut content } in files {
            let target = self.0.join(&path);
            if sums.get(&path) == Some(&sha256) && sum(&target).is_ok_and(|found| found == sha256) {
                continue;
            }
            let is_plain = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
            ensure!(is_plain, "{path} leads out of the folder of boot files");
            files::replace(&target, MODE, |file| {
                let found = copied(&mut content, file).with_context(|| format!("cannot copy {path}"))?;
                ensure!(
                    found == sha256,
                    "{path} has the checksum {found}, and {sha256} was expected: it is damaged"
                );
                Ok(())
            })?;
            sums.insert(path, sha256);
            taken += 1;
        }
        if taken > 0 {
            self.write_sums(&sums)?;
        }
        Ok(taken)
    }

    fn take(&self, found: Found, sums: &mut BTreeMap<String, String>) -> Result<String> {
        let mut copy = |from: &Path, to: String| -> Result<()> {
            let sum = self.copy(from, &to)?;
            sums.insert(to, sum);
            Ok(())
        };
        Ok(match found {
            Found::Kernel { architecture, version, path } => {
                copy(&path, format!("{architecture}/kernels/{version}/{KERNEL}"))?;
                format!("kernel {version} ({architecture})")
            }
            Found::Stub { architecture, path } => {
                copy(&path, format!("{architecture}/{STUB}"))?;
                format!("stub of systemd ({architecture})")
            }
            Found::Signed { architecture, path } => {
                copy(&path, format!("{architecture}/{SIGNED}"))?;
                format!("signed unified kernel image ({architecture})")
            }
            Found::Agent { architecture, path } => {
                copy(&path, format!("{architecture}/{AGENT}"))?;
                format!("agent ({architecture})")
            }
            Found::RaspberryPi { name, path } => {
                copy(&path, format!("{RASPBERRY_PI}/{name}"))?;
                format!("Raspberry Pi {name}")
            }
            Found::Ipxe { architecture, name, path } => {
                copy(&path, format!("{architecture}/ipxe/{name}"))?;
                format!("iPXE {name} ({architecture})")
            }
            Found::Modules { version, path } => {
                let modules = KernelModules::read(&path)?;
                let architecture = modules.architecture()?;
                for file in modules.files() {
                    let below = file.strip_prefix(&path).unwrap_or(file).display();
                    copy(file, format!("{architecture}/kernels/{version}/{MODULES}/{below}"))?;
                }
                format!("{} modules of kernel {version} ({architecture})", modules.files().len())
            }
        })
    }

    /// Returns all files, sorted by path.
    ///
    /// # Errors
    /// The checksums cannot be read, or a file is missing.
    pub fn list(&self) -> Result<Vec<Asset>> {
        let assets = self.sums()?.into_iter().map(|(path, sha256)| {
            let size =
                std::fs::metadata(self.0.join(&path)).with_context(|| format!("{path} is missing"))?.len();
            Ok(Asset { path, size, sha256 })
        });
        assets.collect()
    }

    /// Checks all files against their checksums, and returns a line for each problem.
    ///
    /// # Errors
    /// The checksums cannot be read.
    pub fn verify(&self) -> Result<Vec<String>> {
        let wrong = self.sums()?.into_iter().filter_map(|(path, expected)| match sum(&self.0.join(&path)) {
            Ok(found) if found == expected => None,
            Ok(found) => {
                Some(format!("{path} has the checksum {found}, and was added with {expected}: add it again"))
            }
            Err(error) => Some(format!("{error:#}: add it again")),
        });
        Ok(wrong.collect())
    }

    /// Returns the newest kernel with modules for an architecture (`x86_64`, `aarch64`).
    pub fn kernel(&self, architecture: &str) -> Option<Kernel> {
        let folder = self.0.join(architecture).join("kernels");
        let versions = std::fs::read_dir(&folder)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let complete = versions.filter_map(|version| {
            let (image, modules) = (folder.join(&version).join(KERNEL), folder.join(&version).join(MODULES));
            (image.is_file() && modules.is_dir()).then_some(Kernel { version, image, modules })
        });
        complete.max_by(|a, b| numbers(&a.version).cmp(&numbers(&b.version)))
    }

    /// Returns the stub of systemd for an architecture.
    pub fn stub(&self, architecture: &str) -> Option<PathBuf> {
        Some(self.0.join(architecture).join(STUB)).filter(|path| path.is_file())
    }

    /// Returns the unified kernel image that the site has signed.
    pub fn signed(&self, architecture: &str) -> Option<PathBuf> {
        Some(self.0.join(architecture).join(SIGNED)).filter(|path| path.is_file())
    }

    /// Returns the agent's own program, for an architecture other than the server's.
    pub fn agent(&self, architecture: &str) -> Option<PathBuf> {
        Some(self.0.join(architecture).join(AGENT)).filter(|path| path.is_file())
    }

    /// Returns a text that changes when a file of the architecture changes: the checksums as they were added, and sizes and
    /// modification times.
    ///
    /// # Errors
    /// The checksums cannot be read, or a file is missing.
    pub fn state(&self, architecture: &str) -> Result<String> {
        let mut text = String::new();
        for (path, sum) in self.sums()?.range(format!("{architecture}/")..format!("{architecture}0")) {
            let found = std::fs::metadata(self.0.join(path)).with_context(|| format!("{path} is missing"))?;
            let changed = found.modified().ok();
            text.push_str(&format!("{sum} {} {changed:?} {path}\n", found.len()));
        }
        Ok(text)
    }

    /// Returns the folders with files for TFTP, for all kinds of machines: programs of iPXE, a Raspberry Pi's boot loader.
    pub fn loaded(&self) -> Vec<PathBuf> {
        let folders = ["x86_64/ipxe", "aarch64/ipxe", RASPBERRY_PI].map(|folder| self.0.join(folder));
        folders.into_iter().filter(|folder| folder.is_dir()).collect()
    }

    fn sums(&self) -> Result<BTreeMap<String, String>> {
        let path = self.0.join(SUMS);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let read = text.lines().map(|line| match line.split_once("  ") {
            Some((sum, path)) if sum.len() == 64 && !path.split('/').any(|part| part == "..") => {
                Ok((path.to_owned(), sum.to_owned()))
            }
            _ => bail!("{}: {line:?} is no line of checksums", path.display()),
        });
        read.collect()
    }

    /// Replaces the file of checksums atomically: after a power cut it has the old or the new content.
    fn write_sums(&self, sums: &BTreeMap<String, String>) -> Result<()> {
        let text: String = sums.iter().map(|(path, sum)| format!("{sum}  {path}\n")).collect();
        files::write(&self.0.join(SUMS), MODE, text.as_bytes())
    }

    /// Copies a file, and returns the checksum of the copy.
    fn copy(&self, from: &Path, to: &str) -> Result<String> {
        let mut source =
            std::fs::File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
        let target = self.0.join(to);
        let mut found = String::new();
        files::replace(&target, MODE, |file| {
            found = copied(&mut source, file).with_context(|| format!("cannot copy {}", from.display()))?;
            Ok(())
        })?;
        Ok(found)
    }
}

/// Returns the numbers of a version, so that 6.10 is newer than 6.9.
fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
}
