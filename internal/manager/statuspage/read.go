package statuspage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/picture"
	"github.com/fairlead-io/fairlead/internal/version"
)

// Options say whose fleet is shown.
type Options struct {
	Namespace      string // the operator's own
	LeaderElection bool   // there is a Lease
	Texts          Texts
}

// Add serves the page beside the metrics of a manager, to whoever the API server knows and lets.
func Add(mgr manager.Manager, opts Options) error {
	filter, err := Filter(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	log := ctrl.Log.WithName("status-page")
	r := reader{informers: mgr.GetCache(), cached: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: opts.Namespace, elects: opts.LeaderElection}
	handler, err := filter(log, &fleet{look: r.look, texts: opts.Texts, now: time.Now, log: log})
	if err != nil {
		return err
	}
	handler = guarded(opts.Texts, handler)
	return errors.Join(mgr.AddMetricsServerExtraHandler(PagePath, handler), mgr.AddMetricsServerExtraHandler(JSONPath, handler))
}

// reader reads the caches, which a replica on standby has as well, and the operator's Lease, of which there is no cache.
type reader struct {
	informers    cache.Informers
	cached, live client.Reader
	namespace    string
	elects       bool
}

func (r reader) look(ctx context.Context) (looked, error) {
	in := picture.Input{Now: time.Now(), OperatorNamespace: r.namespace, Unread: map[diagnosis.Source]string{}}
	var reports v1alpha1.ProxyReportList
	var proxies v1alpha1.CorporateProxyList
	var clusters clusterv1.ClusterList
	for _, object := range []client.Object{&v1alpha1.ProxyReport{}, &v1alpha1.CorporateProxy{}, &clusterv1.Cluster{}} {
		if _, err := r.informers.GetInformer(ctx, object); err != nil { // which waits: half a fleet is none
			return looked{}, err
		}
	}
	for _, list := range []client.ObjectList{&reports, &proxies, &clusters} {
		if err := r.cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // the picture changes nothing
			return looked{}, err
		}
	}
	in.Reports, in.Proxies = reports.Items, proxies.Items
	for i := range clusters.Items {
		in.Clusters = append(in.Clusters, clusters.Items[i].ObjectMeta)
	}
	if err := r.lease(ctx, &in); err != nil {
		return looked{}, err
	}
	p := picture.Of(in)
	digest, err := digest(p)
	return looked{p, digest}, err
}

func (r reader) lease(ctx context.Context, in *picture.Input) error {
	if !r.elects {
		in.Unread[diagnosis.SourceOperator] = "it elects no leader"
		return nil
	}
	var lease coordinationv1.Lease
	err := r.live.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: diagnosis.LeaseName}, &lease)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case lease.Spec.RenewTime == nil || lease.Spec.HolderIdentity == nil || lease.Spec.LeaseDurationSeconds == nil:
		return nil
	}
	in.Lease = &diagnosis.Lease{
		Holder: *lease.Spec.HolderIdentity, Renewed: lease.Spec.RenewTime.Time, Duration: time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second,
	}
	return nil
}

// aging is after what time a page changes although nothing has happened: it says how long something is wrong.
const aging = 10 * time.Minute

// digest returns a hash of the content that a reader sees, without the seconds that pass.
func digest(p picture.Picture) (string, error) {
	sum := sha256.New()
	p.Time = metav1.NewTime(p.Time.Truncate(aging))
	if err := json.NewEncoder(sum).Encode(p); err != nil {
		return "", err
	}
	for i := range p.Clusters {
		if report := p.Clusters[i].Report; report != nil {
			fmt.Fprintf(sum, "%s %s\n", report.UID, report.ResourceVersion)
		}
	}
	fmt.Fprintln(sum, version.Version)
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
