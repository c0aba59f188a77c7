//! Limit ranges complete and check pods and claims.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use machinery::status::Status;
use registry::{Input, Options, PatchBody, Registry, Subresource};
use serde_json::{Value, json};

use crate::registry::common::{self, context};

struct Plane(Registry);

impl Plane {
    /// A registry with one limit range.
    async fn new(limits: Value) -> Self {
        let plane = Self(common::open_with(Options::default()).await);
        plane.create("limitranges", "LimitRange", "limits", json!({"limits": limits})).await.unwrap();
        plane
    }

    async fn create(&self, plural: &str, kind: &str, name: &str, spec: Value) -> Result<Value, Status> {
        let served = self.0.served("", "v1", plural).unwrap();
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, "spec": spec});
        let written = self.0.create(&mut context(), &served, "default", Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    async fn pod(&self, containers: Value) -> Result<Value, Status> {
        self.create("pods", "Pod", "p", json!({"containers": containers})).await
    }

    async fn refusal(&self, containers: Value) -> String {
        let status = self.pod(containers).await.unwrap_err();
        assert_eq!(status.code, 403);
        status.message.strip_prefix("pods \"p\" is forbidden: ").unwrap().to_owned()
    }
}

fn container(name: &str, resources: Value) -> Value {
    json!({"name": name, "image": "x", "resources": resources})
}

#[tokio::test]
async fn containers_get_what_they_lack() {
    let plane = Plane::new(json!([{
        "type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"},
    }]))
    .await;
    let own = json!({"limits": {"cpu": "2"}, "requests": {"memory": "10Mi"}});
    let pod = plane.pod(json!([container("a", json!({})), container("b", own)])).await.unwrap();
    let resources = |index: usize| &pod["spec"]["containers"][index]["resources"];
    let memory = "1Gi";
    let all =
        json!({"limits": {"cpu": "1", "memory": memory}, "requests": {"cpu": "500m", "memory": memory}});
    assert_eq!(*resources(0), all);
    let kept = json!({"limits": {"cpu": "2", "memory": memory}, "requests": {"cpu": "2", "memory": "10Mi"}});
    assert_eq!(*resources(1), kept);
    let says = "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; \
                memory limit for container b";
    assert_eq!(pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"], says);
    assert_eq!(pod["status"]["qosClass"], "Burstable");
}

#[tokio::test]
async fn containers_stay_between_the_bounds() {
    let bounds = json!({
        "type": "Container", "min": {"cpu": "100m"}, "max": {"memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "2"}, "default": {"memory": "512Mi"},
    });
    let plane = Plane::new(json!([bounds])).await;
    let small = container("a", json!({"requests": {"cpu": "50m"}, "limits": {"cpu": "200m"}}));
    assert_eq!(
        plane.refusal(json!([small])).await,
        "[minimum cpu usage per Container is 100m, but request is 50m, \
         cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000]"
    );
    let large = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "2048Mi"}});
    assert_eq!(
        plane.refusal(json!([container("a", large)])).await,
        "maximum memory usage per Container is 1Gi, but limit is 2Gi"
    );
    let unlimited = container("a", json!({"requests": {"cpu": "1"}}));
    assert_eq!(
        plane.refusal(json!([unlimited])).await,
        "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0"
    );
    plane.pod(json!([container("a", json!({"limits": {"cpu": "1"}}))])).await.unwrap();
    let served = plane.0.served("", "v1", "pods").unwrap();
    let resized = container("a", json!({"requests": {"cpu": "10m"}, "limits": {"cpu": "10m"}}));
    let patch = PatchBody::Strategic(json!({"spec": {"containers": [resized]}}).to_string().into());
    let resize = Subresource::Resize;
    let status = plane.0.patch(&mut context(), &served, "default", "p", resize, patch).await.unwrap_err();
    let why = "pods \"p\" is forbidden: minimum cpu usage per Container is 100m, but request is 10m";
    assert_eq!(status.message, why);
}

#[tokio::test]
async fn pods_are_measured_by_the_sum_of_their_containers() {
    let plane = Plane::new(json!([{"type": "Pod", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}}])).await;
    let half = json!({"limits": {"cpu": "600m", "memory": "512Ki"}});
    assert_eq!(
        plane.refusal(json!([container("a", half.clone()), container("b", half)])).await,
        "maximum cpu usage per Pod is 1, but limit is 1200m"
    );
    let without = container("a", json!({}));
    assert_eq!(
        plane.refusal(json!([without])).await,
        "[minimum memory usage per Pod is 1Mi.  No request is specified, \
         maximum cpu usage per Pod is 1.  No limit is specified]"
    );
}

#[tokio::test]
async fn claims_ask_for_what_is_allowed() {
    let bounds = json!({"min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}});
    let mut limit = bounds;
    limit["type"] = "PersistentVolumeClaim".into();
    let plane = Plane::new(json!([limit])).await;
    let claim = async |storage: &str| {
        let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}});
        plane.create("persistentvolumeclaims", "PersistentVolumeClaim", "c", spec).await
    };
    let refused = "persistentvolumeclaims \"c\" is forbidden: ";
    assert_eq!(
        claim("10Gi").await.unwrap_err().message,
        format!("{refused}maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi")
    );
    assert_eq!(
        claim("1Mi").await.unwrap_err().message,
        format!("{refused}minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi")
    );
    claim("2Gi").await.unwrap();
}
