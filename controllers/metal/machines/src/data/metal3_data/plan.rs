//! The rules of a Metal3Data: what it needs, what is rendered, and what is wrong.

use engine::finalizer;
use engine::object::is_deleting;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::infrastructure::{Metal3Data, Metal3DataTemplate};
use schemas::metal3::SecretReference;
use serde_json::Value;

use super::claims::{Lease, Leased, controller_of};
use super::observed::Observed;
use crate::data::names::{
    DATA_FINALIZER, METADATA_KEY, NETWORK_DATA_KEY, SECRET_TYPE, metadata_secret, network_data_secret,
};
use crate::data::pools::{Addresses, PoolReference};
use crate::data::subject::Subject;
use crate::data::{metadata, network_data};

/// What to do for a Metal3Data.
#[derive(Debug, Default)]
pub struct Plan {
    /// The Metal3Data as it should be.
    pub wanted: Metal3Data,
    /// The pools from which an address is to be claimed, with the names of the claims.
    pub claims: Vec<(PoolReference, String)>,
    /// The Secrets to create.
    pub secrets: Vec<Secret>,
    /// Whether all claims of addresses are to be deleted.
    pub returns_addresses: bool,
}

/// What the data are waiting for.
enum Waits {
    /// An object that another controller creates or changes.
    Silently,
    /// Somebody who corrects this.
    For(String),
}

impl From<String> for Waits {
    fn from(message: String) -> Self {
        Self::For(message)
    }
}

/// Computes the plan.
pub fn plan(observed: &Observed) -> Plan {
    let mut plan = Plan { wanted: observed.data.as_ref().clone(), ..Plan::default() };
    if is_deleting(observed.data.as_ref()) {
        // The machine may use its addresses as long as its claim exists.
        if !observed.has_claim && finalizer::remove(&mut plan.wanted, DATA_FINALIZER) {
            plan.returns_addresses = true;
        }
        return plan;
    }
    let outcome = render(observed, &mut plan);
    let status = plan.wanted.status.get_or_insert_default();
    status.ready = Some(outcome.is_ok());
    status.error_message = match outcome {
        Err(Waits::For(message)) => Some(message),
        Ok(()) | Err(Waits::Silently) => None,
    };
    plan
}

/// Renders what is missing. Returns what it waits for, if it is not complete.
fn render(observed: &Observed, plan: &mut Plan) -> Result<(), Waits> {
    let template = template(observed)?;
    let machine = observed.metal3_machine.as_ref().ok_or(Waits::Silently)?;
    let machine = machine.metadata.name.as_deref().unwrap_or_default();
    let (has_metadata, has_network_data) =
        (template.spec.meta_data.is_some(), template.spec.network_data.is_some());
    let namespace = &observed.data.metadata.namespace;
    let reference = |name: String| Some(SecretReference { name: Some(name), namespace: namespace.clone() });
    if has_metadata {
        plan.wanted.spec.meta_data = reference(metadata_secret(machine));
    }
    if has_network_data {
        plan.wanted.spec.network_data = reference(network_data_secret(machine));
    }
    // Secrets are never rendered again, so that a machine can be provisioned again with the same data.
    let needs_metadata = has_metadata && !observed.has_metadata;
    let needs_network_data = has_network_data && !observed.has_network_data;
    if !needs_metadata && !needs_network_data {
        return Ok(());
    }
    if let Some(host) = &observed.missing_host {
        return Err(Waits::For(format!(
            "there is no BareMetalHost {host}, which is in the annotations of Metal3Machine {machine}"
        )));
    }
    let subject = observed.subject.as_ref().ok_or(Waits::Silently)?;
    let addresses = addresses(observed, plan)?;
    // Both Secrets or none, so that they show one state of the machine.
    let mut secrets = Vec::new();
    if needs_metadata && let Some(rules) = &template.spec.meta_data {
        let index = observed.data.spec.index.unwrap_or_default();
        let data = metadata::render(rules, index, subject, &addresses).map_err(|problem| {
            format!("spec.metaData of Metal3DataTemplate {}: {problem}", name(template))
        })?;
        let data = Value::Object(data.into_iter().map(|(key, text)| (key, text.into())).collect());
        secrets.push(secret(&observed.data, subject, metadata_secret(machine), METADATA_KEY, &data)?);
    }
    if needs_network_data && let Some(rules) = &template.spec.network_data {
        let data = network_data::render(rules, subject, &addresses).map_err(|problem| {
            format!("spec.networkData of Metal3DataTemplate {}: {problem}", name(template))
        })?;
        secrets.push(secret(&observed.data, subject, network_data_secret(machine), NETWORK_DATA_KEY, &data)?);
    }
    plan.secrets = secrets;
    Ok(())
}

fn template(observed: &Observed) -> Result<&Metal3DataTemplate, Waits> {
    if let Some(template) = &observed.template {
        return Ok(template);
    }
    let reference = observed.data.spec.template.clone().unwrap_or_default();
    let namespace = observed.data.metadata.namespace.as_deref().unwrap_or_default();
    let name = reference.name.unwrap_or_default();
    Err(Waits::For(format!("there is no Metal3DataTemplate {namespace}/{name}")))
}

fn name(template: &Metal3DataTemplate) -> String {
    engine::NamespacedName::of(template).to_string()
}

/// Returns the addresses of all pools, and plans the missing claims.
fn addresses(observed: &Observed, plan: &mut Plan) -> Result<Addresses, Waits> {
    let leases = observed.leases.as_ref().map_err(|problem| Waits::For(problem.clone()))?;
    let (mut addresses, mut problems, mut is_complete) = (Addresses::new(), Vec::new(), true);
    for (name, Leased { pool, claim, lease }) in leases {
        is_complete &= matches!(lease, Lease::Given(_));
        match lease {
            Lease::Missing => plan.claims.push((pool.clone(), claim.clone())),
            Lease::Foreign(problem) => problems.push(problem.clone()),
            Lease::Waiting(Some(problem)) => {
                problems.push(format!("pool {name:?} gives no address to claim {claim:?}: {problem}"));
            }
            Lease::Waiting(None) => {}
            Lease::Given(address) => drop(addresses.insert(name.clone(), address.clone())),
        }
    }
    match (is_complete, problems.is_empty()) {
        (true, _) => Ok(addresses),
        (false, true) => Err(Waits::Silently),
        (false, false) => Err(Waits::For(problems.join("; "))),
    }
}

/// Creates a Secret with `data` as YAML.
fn secret(
    owner: &Metal3Data,
    subject: &Subject,
    name: String,
    key: &str,
    data: &Value,
) -> Result<Secret, String> {
    let text =
        machinery::yaml::write(data).map_err(|error| format!("it cannot be written as YAML: {error}"))?;
    let cluster = subject.machine.spec.cluster_name.clone();
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: owner.metadata.namespace.clone(),
            labels: Some([(engine::names::CLUSTER_NAME.to_owned(), cluster)].into()),
            owner_references: Some(vec![controller_of(owner)]),
            ..ObjectMeta::default()
        },
        data: Some([(key.to_owned(), ByteString(text.into_bytes()))].into()),
        type_: Some(SECRET_TYPE.to_owned()),
        ..Secret::default()
    })
}
