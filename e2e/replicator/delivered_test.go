package replicator_test

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// deliveredName is the Secret that somebody else brings: in production, Cluster API.
const deliveredName = "fairlead-source"

func (f *fixture) deliver(password string) {
	f.Helper()
	url := "http://user:" + password + "@proxy.example:3128"
	f.must(f.cp.Apply(f.Context(), []byte(`
apiVersion: v1
kind: Secret
metadata: {name: `+deliveredName+`, namespace: `+policies.Namespace+`, labels: {fairlead.io/secret: source}}
stringData: {HTTP_PROXY: "`+url+`", HTTPS_PROXY: "`+url+`", NO_PROXY: "localhost,.svc", HTTP_PROXY_PREVIOUS: "http://user:old@proxy.example:3128", FINGERPRINT: f}
`)))
}

func sixOf(password string) map[string][]byte {
	url, list := []byte("http://user:"+password+"@proxy.example:3128"), []byte("localhost,.svc")
	return map[string][]byte{"HTTP_PROXY": url, "http_proxy": url, "HTTPS_PROXY": url, "https_proxy": url, "NO_PROXY": list, "no_proxy": list}
}

// Nothing of the chart has a URL or a list; what is delivered is copied, also into the release's own namespace.
func TestWhatSomebodyElseBringsIsCopiedAndFollowed(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	f := on(t, controlplanetest.Start(t, controlplane.Options{}))
	given := values("")
	delete(given, "proxy")
	given["source"] = map[string]any{"existing": true}
	controlplanetest.Require(t, policies.Install(t.Context(), f.cp, given))
	f.start()
	namespace := f.namespace()
	f.awaitCopies("SourceMissing", 2)
	if f.secret(policies.Namespace) != nil || f.secret(namespace) != nil {
		t.Error("there is something to copy before it is brought")
	}
	f.deliver("first")
	for _, in := range []string{namespace, "default", policies.Namespace} {
		f.awaitData(in, sixOf("first"))
	}
	f.deliver("second")
	f.awaitData(namespace, sixOf("second"))
	f.awaitData(policies.Namespace, sixOf("second"))
	f.change(policies.Namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://elsewhere:1") })
	f.awaitData(policies.Namespace, sixOf("second"))
	f.checkDeliveredRights(namespace)
	f.must(f.client.Delete(t.Context(), secretNamed(policies.Namespace, deliveredName)))
	f.awaitCopies("SourceMissing", 2)
	f.awaitData(namespace, sixOf("second"))
}

// checkDeliveredRights: of the source, the token may know what it is, and change nothing.
func (f *fixture) checkDeliveredRights(namespace string) {
	f.Helper()
	more := maps.Clone(atHome)
	more["secrets "+deliveredName] = "list watch"
	names := rights.Union(everywhere, more)
	rightstest.May(f, f.cp, f.replicator.Config, names, map[string]rights.Table{namespace: everywhere, policies.Namespace: names})
	thief := f.clientFor(f.replicator.Config)
	beside := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: "beside", Labels: map[string]string{ourLabel: "proxy"}}, Type: corev1.SecretTypeOpaque}
	if err := thief.Create(f.Context(), beside, client.DryRunAll); !apierrors.IsForbidden(err) {
		f.Errorf("%s creates a Secret beside the source: %v", replicator.Name, err)
	}
}
