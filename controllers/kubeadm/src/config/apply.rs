//! Carries out the plan of a KubeadmConfig.

use chrono::{DateTime, Utc};
use engine::{Action, NamespacedName, Outcome, conditions, owners, paused};
use k8s_openapi::ByteString;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Cluster;
use serde_json::json;

use super::controller::ConfigController;
use super::observed::Observed;
use super::plan::{self, Bootstrap, Plan, Step};
use super::render::{self, Inputs, Role};
use super::{data_secret, observe, token, v1beta1};
use crate::certificates;
use crate::error::{Error, Result};
use crate::names::condition;

impl ConfigController {
    /// Carries out the plan.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<KubeadmConfig> {
        let now = self.manager.clock().now();
        let mut wanted = observed.config.as_ref().clone();
        paused::set(&mut wanted, observed.cluster.as_deref(), now);
        for condition in plan.conditions.clone() {
            conditions::set(&mut wanted, now, condition);
        }
        wanted.status.get_or_insert_default().observed_generation = observed.config.metadata.generation;
        let result = self.take_step(observed, &plan, &mut wanted).await;
        let ready = plan::ready(schemas::HasConditions::conditions(&wanted));
        conditions::set(&mut wanted, now, ready);
        v1beta1::set(&mut wanted, now);
        let (action, error) = match result {
            Ok(action) => (action, None),
            // Only a change of the spec can help, and that is an event.
            Err(error @ (Error::Bootstrap(_) | Error::Version(_))) => {
                (Action::done(), Some(engine::Error::Terminal(error.to_string())))
            }
            Err(error) => (Action::done(), Some(error.into_engine())),
        };
        Outcome { wanted: Some(wanted), errors: error.into_iter().collect(), action }
    }

    async fn take_step(
        &self,
        observed: &Observed,
        plan: &Plan,
        wanted: &mut KubeadmConfig,
    ) -> Result<Action> {
        let now = self.manager.clock().now();
        let (Some(owner), Some(cluster)) = (&observed.owner, &observed.cluster) else {
            return Ok(Action::done());
        };
        if plan.fix_secret_owner
            && let Some(secret) = &observed.data_secret
        {
            self.secrets.own(secret, plan::data_owner(&observed.config)).await?;
        }
        if plan.release_lock {
            self.locks.release(cluster).await?;
        }
        match &plan.step {
            Step::Wait => Ok(Action::done()),
            Step::WatchToken => Ok(Action::requeue_after(token::CHECK)),
            Step::Adopt(name) => {
                created(wanted, name.clone(), now);
                Ok(Action::done())
            }
            Step::KeepToken => self.tokens.keep(observed, cluster, now).await,
            Step::Bootstrap(bootstrap) => {
                if bootstrap.break_lock {
                    self.locks.release(cluster).await?;
                }
                let is_init = bootstrap.role == Role::Init;
                if is_init && !self.locks.acquire(&owner.name(), cluster).await? {
                    return Ok(Action::done());
                }
                let result = self.bootstrap(bootstrap, cluster, wanted).await;
                if result.is_err() && is_init {
                    self.locks.release(cluster).await?;
                }
                result
            }
        }
    }

    async fn bootstrap(
        &self,
        bootstrap: &Bootstrap,
        cluster: &Cluster,
        wanted: &mut KubeadmConfig,
    ) -> Result<Action> {
        let Bootstrap { role, version, .. } = bootstrap;
        let now = self.manager.clock().now();
        let name = NamespacedName::of(cluster);
        let configuration = wanted.spec.cluster_configuration.clone().unwrap_or_default();
        let certificate_owner = owners::controller_reference(wanted, &());
        self.secrets.make(&name, &bootstrap.make_certificates, &configuration, &certificate_owner).await?;
        // New authorities are not valid before the time at which they were made.
        let made_at = self.manager.clock().now();
        let is_control_plane = *role != Role::JoinWorker;
        let (found, _) = observe::certificates(&self.secrets, &name, is_control_plane, &wanted.spec, made_at);
        conditions::set(wanted, now, conditions::is_true(condition::CERTIFICATES_AVAILABLE, "Available"));
        match role {
            Role::Init => render::complete_init(&mut wanted.spec, cluster)?,
            _ => {
                let token = match bootstrap.make_token {
                    true => Some(self.tokens.make(&name, wanted, now).await?),
                    false => None,
                };
                render::complete_join(&mut wanted.spec, *role, cluster, &found, token.as_deref())?;
            }
        }
        let secrets = observe::named_secrets(&self.secrets.objects, &name.namespace, &wanted.spec);
        let inputs = Inputs {
            spec: &wanted.spec,
            cluster,
            version,
            control_plane_version: control_plane_version(cluster),
            certificates: &found,
            secrets: &secrets,
        };
        let data = render::render(&inputs, *role)?;
        self.store(&name.name, wanted, data).await?;
        let secret = wanted.metadata.name.clone().unwrap_or_default();
        created(wanted, secret, now);
        let token_used = *role != Role::Init && render::uses_token(&wanted.spec);
        Ok(if token_used { Action::requeue_after(token::CHECK) } else { Action::done() })
    }

    /// Creates or updates the Secret with the bootstrap data.
    async fn store(&self, cluster: &str, config: &KubeadmConfig, data: String) -> Result<()> {
        let name = NamespacedName::of(config);
        let format = config.spec.format.clone().unwrap_or_else(|| "cloud-config".to_owned());
        let entries = [
            ("value".to_owned(), ByteString(data.into_bytes())),
            ("format".to_owned(), ByteString(format.into_bytes())),
        ];
        let secret = certificates::owned_secret(
            &name.namespace,
            &name.name,
            cluster,
            entries.into(),
            plan::data_owner(config),
        );
        let (existing, was_created) = self.secrets.objects.create_if_absent(&secret).await?;
        if !was_created && !data_secret::is_ours(&existing) {
            // The next reconcile reads it, and names it in a condition.
            return Err(Error::Bootstrap(format!("Secret {name} is not one of bootstrap data")));
        }
        if !was_created && existing.data != secret.data {
            self.secrets.objects.merge(&name, None, json!({"data": secret.data})).await?;
        }
        Ok(())
    }
}

fn created(config: &mut KubeadmConfig, secret: String, now: DateTime<Utc>) {
    let status = config.status.get_or_insert_default();
    status.data_secret_name = Some(secret);
    status.initialization.get_or_insert_default().data_secret_created = Some(true);
    conditions::set(config, now, conditions::is_true(condition::DATA_SECRET_AVAILABLE, "Available"));
    if schemas::HasConditions::condition(config, condition::CERTIFICATES_AVAILABLE).is_none() {
        conditions::set(config, now, conditions::is_true(condition::CERTIFICATES_AVAILABLE, "Available"));
    }
}

/// Returns the oldest version that the control plane runs.
fn control_plane_version(cluster: &Cluster) -> Option<&str> {
    let versions = &cluster.status.as_ref()?.control_plane.as_ref()?.versions;
    versions.first().map(|version| version.version.as_str())
}
