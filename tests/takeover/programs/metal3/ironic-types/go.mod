module github.com/metal3-io/ironic-standalone-operator/api

go 1.25.0

require (
	k8s.io/apimachinery v0.35.6
	sigs.k8s.io/controller-runtime v0.23.3
)
