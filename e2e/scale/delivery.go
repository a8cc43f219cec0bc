package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/deliver"
)

// startDelivery starts deliver for a fleet that has its Secrets. No Cluster API runs here: what it is given is counted, and not
// whether it arrives.
func (l *lab) startDelivery(ctx context.Context) error {
	if l.delivery == nil {
		return nil
	}
	l.begins("first delivery")
	mark, err := l.ours.cp.AuditMark()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := l.delivery.start(ctx); err != nil {
		return err
	}
	end, err := l.delivery.quiet(ctx)
	if err != nil {
		return err
	}
	asked, err := requestsOf(deliver.User, l.ours.cp, mark)
	if err != nil {
		return err
	}
	if asked.writes() == 0 {
		return errors.New("the audit log has no write of deliver: it is not told of")
	}
	made := &corev1.SecretList{}
	if err := l.ours.client.List(ctx, made, client.HasLabels{v1alpha1.DeliverLabel}); err != nil {
		return err
	}
	if want := 2 * len(l.fleet); len(made.Items) != want { // one with the settings, one with their Namespace
		return fmt.Errorf("deliver has made %d Secrets for %d clusters, not %d", len(made.Items), len(l.fleet), want)
	}
	l.add("first delivery", seconds(end.Sub(begin)))
	l.add("first delivery: requests", asked.String())
	return nil
}
