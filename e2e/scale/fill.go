package main

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/operator"
)

// holdLease keeps the operator a standby, until the lease is deleted.
func (l *lab) holdLease(ctx context.Context) (*coordinationv1.Lease, error) {
	holder, hour, now := "scale", int32(3600), metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "fairlead-operator"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &hour, AcquireTime: &now, RenewTime: &now},
	}
	return lease, l.ours.client.Create(ctx, lease)
}

// awaitLeader returns when somebody has the lease again.
func (l *lab) awaitLeader(ctx context.Context) error {
	key := client.ObjectKey{Namespace: operator.Namespace, Name: "fairlead-operator"}
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		lease := &coordinationv1.Lease{}
		err := l.ours.client.Get(ctx, key, lease)
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "", client.IgnoreNotFound(err)
	})
}

// fill has a standby fill its caches first, so that the fleet is there and nothing is written.
func (l *lab) fill(ctx context.Context) error {
	l.begins("operator starts")
	lease, err := l.holdLease(ctx)
	if err != nil {
		return err
	}
	if err := l.operator.start(ctx); err != nil {
		return err
	}
	start, err := l.operator.memory()
	if err != nil {
		return err
	}
	l.begins("first fill")
	expected := l.ours.watch.expect(l.fleet, token(l.tokens), true)
	if err := l.ours.client.Delete(ctx, lease); err != nil {
		return err
	}
	if err := l.awaitLeader(ctx); err != nil {
		return err
	}
	begin, end := time.Now(), time.Time{}
	c, err := l.during(ctx, func() (err error) { end, err = expected.await(ctx); return err })
	if err != nil {
		return err
	}
	filled, err := l.operator.memory()
	if err != nil {
		return err
	}
	l.add("first fill", seconds(end.Sub(begin)))
	l.add("first fill: requests", count(c.requests.sum()))
	l.add("first fill: which", c.requests.String())
	l.add("memory at start, caches filled", mebibytes(start.Now))
	l.add("memory after the fill; peak so far", mebibytes(filled.Now)+"; "+mebibytes(filled.Peak))
	return nil
}
