// Package v1alpha1 stands in for the types of Metal3's operator for Ironic.
//
// baremetal-operator imports them to read the address of an Ironic from an Ironic object, which it does only if IRONIC_NAME is set. The
// takeover's test sets IRONIC_ENDPOINT instead, so that these types are compiled and never used. They exist here because the Go proxy does
// not have the module of that version everywhere.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// IronicStatusReady is the type of the condition of an Ironic that can be used.
const IronicStatusReady = "Ready"

// Ironic has the fields that baremetal-operator reads.
type Ironic struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		APICredentialsName string `json:"apiCredentialsName"`
		TLS                struct {
			CertificateName string `json:"certificateName"`
		} `json:"tls"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// DeepCopyObject makes Ironic an object.
func (ironic *Ironic) DeepCopyObject() runtime.Object {
	copied := *ironic
	ironic.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// AddToScheme adds nothing: no object of this kind is ever read.
func AddToScheme(*runtime.Scheme) error {
	return nil
}
