//! The machines that the Redfish test service switches.

use std::io;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

/// The service's boot settings when a machine starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Redfish's name of the boot device: `None` (the machine's own order), `Pxe`, `UefiHttp`, `Hdd`, `Cd`.
    pub target: String,
    /// URL for UEFI HTTP boot; `None` leaves it to DHCP.
    pub http_uri: Option<String>,
    /// Whether the machine boots with UEFI rather than BIOS.
    pub uefi: bool,
    /// Whether Secure Boot is on.
    pub secure_boot: bool,
    /// URL of the image inserted as a CD.
    pub media: Option<String>,
}

/// A machine that can be switched.
pub trait Machine: Send + Sync {
    /// Returns whether the machine is on.
    fn is_on(&self) -> BoxFuture<'_, bool>;

    /// Starts the machine, which is off.
    fn start(&self, start: Start) -> BoxFuture<'_, io::Result<()>>;

    /// Asks the operating system to shut down, which may take long or never happen.
    fn ask_to_stop(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Switches the machine off at once.
    fn stop(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Called when the image was removed from the drive.
    fn ejected(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Returns the MAC addresses of the network cards.
    fn macs(&self) -> Vec<String>;
}

/// A simulated machine that only has a power state.
#[derive(Debug, Default)]
pub struct InMemory {
    running: Mutex<Option<Start>>,
    history: Mutex<Vec<Start>>,
}

impl InMemory {
    /// Returns the boot settings with which it was started, if it is on.
    pub fn running(&self) -> Option<Start> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the boot settings of all starts.
    pub fn history(&self) -> Vec<Start> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Machine for InMemory {
    fn is_on(&self) -> BoxFuture<'_, bool> {
        Box::pin(async { self.running().is_some() })
    }

    fn start(&self, start: Start) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            self.history.lock().unwrap_or_else(PoisonError::into_inner).push(start.clone());
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
            Ok(())
        })
    }

    fn ask_to_stop(&self) -> BoxFuture<'_, io::Result<()>> {
        self.stop()
    }

    fn stop(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = None;
            Ok(())
        })
    }

    fn macs(&self) -> Vec<String> {
        vec!["52:54:00:00:00:01".to_owned()]
    }
}
