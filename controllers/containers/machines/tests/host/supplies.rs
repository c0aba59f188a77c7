//! The images and the load balancers of the host.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use anyhow::{Result, bail, ensure};
use futures::FutureExt;
use futures::future::BoxFuture;
use system_containers::balancer::{Balancer, Balancers, Configuration, Health, Server, ServerStatus, Status};
use system_containers::{Image, Images, Report, State};
use tokio::io::AsyncRead;

use super::{Host, LoadBalancer};

impl Images for Host {
    fn find<'a>(&'a self, name: &'a str, report: Report<'a>) -> BoxFuture<'a, Result<Image>> {
        async move {
            report("layer 1 of 1");
            ensure!(!self.with(|contents| contents.missing.contains(name)), "no source has the image {name}");
            let kubernetes = self.with(|contents| contents.versions.get(name).cloned());
            Ok(Image { id: name.to_owned(), kubernetes, ..Image::default() })
        }
        .boxed()
    }

    fn archive<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Box<dyn AsyncRead + Send + Unpin>>> {
        async move {
            ensure!(!self.with(|contents| contents.missing.contains(name)), "no source has the image {name}");
            Ok(Box::new(tokio::io::empty()) as Box<dyn AsyncRead + Send + Unpin>)
        }
        .boxed()
    }
}

impl Host {
    fn balancer(&self, name: &str) -> Option<Balancer> {
        let found = self.with(|contents| contents.balancers.get(name).cloned())?;
        let server = |server: &Server| ServerStatus {
            name: server.name.clone(),
            health: Health::Healthy,
            connections: 0,
        };
        let servers = found.configuration.servers.iter().map(server).collect();
        let configuration = found.configuration.clone();
        let status = Status { configuration, error: None, connections: 0, most_connections: 1, servers };
        Some(Balancer {
            name: name.to_owned(),
            address: found.address,
            state: if found.is_stopped { State::Stopped { code: None, error: None } } else { State::Running },
            status: (!found.is_stopped).then_some(status),
        })
    }
}

impl Balancers for Host {
    fn ensure<'a>(
        &'a self,
        name: &'a str,
        labels: &'a BTreeMap<String, String>,
        address: Option<Ipv4Addr>,
        configuration: &'a Configuration,
    ) -> BoxFuture<'a, Result<Balancer>> {
        async move {
            configuration.check()?;
            self.with(|contents| contents.answers())?;
            if let Some(why) = self.with(|contents| contents.unbalanced.get(name).cloned()) {
                bail!(why);
            }
            let is_as_wanted = |it: &LoadBalancer| it.configuration == *configuration && !it.is_stopped;
            if !self.with(|contents| contents.balancers.get(name).is_some_and(is_as_wanted)) {
                self.change(format!("balance {name}"), |contents| {
                    let known = contents.balancers.get(name).map(|it| it.address).or(address);
                    let address = known.unwrap_or_else(|| contents.address());
                    let (labels, configuration) = (labels.clone(), configuration.clone());
                    let balancer = LoadBalancer { address, labels, configuration, is_stopped: false };
                    contents.balancers.insert(name.to_owned(), balancer);
                    Ok(())
                })
                .await?;
            }
            Ok(self.balancer(name).unwrap())
        }
        .boxed()
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Balancer>>> {
        let found = self.balancer(name);
        async { Ok(found) }.boxed()
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        let removed = self.change(format!("remove {name}"), move |contents| {
            contents.answers()?;
            contents.balancers.remove(name);
            Ok(())
        });
        removed.boxed()
    }
}
