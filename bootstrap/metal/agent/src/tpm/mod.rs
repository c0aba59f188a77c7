//! Uses the machine's TPM to identify the machine: reads its endorsement key, and proves that the machine owns it.
//!
//! A server that knows the key makes a challenge that only this TPM can open (`TPM2_MakeCredential`, which needs no TPM), and that is
//! bound to the certificate with which the machine enrols ([`Binding`]). The few commands that are needed are encoded by hand.

mod key;
pub(crate) mod wire;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use machinery::clock::Clock;

pub use key::{Binding, EndorsementKey};
pub use wire::Message;
use wire::{Authorisation, answer, command};

/// The device with the kernel's resource manager, which manages the TPM's few object slots; TPMs before 2.0 do not have it.
const DEVICE: &str = "/dev/tpmrm0";
/// The ACPI table with which the firmware announces a TPM.
const TABLE: &str = "/sys/firmware/acpi/tables/TPM2";
/// How long to wait for the device, since its driver may be loaded after the network.
const FIND_TIME: Duration = Duration::from_secs(10);
const FIND_PAUSE: Duration = Duration::from_millis(100);
/// The largest answer of a TPM in bytes.
const ANSWER_BYTES_MAX: usize = 4096;

const CREATE_PRIMARY: u32 = 0x131;
const ACTIVATE_CREDENTIAL: u32 = 0x147;
const POLICY_SECRET: u32 = 0x151;
const FLUSH_CONTEXT: u32 = 0x165;
const LOAD_EXTERNAL: u32 = 0x167;
const START_AUTH_SESSION: u32 = 0x176;
/// The handles of the endorsement hierarchy and of the null hierarchy.
const ENDORSEMENT: u32 = 0x4000_000b;
const NOBODY: u32 = 0x4000_0007;

/// A TPM 2.0.
pub struct Tpm<D>(D);

impl Tpm<File> {
    /// Opens the machine's TPM; `None` if it has none. Waits for the device if the firmware announces a TPM.
    ///
    /// # Errors
    /// The device exists but cannot be opened.
    pub async fn find(clock: &Clock) -> Result<Option<Self>> {
        let is_there = || Path::new(DEVICE).exists();
        let _ = tokio::time::timeout(FIND_TIME, async {
            while Path::new(TABLE).exists() && !is_there() {
                clock.sleep(FIND_PAUSE).await;
            }
        })
        .await;
        if !is_there() {
            return Ok(None);
        }
        let opened = OpenOptions::new().read(true).write(true).open(DEVICE);
        Ok(Some(Self(opened.with_context(|| format!("cannot open {DEVICE}"))?)))
    }
}

impl<D: Read + Write> Tpm<D> {
    /// Returns a TPM behind a file or socket that takes a command in one write and returns the answer in one read.
    pub fn new(device: D) -> Self {
        Self(device)
    }

    /// Returns the endorsement key. The TPM derives the same key each time.
    ///
    /// # Errors
    /// The TPM refuses, or has a key that is not the standard one.
    pub fn endorsement_key(&mut self) -> Result<EndorsementKey> {
        let (handle, key) = self.create_key()?;
        self.flush(handle)?;
        Ok(key)
    }

    /// Opens a challenge, and returns its secret.
    ///
    /// # Errors
    /// The challenge was made for another TPM, or for another certificate.
    pub fn open(&mut self, binding: &Binding, credential: &[u8], secret: &[u8]) -> Result<Vec<u8>> {
        let (key, _) = self.create_key()?;
        let object = self.load(binding);
        let opened = match &object {
            Ok(object) => self.activate(*object, key, credential, secret),
            Err(error) => Err(anyhow::anyhow!("{error:#}")),
        };
        for handle in object.into_iter().chain([key]) {
            self.flush(handle)?;
        }
        opened
    }

    fn create_key(&mut self) -> Result<(u32, EndorsementKey)> {
        let template = EndorsementKey::template();
        // No password and no user data; no outside information, no PCR selection.
        let sensitive = Message::default().sized(&[]).sized(&[]).into_bytes();
        let parameters = Message::default().sized(&sensitive).sized(&template).sized(&[]).u32(0);
        let sent = command(CREATE_PRIMARY, &[ENDORSEMENT], &[Authorisation::Password], parameters);
        let said = self.ask(&sent, "TPM2_CreatePrimary")?;
        let (handles, mut reader) = answer(&said, 1).context("TPM2_CreatePrimary")?;
        Ok((handles[0], EndorsementKey::read(reader.sized()?)?))
    }

    fn load(&mut self, binding: &Binding) -> Result<u32> {
        let parameters = Message::default().sized(&binding.sensitive()).sized(&binding.public()).u32(NOBODY);
        let said = self.ask(&command(LOAD_EXTERNAL, &[], &[], parameters), "TPM2_LoadExternal")?;
        Ok(answer(&said, 1).context("TPM2_LoadExternal")?.0[0])
    }

    fn activate(&mut self, object: u32, key: u32, credential: &[u8], secret: &[u8]) -> Result<Vec<u8>> {
        // A policy session: the nonce is arbitrary, since the session is not salted; no encryption; SHA-256.
        let parameters = Message::default().sized(&[0; 32]).sized(&[]).u8(1).u16(0x10).u16(0x0b);
        let sent = command(START_AUTH_SESSION, &[NOBODY, NOBODY], &[], parameters);
        let said = self.ask(&sent, "TPM2_StartAuthSession")?;
        let session = answer(&said, 1).context("TPM2_StartAuthSession")?.0[0];
        let opened = self.activate_in(session, (object, key), credential, secret);
        if opened.is_err() {
            // The session ends with the command only if the command succeeded.
            let _ = self.flush(session);
        }
        opened
    }

    fn activate_in(
        &mut self,
        session: u32,
        (object, key): (u32, u32),
        credential: &[u8],
        secret: &[u8],
    ) -> Result<Vec<u8>> {
        let parameters = Message::default().sized(&[]).sized(&[]).sized(&[]).u32(0);
        let sent = command(POLICY_SECRET, &[ENDORSEMENT, session], &[Authorisation::Password], parameters);
        answer(&self.ask(&sent, "TPM2_PolicySecret")?, 0).context("TPM2_PolicySecret")?;
        let authorisations = [Authorisation::Password, Authorisation::Session(session)];
        let parameters = Message::default().sized(credential).sized(secret);
        let sent = command(ACTIVATE_CREDENTIAL, &[object, key], &authorisations, parameters);
        let said = self.ask(&sent, "TPM2_ActivateCredential")?;
        let (_, mut reader) = answer(&said, 0).context("TPM2_ActivateCredential")?;
        Ok(reader.sized()?.to_vec())
    }

    fn flush(&mut self, handle: u32) -> Result<()> {
        let sent = command(FLUSH_CONTEXT, &[], &[], Message::default().u32(handle));
        answer(&self.ask(&sent, "TPM2_FlushContext")?, 0).context("TPM2_FlushContext").map(|_| ())
    }

    fn ask(&mut self, sent: &[u8], name: &str) -> Result<Vec<u8>> {
        let mut said = vec![0; ANSWER_BYTES_MAX];
        let length = self.0.write_all(sent).and_then(|()| self.0.read(&mut said));
        said.truncate(length.with_context(|| format!("{name}: the TPM does not answer"))?);
        Ok(said)
    }
}
