//! Carries out the plan of a KubeadmConfig.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::{Action, NamespacedName, Outcome, conditions, owners, paused};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use machinery::clock::rfc3339;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine};
use serde_json::json;

use super::observe::{ConfigController, LOCK_KEY, LockInformation, lock_name};
use super::plan::{self, Observed, Plan, Step};
use super::render::{self, Inputs, Role};
use super::token;
use crate::certificates::{self, Recipe};
use crate::error::{Error, Result};
use crate::names::condition;
use schemas::version::Version;

/// The objects that [`Step::Bootstrap`] works on.
struct Bootstrap<'a> {
    role: Role,
    machine: &'a Machine,
    cluster: &'a Cluster,
}

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
        let (Some(machine), Some(cluster)) = (&observed.machine, &observed.cluster) else {
            return Ok(Action::done());
        };
        if plan.fix_secret_owner
            && let Some(secret) = &observed.data_secret
        {
            self.own_secret(secret, &observed.config).await?;
        }
        if plan.release_lock {
            self.unlock(cluster).await?;
        }
        match &plan.step {
            Step::Wait => Ok(Action::done()),
            Step::WatchToken => Ok(Action::requeue_after(token::CHECK)),
            Step::Adopt(name) => {
                created(wanted, name.clone(), now);
                Ok(Action::done())
            }
            Step::KeepToken => self.keep_token(observed, cluster, now).await,
            Step::Bootstrap { role, break_lock, make_certificates, make_token } => {
                let bootstrap = Bootstrap { role: *role, machine, cluster };
                if *break_lock {
                    self.unlock(cluster).await?;
                }
                if *role == Role::Init && !self.lock_for(machine, cluster).await? {
                    return Ok(Action::done());
                }
                let result = self.bootstrap(&bootstrap, *make_certificates, *make_token, wanted).await;
                if result.is_err() && *role == Role::Init {
                    self.unlock(cluster).await?;
                }
                result
            }
        }
    }

    async fn bootstrap(
        &self,
        bootstrap: &Bootstrap<'_>,
        make_certificates: bool,
        make_token: bool,
        wanted: &mut KubeadmConfig,
    ) -> Result<Action> {
        let Bootstrap { role, machine, cluster } = *bootstrap;
        let now = self.manager.clock().now();
        let name = NamespacedName::of(cluster);
        if make_certificates {
            self.make_certificates(&name, machine, wanted).await?;
        }
        let (found, _) = self.certificates(&name, machine, &wanted.spec)?;
        conditions::set(wanted, now, conditions::is_true(condition::CERTIFICATES_AVAILABLE, "Available"));
        let version = machine.spec.version.as_deref().and_then(Version::parse).ok_or_else(|| {
            Error::Version(
                "the Machine has no valid spec.version, which kubeadm's configuration needs".to_owned(),
            )
        })?;
        match role {
            Role::Init => render::complete_init(&mut wanted.spec, cluster)?,
            _ => {
                let token = if make_token { Some(self.make_token(&name, wanted, now).await?) } else { None };
                render::complete_join(&mut wanted.spec, role, cluster, &found, token.as_deref())?;
            }
        }
        let secrets = self.named_secrets(&name.namespace, &wanted.spec);
        let data = render::render(
            &Inputs {
                spec: &wanted.spec,
                cluster,
                version: &version,
                control_plane_version: control_plane_version(cluster),
                certificates: &found,
                secrets: &secrets,
            },
            role,
        )?;
        self.store(&name.name, wanted, data).await?;
        let secret = wanted.metadata.name.clone().unwrap_or_default();
        created(wanted, secret, now);
        let token_used = role != Role::Init && render::uses_token(&wanted.spec);
        Ok(if token_used { Action::requeue_after(token::CHECK) } else { Action::done() })
    }

    async fn make_certificates(
        &self,
        cluster: &NamespacedName,
        machine: &Machine,
        config: &KubeadmConfig,
    ) -> Result<()> {
        let configuration = config.spec.cluster_configuration.clone().unwrap_or_default();
        let (_, missing) = self.certificates(cluster, machine, &config.spec)?;
        for purpose in missing {
            if certificates::is_given(purpose, &configuration) {
                let name = purpose.secret_name(&cluster.name);
                return Err(Error::Bootstrap(format!(
                    "Secret {name} does not exist: an external etcd needs it"
                )));
            }
            let identity = crate::blocking::make(Recipe::of(&configuration)?, purpose, &self.manager).await?;
            let owner = owners::controller_reference(config, &());
            let secret = certificates::secret(&cluster.namespace, &cluster.name, purpose, &identity, owner);
            self.secrets.create_if_absent(&secret).await?;
        }
        Ok(())
    }

    async fn make_token(
        &self,
        cluster: &NamespacedName,
        config: &KubeadmConfig,
        now: DateTime<Utc>,
    ) -> Result<String> {
        let workload = self.manager.clusters().get(cluster)?;
        let token = token::generate(self.manager.random());
        let secret = token::secret(&token, now).ok_or_else(|| Error::Bootstrap("no token".to_owned()))?;
        let api = Api::<Secret>::namespaced(workload.client().clone(), token::NAMESPACE);
        let created = api.create(&PostParams::default(), &secret).await;
        created.map_err(|error| Error::Workload(format!("create a bootstrap token: {error}")))?;
        self.tokens.lock().insert(NamespacedName::of(config), now + token::LIFETIME);
        Ok(token)
    }

    /// Extends the bootstrap token if it exists and is due; recreates it if it is gone, since the bootstrap
    /// data contains it.
    async fn keep_token(&self, observed: &Observed, cluster: &Cluster, now: DateTime<Utc>) -> Result<Action> {
        let workload = self.manager.clusters().get(&NamespacedName::of(cluster))?;
        let config = observed.config.as_ref();
        let Some(fresh) = render::token(&config.spec).and_then(|token| token::secret(token, now)) else {
            return Ok(Action::done());
        };
        let name = fresh.metadata.name.clone().unwrap_or_default();
        let api = Api::<Secret>::namespaced(workload.client().clone(), token::NAMESPACE);
        let failed = |error: kube::Error| Error::Workload(format!("prolong the bootstrap token: {error}"));
        match api.get_opt(&name).await.map_err(failed)? {
            None => drop(api.create(&PostParams::default(), &fresh).await.map_err(failed)?),
            Some(secret) if token::is_refresh_due(&secret, now) => {
                let expiration = rfc3339(now + token::LIFETIME);
                let patch = json!({"data": {"expiration": ByteString(expiration.into_bytes())}});
                api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.map_err(failed)?;
            }
            Some(_) => {}
        }
        self.tokens.lock().insert(NamespacedName::of(config), now + token::LIFETIME);
        Ok(Action::requeue_after(token::CHECK))
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
            data_owner(config),
        );
        let (existing, was_created) = self.secrets.create_if_absent(&secret).await?;
        if !was_created && existing.data != secret.data {
            self.secrets.merge(&name, None, json!({"data": secret.data})).await?;
        }
        Ok(())
    }

    async fn own_secret(&self, secret: &Arc<Secret>, config: &KubeadmConfig) -> Result<()> {
        let mut wanted = secret.as_ref().clone();
        if let Some(other) = owners::controller(secret.as_ref()).cloned() {
            owners::remove(&mut wanted, &other);
        }
        owners::ensure(&mut wanted, data_owner(config));
        self.secrets.patch(secret, &wanted, &[]).await?;
        Ok(())
    }

    /// Acquires the init lock; returns `false` if another Machine holds it.
    async fn lock_for(&self, machine: &Machine, cluster: &Cluster) -> Result<bool> {
        let name = lock_name(cluster);
        let holder = LockInformation { machine: machine.metadata.name.clone().unwrap_or_default() };
        let text =
            serde_json::to_string(&holder).map_err(|error| engine::Error::json("the init lock", error))?;
        let label =
            (engine::names::CLUSTER_NAME.to_owned(), cluster.metadata.name.clone().unwrap_or_default());
        let lock = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.name),
                namespace: Some(name.namespace),
                labels: Some([label].into()),
                owner_references: Some(vec![owners::reference(cluster, &())]),
                ..ObjectMeta::default()
            },
            data: Some([(LOCK_KEY.to_owned(), text)].into()),
            ..ConfigMap::default()
        };
        let (existing, _) = self.config_maps.create_if_absent(&lock).await?;
        Ok(existing.data == lock.data)
    }

    async fn unlock(&self, cluster: &Cluster) -> Result<()> {
        if let Some(lock) = self.config_maps.get(&lock_name(cluster)) {
            self.config_maps.delete(lock.as_ref()).await?;
        }
        Ok(())
    }
}

/// Returns the owner reference of the Secret with the bootstrap data, in Cluster API's form.
fn data_owner(config: &KubeadmConfig) -> OwnerReference {
    OwnerReference { controller: Some(true), ..owners::reference(config, &()) }
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
