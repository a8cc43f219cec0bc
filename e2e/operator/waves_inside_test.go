package operator_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// inside is a canary with a real API server, on which the chart and its probe are.
type inside struct {
	*waves
	name     string
	cp       *controlplane.ControlPlane
	clients  kubernetes.Interface
	targets  []any  // its own, beside those of the CorporateProxy
	folder   string // what is mounted into the pod of the probe
	delivers int
}

// newInside adds a canary to a fleet, and has observe read it.
func newInside(w *waves, name string, targets ...any) *inside {
	w.Helper()
	c := &inside{waves: w, name: name, cp: controlplanetest.Start(w, controlplane.Options{}), targets: targets, folder: w.TempDir()}
	c.clients = controlplanetest.Clients(w, c.cp)
	endpoint, err := url.Parse(c.cp.Admin().Host)
	w.must(err)
	port, err := strconv.Atoi(endpoint.Port())
	w.must(err)
	kubeconfig, err := observe.Kubeconfig(c.cp, c.cp.Admin())
	w.must(err)
	w.must(w.client.Create(w.Context(), observe.SecretOf(w.namespace, name, kubeconfig)))
	w.canary(name, func(cluster *clusterv1.Cluster) {
		cluster.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: endpoint.Hostname(), Port: int32(port)}
	})
	return c
}

// start runs the Deployment of the probe, with the settings of a revision.
func (c *inside) start(number int64) {
	c.Helper()
	c.deliver(number)
	_, err := deployment.Start(c.Context(), c.cp, policies.Namespace, probe.ConfigMapName,
		"--folder="+filepath.Join(c.folder, "settings"), "--targets="+filepath.Join(c.folder, "targets", "targets.yaml"))
	c.must(err)
}

// deliver brings the settings of a revision from <cluster>-cluster-values to the probe, as App CRs or Flux do, and the kubelet.
func (c *inside) deliver(number int64) {
	c.Helper()
	c.awaitRevision(number, c.name)
	values, _ := c.secrets(c.name)
	c.must(policies.Install(c.Context(), c.cp, map[string]any{
		"engine": "Native", "tunnels": map[string]any{"enabled": false}, "audit": map[string]any{"enabled": false},
		"probe": map[string]any{"enabled": true, "period": "10s", "discover": false, "targets": c.targets},
	}, values.Data[render.ValuesKey]))
	pod, err := c.clients.AppsV1().Deployments(policies.Namespace).Get(c.Context(), probe.ConfigMapName, metav1.GetOptions{})
	c.must(err)
	for _, volume := range pod.Spec.Template.Spec.Volumes {
		c.mount(volume)
	}
}

// mount has all files of a volume change at once.
func (c *inside) mount(volume corev1.Volume) {
	c.Helper()
	files := map[string][]byte{}
	if volume.ConfigMap != nil {
		found, err := c.clients.CoreV1().ConfigMaps(policies.Namespace).Get(c.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
		c.must(err)
		for name, text := range found.Data {
			files[name] = []byte(text)
		}
	} else {
		found, err := c.clients.CoreV1().Secrets(policies.Namespace).Get(c.Context(), volume.Projected.Sources[0].Secret.Name, metav1.GetOptions{})
		c.must(err)
		files = found.Data
	}
	c.delivers++
	folder, next := filepath.Join(c.folder, volume.Name), fmt.Sprint("..", c.delivers)
	c.must(os.MkdirAll(filepath.Join(folder, next), 0o700))
	for name, content := range files {
		c.must(os.WriteFile(filepath.Join(folder, next, name), content, 0o600))
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(folder, name)); !os.IsExist(err) {
			c.must(err)
		}
	}
	c.must(os.Symlink(next, filepath.Join(folder, "..data_tmp")))
	c.must(os.Rename(filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data")))
}

// awaitObserved awaits what observe says of the settings of a revision.
func (c *inside) awaitObserved(number int64, egress, message string) {
	c.Helper()
	report := &v1alpha1.ProxyReport{}
	controlplanetest.AwaitWithin(c, patience, fmt.Sprintf("%s: revision %d is %s", c.name, number, egress), func(ctx context.Context) (bool, error) {
		if err := c.client.Get(ctx, c.key(c.name), report); err != nil {
			return false, err
		}
		o := report.Status.Observed
		if o == nil || !strings.Contains(o.Revision, fmt.Sprintf("/%d/", number)) || o.Egress != egress || !strings.Contains(o.Message, message) {
			return false, fmt.Errorf("%+v", o)
		}
		return true, nil
	})
}
