package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

const (
	tokenPrefix = "pw-"
	tokenLength = len(tokenPrefix) + 6
	waveTimeout = 30 * time.Minute
)

// tokenOf is the one password that stands in a Secret, or nothing.
func tokenOf(data map[string][]byte) string {
	found := ""
	for _, value := range data {
		for {
			at := bytes.Index(value, []byte(tokenPrefix))
			if at < 0 {
				break
			}
			if value = value[at:]; len(value) < tokenLength || found != "" && string(value[:tokenLength]) != found {
				return ""
			}
			found, value = string(value[:tokenLength]), value[tokenLength:]
		}
	}
	return found
}

// fleetWatch knows what an administrator's watch has seen of the fleet's Secrets and reports.
type fleetWatch struct {
	config *rest.Config

	mu      sync.Mutex
	stop    context.CancelFunc
	secrets map[types.NamespacedName]string // tokens
	reports map[types.NamespacedName]string // the fingerprints in it
	waves   []*wave
	changes int // of these objects, by whomever
}

func startWatch(ctx context.Context, config *rest.Config) (*fleetWatch, error) {
	w := &fleetWatch{config: config, secrets: map[types.NamespacedName]string{}, reports: map[types.NamespacedName]string{}}
	return w, w.connect(ctx)
}

// connect begins the watches anew: after a failure they would wait before they try again.
func (w *fleetWatch) connect(ctx context.Context) error {
	if w.stop != nil {
		w.stop()
	}
	ctx, w.stop = context.WithCancel(ctx)
	ours, err := labels.Parse(render.SecretLabel)
	if err != nil {
		return err
	}
	objects, err := cache.New(w.config, cache.Options{
		Scheme: operator.Scheme, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&corev1.Secret{}: {Label: ours}},
	})
	if err != nil {
		return err
	}
	var synced []toolscache.InformerSynced
	for kind, see := range map[client.Object]func(o any, there bool){
		&corev1.Secret{}: func(o any, there bool) {
			secret := o.(*corev1.Secret)
			key, token := client.ObjectKeyFromObject(secret), tokenOf(secret.Data)
			w.see(w.secrets, key, token, there, func(v *wave) {
				if token != "" && (v.token == "" || token == v.token) {
					delete(v.secrets, key)
				}
			})
		},
		&v1alpha1.ProxyReport{}: func(o any, there bool) {
			report := o.(*v1alpha1.ProxyReport)
			key, now := client.ObjectKeyFromObject(report), fingerprints(report)
			w.see(w.reports, key, now, there, func(v *wave) {
				if before, waits := v.reports[key]; waits && bothDiffer(before, now) {
					delete(v.reports, key)
				}
			})
		},
	} {
		informer, err := objects.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { see(o, true) },
			UpdateFunc: func(_, o any) { see(o, true) },
			DeleteFunc: func(o any) {
				if unknown, is := o.(toolscache.DeletedFinalStateUnknown); is {
					o = unknown.Obj
				}
				see(o, false)
			},
		})
		if err != nil {
			return err
		}
		synced = append(synced, handler.HasSynced)
	}
	go objects.Start(ctx) //nolint:errcheck // it ends with the context
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return fmt.Errorf("watch the fleet: %w", ctx.Err())
	}
	return nil
}

// fingerprints returns the fingerprints of both Secrets, or "" without them.
func fingerprints(report *v1alpha1.ProxyReport) string {
	if len(report.Status.Secrets) < 2 {
		return ""
	}
	return report.Status.Secrets[0].HMAC + " " + report.Status.Secrets[1].HMAC
}

// bothDiffer reports whether both fingerprints have changed.
func bothDiffer(before, after string) bool {
	oldFirst, oldSecond, _ := strings.Cut(before, " ")
	first, second, _ := strings.Cut(after, " ")
	return first != "" && second != "" && first != oldFirst && second != oldSecond
}

// see notes an object as it is now, or that it is gone. Of one that is there, each wave takes what it waits for.
func (w *fleetWatch) see(known map[types.NamespacedName]string, key types.NamespacedName, is string, there bool, take func(*wave)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changes++
	if !there {
		delete(known, key)
		return
	}
	known[key] = is
	w.eachWave(take)
}

// eachWave also ends those that have seen all.
func (w *fleetWatch) eachWave(see func(*wave)) {
	open := w.waves[:0]
	for _, v := range w.waves {
		see(v)
		if len(v.secrets) == 0 && v.end.IsZero() {
			v.secretsEnd = time.Now()
		}
		if len(v.secrets)+len(v.reports) > 0 {
			open = append(open, v)
			continue
		}
		v.end = time.Now()
		close(v.done)
	}
	w.waves = open
}

// changed is how often something has changed so far.
func (w *fleetWatch) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}

// left are the objects of these clusters that are still there.
func (w *fleetWatch) left(clusters []types.NamespacedName) (left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cluster := range clusters {
		for _, key := range secretsOf(cluster) {
			if _, is := w.secrets[key]; is {
				left++
			}
		}
		if _, is := w.reports[cluster]; is {
			left++
		}
	}
	return left
}

func secretsOf(cluster types.NamespacedName) [2]types.NamespacedName {
	return [2]types.NamespacedName{
		{Namespace: cluster.Namespace, Name: cluster.Name + render.ValuesSuffix},
		{Namespace: cluster.Namespace, Name: cluster.Name + render.SystemdSuffix},
	}
}
