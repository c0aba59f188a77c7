// A controller's own test suite, driven by envtest: KUBEBUILDER_ASSETS names the directory that `firstlight envtest` filled. It installs a
// CustomResourceDefinition of two versions and webhooks, runs a manager against them, and stops. With FIRSTLIGHT_ENVTEST_CONTROLLERS=1 garbage
// is collected and namespaces are emptied, otherwise neither. Exits 1 with the first thing that is not as it should be.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	finalizer = "test.firstlight.dev/finalizer"
	deadline  = 60 * time.Second
)

var (
	gardenKind    = schema.GroupVersionKind{Group: "test.firstlight.dev", Version: "v1", Kind: "Garden"}
	gardenKindOld = schema.GroupVersionKind{Group: "test.firstlight.dev", Version: "v1alpha1", Kind: "Garden"}
)

func main() {
	ctrl.SetLogger(zap.New(zap.UseDevMode(false)))
	ctx, cancel := context.WithTimeout(context.Background(), 3*deadline)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		return err
	}
	environment := &envtest.Environment{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()},
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			MutatingWebhooks:   []*admissionv1.MutatingWebhookConfiguration{mutating()},
			ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{validating()},
		},
	}
	begin := time.Now()
	config, err := environment.Start()
	if err != nil {
		return err
	}
	started := time.Since(begin)
	outcome := suite(ctx, environment, config)
	measured := ""
	if outcome == nil {
		measured, outcome = measureStarts(environment)
	}
	begin = time.Now()
	if err := environment.Stop(); err != nil {
		return errors.Join(outcome, err)
	}
	stopped := time.Since(begin)
	if outcome == nil {
		fmt.Printf("ok: envtest started in %d ms, stopped in %d ms; until healthy: %s\n", started.Milliseconds(), stopped.Milliseconds(), measured)
	}
	return outcome
}

func suite(ctx context.Context, environment *envtest.Environment, config *rest.Config) error {
	options := environment.WebhookInstallOptions
	listen := webhook.Options{Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Client:        client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Metrics:       server.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(listen),
	})
	if err != nil {
		return err
	}
	webhooks := manager.GetWebhookServer()
	webhooks.Register("/default", &webhook.Admission{Handler: admission.HandlerFunc(setDefault)})
	webhooks.Register("/validate", &webhook.Admission{Handler: admission.HandlerFunc(validate)})
	webhooks.Register("/convert", http.HandlerFunc(convert))
	err = ctrl.NewControllerManagedBy(manager).For(garden(gardenKind, "")).Owns(&corev1.ConfigMap{}).Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	managed, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(managed) }()
	direct, err := client.New(config, client.Options{})
	if err == nil {
		err = eventually(ctx, "the webhook server serves", func(context.Context) (bool, error) {
			return webhooks.StartedChecker()(nil) == nil, nil
		})
	}
	for _, step := range []func(context.Context, *envtest.Environment, client.Client) error{reconciled, admitted, converted, roles, deleted} {
		if err == nil {
			err = step(ctx, environment, direct)
		}
	}
	stop()
	return errors.Join(err, <-ended)
}

// reconciled: what the manager makes of a Garden, and that it keeps it so.
func reconciled(ctx context.Context, _ *envtest.Environment, c client.Client) error {
	object := garden(gardenKind, "roses")
	object.Object["spec"] = map[string]any{"plots": int64(2)}
	if err := c.Create(ctx, object); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(object)
	grown := func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, object)
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase == "Grown", err
	}
	if err := eventually(ctx, "the Garden is Grown", grown); err != nil {
		return err
	}
	soil, _, _ := unstructured.NestedString(object.Object, "spec", "soil")
	if soil != "loam" || !controllerutil.ContainsFinalizer(object, finalizer) || object.GetGeneration() != 1 {
		return fmt.Errorf("unexpected Garden: %v", object.Object)
	}
	owned := &corev1.ConfigMap{}
	if err := c.Get(ctx, key, owned); err != nil {
		return err
	}
	if !metav1.IsControlledBy(owned, object) || owned.ManagedFields[0].Manager != "garden" || owned.Data["plots"] != "2" {
		return fmt.Errorf("unexpected ConfigMap: %v", owned)
	}
	if err := c.Delete(ctx, owned); err != nil {
		return err
	}
	return eventually(ctx, "the deleted ConfigMap is back", func(ctx context.Context) (bool, error) {
		found := &corev1.ConfigMap{}
		err := c.Get(ctx, key, found)
		return err == nil && found.UID != owned.UID, client.IgnoreNotFound(err)
	})
}

// admitted: the validating webhook's and the schema's refusals.
func admitted(ctx context.Context, _ *envtest.Environment, c client.Client) error {
	object := garden(gardenKind, "weeds")
	object.Object["spec"] = map[string]any{"plots": int64(13)}
	if err := c.Create(ctx, object); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "13 plots bring bad luck") {
		return fmt.Errorf("the webhook's refusal: %w", err)
	}
	object.Object["spec"] = map[string]any{"plots": int64(0)}
	if err := c.Create(ctx, object); !apierrors.IsInvalid(err) {
		return fmt.Errorf("the schema's refusal: %w", err)
	}
	return nil
}

// converted: the Garden in the old version, by the conversion webhook that is called at a URL.
func converted(ctx context.Context, environment *envtest.Environment, c client.Client) error {
	options := environment.WebhookInstallOptions
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, client.ObjectKey{Name: definition().Name}, crd); err != nil {
		return err
	}
	url := fmt.Sprintf("https://%s:%d/convert", options.LocalServingHost, options.LocalServingPort)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: options.LocalServingCAData},
		},
	}
	if err := c.Update(ctx, crd); err != nil {
		return err
	}
	old := garden(gardenKindOld, "roses")
	return eventually(ctx, "the old version has its own field", func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(old), old)
		beds, _, _ := unstructured.NestedInt64(old.Object, "spec", "beds")
		return beds == 2, err
	})
}

// roles: a user of envtest may do what a role says, and no more.
func roles(ctx context.Context, environment *envtest.Environment, c client.Client) error {
	user, err := environment.AddUser(envtest.User{Name: "gardener", Groups: []string{"gardeners"}}, nil)
	if err != nil {
		return err
	}
	limited, err := client.New(user.Config(), client.Options{})
	if err != nil {
		return err
	}
	found := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: "default", Name: "roses"}
	if err := limited.Get(ctx, key, found); !apierrors.IsForbidden(err) {
		return fmt.Errorf("a user without a role: %w", err)
	}
	meta := metav1.ObjectMeta{Name: "gardeners", Namespace: "default"}
	rule := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}
	if err := c.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "gardeners"}},
	}
	if err := c.Create(ctx, binding); err != nil {
		return err
	}
	return limited.Get(ctx, key, found)
}

// deleted: the finalizer, then what a cluster's controllers do, if they run.
func deleted(ctx context.Context, _ *envtest.Environment, c client.Client) error {
	controllers := os.Getenv("FIRSTLIGHT_ENVTEST_CONTROLLERS") == "1"
	object := garden(gardenKind, "roses")
	if err := c.Delete(ctx, object); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(object)
	gone := func(object client.Object) wait.ConditionWithContextFunc {
		return func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
	}
	if err := eventually(ctx, "the Garden goes", gone(object)); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "meadow"}}
	inside := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "grass", Namespace: namespace.Name}}
	for _, object := range []client.Object{namespace, inside} {
		if err := c.Create(ctx, object); err != nil {
			return err
		}
	}
	if err := c.Delete(ctx, namespace); err != nil {
		return err
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace}}
	if controllers {
		return errors.Join(
			eventually(ctx, "the ConfigMap of the Garden is collected", gone(owned)),
			eventually(ctx, "the namespace is emptied and goes", gone(namespace)),
		)
	}
	for _, object := range []client.Object{owned, namespace, inside} {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return fmt.Errorf("nobody collects without controllers: %w", err)
		}
	}
	if namespace.Status.Phase != corev1.NamespaceTerminating {
		return fmt.Errorf("the namespace is %s", namespace.Status.Phase)
	}
	return nil
}

// reconciler keeps a ConfigMap for each Garden, and says so in the Garden's status.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := garden(gardenKind, request.Name)
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := object.DeepCopy()
	if !object.GetDeletionTimestamp().IsZero() {
		controllerutil.RemoveFinalizer(object, finalizer)
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, object, client.MergeFrom(before)))
	}
	if controllerutil.AddFinalizer(object, finalizer) {
		if err := r.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, err
		}
	}
	plots, _, _ := unstructured.NestedInt64(object.Object, "spec", "plots")
	owner := metav1apply.OwnerReference().WithAPIVersion(gardenKind.GroupVersion().String()).WithKind(gardenKind.Kind).
		WithName(object.GetName()).WithUID(object.GetUID()).WithController(true).WithBlockOwnerDeletion(true)
	wanted := corev1apply.ConfigMap(request.Name, request.Namespace).WithOwnerReferences(owner).WithData(map[string]string{"plots": fmt.Sprint(plots)})
	if err := r.Apply(ctx, wanted, client.FieldOwner("garden"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	before = object.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, "Grown", "status", "phase"); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Status().Patch(ctx, object, client.MergeFrom(before))
}

func setDefault(_ context.Context, request admission.Request) admission.Response {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if err := unstructured.SetNestedField(object.Object, "loam", "spec", "soil"); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	changed, err := json.Marshal(object.Object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

func validate(_ context.Context, request admission.Request) admission.Response {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(request.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if plots, _, _ := unstructured.NestedInt64(object.Object, "spec", "plots"); plots == 13 {
		return admission.Denied("13 plots bring bad luck")
	}
	return admission.Allowed("")
}

// convert renames spec.plots of v1 to spec.beds of v1alpha1, and back.
func convert(writer http.ResponseWriter, request *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(request.Body).Decode(review); err != nil {
		http.Error(writer, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	from, to := "plots", "beds"
	if review.Request.DesiredAPIVersion == gardenKind.GroupVersion().String() {
		from, to = to, from
	}
	for _, raw := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw.Raw); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		object.SetAPIVersion(review.Request.DesiredAPIVersion)
		if spec, _, _ := unstructured.NestedMap(object.Object, "spec"); spec[from] != nil {
			spec[to] = spec[from]
			delete(spec, from)
			object.Object["spec"] = spec
		}
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	review.Request = nil
	_ = json.NewEncoder(writer).Encode(review)
}

func garden(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetName(name)
	object.SetNamespace("default")
	return object
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	version := func(name, field string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		number := apiextensionsv1.JSONSchemaProps{Type: "integer", Minimum: ptr.To(1.0)}
		spec := apiextensionsv1.JSONSchemaProps{
			Type:       "object",
			Properties: map[string]apiextensionsv1.JSONSchemaProps{field: number, "soil": {Type: "string"}},
		}
		phase := map[string]apiextensionsv1.JSONSchemaProps{"phase": {Type: "string"}}
		properties := map[string]apiextensionsv1.JSONSchemaProps{"spec": spec, "status": {Type: "object", Properties: phase}}
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gardens." + gardenKind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gardenKind.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gardens", Singular: "garden", Kind: "Garden", ListKind: "GardenList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version(gardenKind.Version, "plots", true), version(gardenKindOld.Version, "beds", false),
			},
		},
	}
}

// rules: as suites write them; envtest replaces the service by its own host and port.
func rules(path string) (admissionv1.WebhookClientConfig, []admissionv1.RuleWithOperations) {
	service := &admissionv1.ServiceReference{Name: "garden", Namespace: "default", Path: &path}
	return admissionv1.WebhookClientConfig{Service: service}, []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{gardenKind.Group}, APIVersions: []string{"v1"}, Resources: []string{"gardens"}},
	}}
}

func mutating() *admissionv1.MutatingWebhookConfiguration {
	config, rules := rules("/default")
	return &admissionv1.MutatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "garden-default"},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name: "default.garden.test.firstlight.dev", ClientConfig: config, Rules: rules,
			AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		}},
	}
}

func validating() *admissionv1.ValidatingWebhookConfiguration {
	config, rules := rules("/validate")
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "garden-validate"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "validate.garden.test.firstlight.dev", ClientConfig: config, Rules: rules,
			AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		}},
	}
}

func eventually(ctx context.Context, what string, condition wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, deadline, true, condition); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
