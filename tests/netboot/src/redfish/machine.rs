//! The machines that a stand-in service switches.

use std::io;
use std::sync::{Mutex, PoisonError};

use futures::future::BoxFuture;

/// How a machine starts: the service's settings at that moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Redfish's name of the boot device: `None` (the machine's own order), `Pxe`, `UefiHttp`, `Hdd`, `Cd`.
    pub target: String,
    /// What UEFI HTTP boot loads; `None` leaves it to DHCP.
    pub http_uri: Option<String>,
    /// UEFI, or BIOS.
    pub uefi: bool,
    /// Only what is signed starts.
    pub secure_boot: bool,
    /// The address of the image that is inserted as a CD.
    pub media: Option<String>,
}

/// A machine.
pub trait Machine: Send + Sync {
    /// Whether it runs.
    fn is_on(&self) -> BoxFuture<'_, bool>;

    /// Starts it; it is off.
    fn start(&self, start: Start) -> BoxFuture<'_, io::Result<()>>;

    /// Asks its operating system to stop, which may take long or never happen.
    fn ask_to_stop(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Stops it at once.
    fn stop(&self) -> BoxFuture<'_, io::Result<()>>;

    /// The image was taken out of its drive.
    fn ejected(&self) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Addresses of its network cards.
    fn macs(&self) -> Vec<String>;
}

/// A machine that is nothing but its power.
#[derive(Debug, Default)]
pub struct InMemory {
    running: Mutex<Option<Start>>,
    history: Mutex<Vec<Start>>,
}

impl InMemory {
    /// How it was started, if it runs.
    pub fn running(&self) -> Option<Start> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How it was started each time.
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
