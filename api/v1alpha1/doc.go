// Package v1alpha1 holds the three kinds of Fairlead, API group fairlead.io.
// The comments on fields are documentation for users: they become the CRDs'
// descriptions.
//
// +kubebuilder:object:generate=true
// +groupName=fairlead.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is fairlead.io/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: "fairlead.io", Version: "v1alpha1"}

// AddToScheme registers the kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&CorporateProxy{}, &CorporateProxyList{},
		&ProxyOverride{}, &ProxyOverrideList{},
		&ProxyReport{}, &ProxyReportList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
