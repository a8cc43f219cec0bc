package inputs

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// Choose returns the installation that a cluster gets: that of the CorporateProxy
// which selects it, allows the labels of its namespace and has the highest
// priority. The error is a *resolve.Problem, or comes from get.
func Choose(proxies []v1alpha1.CorporateProxy, cluster *clusterv1.Cluster, namespace map[string]string, get SecretGetter) (resolve.Installation, error) {
	candidates, err := candidates(proxies, cluster.Labels, namespace)
	if err != nil {
		return resolve.Installation{}, err
	}
	name, err := resolve.Choose(Cluster(cluster), candidates)
	if err != nil {
		return resolve.Installation{}, err
	}
	chosen := slices.IndexFunc(proxies, func(p v1alpha1.CorporateProxy) bool { return p.Name == name })
	return Installation(&proxies[chosen], get)
}

// candidates evaluates the selectors of the proxies for one cluster. A selector
// that cannot be evaluated is a *resolve.Problem.
func candidates(proxies []v1alpha1.CorporateProxy, cluster, namespace map[string]string) ([]resolve.Candidate, error) {
	var all []resolve.Candidate
	for _, proxy := range proxies {
		selected, err := matches(proxy.Name, "spec.clusterSelector", proxy.Spec.ClusterSelector, cluster)
		if err != nil {
			return nil, err
		}
		allowed, err := matches(proxy.Name, "spec.allowedNamespaces", proxy.Spec.AllowedNamespaces, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, resolve.Candidate{Name: proxy.Name, Priority: proxy.Spec.Priority, Selected: selected, Allowed: allowed})
	}
	return all, nil
}

func matches(proxy, field string, selector *metav1.LabelSelector, set map[string]string) (bool, error) {
	if selector == nil {
		return true, nil // the CRD's default is the empty selector, which selects all
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return false, &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: "CorporateProxy " + proxy, Field: field, Detail: err.Error()}
	}
	return compiled.Matches(labels.Set(set)), nil
}
