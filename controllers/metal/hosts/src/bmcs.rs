//! [`Control`] by real BMCs.

use std::sync::Arc;

use bmc::{Bmc, BmcAddress, Credentials, Dependencies, Verification};
use engine::Manager;
use futures::FutureExt;
use futures::future::BoxFuture;
use metrics::Limits;

use crate::clients::{Clients, Closing};
use crate::control::{Connection, Control, Fault};

/// The machines behind real BMCs. Clients are cached, because they hold sessions and data about their service.
pub struct Bmcs {
    dependencies: Dependencies,
    /// The network interfaces through which magic packets are sent.
    interfaces: Vec<String>,
    clients: Clients<Login, Client>,
}

/// What a client is made of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Login {
    address: BmcAddress,
    username: String,
    password: String,
    is_unverified: bool,
}

#[derive(Clone)]
struct Client(Arc<dyn Bmc>);

impl Closing for Client {
    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.close()
    }
}

impl Bmcs {
    /// Creates clients over `dependencies`, which counts in `reached` and closes sessions when they are not used and when `manager` ends; magic packets
    /// are sent through `interfaces`.
    pub fn start(manager: &Manager, dependencies: Dependencies, interfaces: Vec<String>) -> Arc<Self> {
        let clients = Clients::new(Limits::of(manager.all_metrics()));
        let bmcs = Arc::new(Self { dependencies, interfaces, clients });
        let (idle, ended) = (bmcs.clone(), bmcs.clone());
        manager.spawn(async move { idle.clients.close_idle().await });
        manager.at_end(async move { ended.clients.close_all().await });
        bmcs
    }
}

impl Control for Bmcs {
    fn bmc(&self, machine: &Connection) -> Result<Arc<dyn Bmc>, Fault> {
        let login = Login {
            address: machine.address.clone(),
            username: machine.username.clone(),
            password: machine.password.clone(),
            is_unverified: machine.is_unverified,
        };
        if let Some(Client(known)) = self.clients.get(&login) {
            return Ok(known);
        }
        let credentials = Credentials::new(machine.username.clone(), machine.password.clone());
        let verification = if machine.is_unverified { Verification::Off } else { Verification::Machine };
        let made =
            bmc::connect(machine.address.clone(), credentials, verification, self.dependencies.clone())?;
        self.clients.add(login, Client(made.clone()));
        Ok(made)
    }

    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            if self.interfaces.is_empty() {
                let message = "a machine is woken over a network that is served: name its interface with --netboot-interface";
                return Err(Fault { message: message.to_owned(), is_refused: false });
            }
            for interface in &self.interfaces {
                bmc::wake::wake(self.dependencies.network.as_ref(), interface, mac).await.map_err(Fault::from)?;
            }
            Ok(())
        }
        .boxed()
    }
}
