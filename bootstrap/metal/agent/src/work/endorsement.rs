//! Proves by the TPM that this is the machine with its endorsement key.

use std::fs::File;

use agent_protocol::{Endorsement, from_hexadecimal, hexadecimal};
use anyhow::{Context, Result};

use crate::network::Tools;
use crate::server::Server;
use crate::tpm::{Binding, Tpm};

/// The machine's TPM and its endorsement key.
pub struct Endorser {
    tpm: Option<Tpm<File>>,
    key: String,
}

impl Endorser {
    /// Looks for the TPM; `None` if there is none. A TPM that fails is only logged: the server decides whether the machine may enrol
    /// without it.
    pub async fn find(tools: &Tools) -> Option<Self> {
        let found = async {
            let Some(mut tpm) = Tpm::find(&tools.clock).await? else { return Ok(None) };
            // The TPM may take long to derive the key.
            let work = tokio::task::spawn_blocking(move || -> Result<Self> {
                let key = hexadecimal(&tpm.endorsement_key()?.public());
                Ok(Self { tpm: Some(tpm), key })
            });
            work.await.context("internal error").flatten().map(Some)
        };
        match found.await {
            Ok(found) => found,
            Err(error) => {
                tools.journal.line(format!("the TPM is of no use: {error:#}"));
                None
            }
        }
    }

    /// Opens a challenge of the server for this machine's certificate, and returns the endorsement with its proof.
    ///
    /// # Errors
    /// The server refuses a challenge, or the TPM cannot open it.
    pub async fn endorse(&mut self, server: &Server, certificate: [u8; 32]) -> Result<Endorsement> {
        let mut endorsement = Endorsement { key: self.key.clone(), proof: String::new() };
        let challenge = server.challenge(&endorsement).await?;
        let read = |text: &str| from_hexadecimal(text).context("the server's challenge is none");
        let (credential, secret) = (read(&challenge.credential)?, read(&challenge.secret)?);
        let mut tpm = self.tpm.take().context("the TPM was lost by an error")?;
        let work = tokio::task::spawn_blocking(move || {
            let opened = tpm.open(&Binding::new(certificate), &credential, &secret);
            (tpm, opened)
        });
        let (tpm, opened) = work.await.context("internal error")?;
        self.tpm = Some(tpm);
        endorsement.proof = hexadecimal(&opened?);
        Ok(endorsement)
    }
}
