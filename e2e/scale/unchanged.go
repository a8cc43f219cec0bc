package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
)

func (l *lab) touchSource(ctx context.Context) error {
	l.begins("the proxy's Secret is touched")
	if err := l.awaitRecorded(ctx); err != nil {
		return err
	}
	c, err := l.during(ctx, func() error {
		return touch(ctx, l.ours.client, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxyName}})
	})
	l.addUnchanged("proxy's Secret touched", c)
	return err
}

// awaitRecorded awaits that the operator has removed the mark of the last change.
func (l *lab) awaitRecorded(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, waveTimeout, true, func(ctx context.Context) (bool, error) {
		proxy := &v1alpha1.CorporateProxy{}
		err := l.ours.client.Get(ctx, client.ObjectKey{Name: proxyName}, proxy)
		return proxy.Status.Applying == nil, err
	})
	if err != nil {
		return fmt.Errorf("await the end of the last change: %w", err)
	}
	_, err = l.operator.quiet(ctx) // its Event comes a moment later
	return err
}

func (l *lab) touchClusters(ctx context.Context) error {
	l.begins("all clusters are touched")
	c, err := l.during(ctx, func() error {
		return each(ctx, creators, l.fleet, func(ctx context.Context, _ int, key types.NamespacedName) error {
			return touch(ctx, l.ours.client, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
		})
	})
	l.addUnchanged("all clusters touched", c)
	return err
}

func (l *lab) addUnchanged(what string, c counted) {
	l.add(what+": requests", c.requests.String())
	l.add(what+": operator's processor time", seconds(c.used))
	if l.delivery != nil {
		l.add(what+": requests of deliver", c.delivery.String())
	}
}

// rest measures a time without any change: the requests in it, and the memory after it.
func (l *lab) rest(ctx context.Context) error {
	l.begins("%s of rest", l.options.Rest)
	mark, err := l.ours.cp.AuditMark()
	if err != nil {
		return err
	}
	before, err := process.CPUTime(l.operator.pid())
	if err != nil {
		return err
	}
	select {
	case <-time.After(l.options.Rest):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := process.CPUTime(l.operator.pid())
	if err != nil {
		return err
	}
	asked, err := requestsOf(operator.User, l.ours.cp, mark)
	if err != nil {
		return err
	}
	used, err := l.operator.memory()
	if err != nil {
		return err
	}
	l.add(fmt.Sprintf("%s of rest: requests, beside the lease", l.options.Rest), asked.String())
	l.add(fmt.Sprintf("%s of rest: operator's processor time", l.options.Rest), fmt.Sprintf("%.2f s", (after-before).Seconds()))
	l.add("memory at rest; of it pages of its program", mebibytes(used.Now)+"; "+mebibytes(used.File))
	return nil
}
