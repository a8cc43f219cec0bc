package main

import (
	"context"
	"errors"
	"os"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

// side is a control plane with Fairlead installed.
type side struct {
	cp     *controlplane.ControlPlane
	client client.Client  // an administrator's, without cache
	admin  rest.Interface // the same, for bodies that are made already
	watch  *fleetWatch
}

func newSide(ctx context.Context) (_ *side, err error) {
	s := &side{}
	if s.cp, err = controlplane.Start(ctx, controlplane.Options{Progress: os.Stderr, AuditPolicy: auditPolicy, Content: operator.Content}); err != nil {
		return nil, err
	}
	if err := s.fill(ctx); err != nil {
		return nil, errors.Join(err, s.cp.Stop())
	}
	return s, nil
}

func (s *side) fill(ctx context.Context) (err error) {
	if err := operator.Install(ctx, s.cp); err != nil {
		return err
	}
	err = s.cp.StartControllerManager(ctx, controlplane.GarbageCollector, controlplane.ClusterRoleAggregation, controlplane.NamespaceDeletion)
	if err != nil {
		return err
	}
	if s.client, err = client.New(s.cp.Admin(), client.Options{Scheme: operator.Scheme}); err != nil {
		return err
	}
	if s.admin, err = bare(s.cp.Admin()); err != nil {
		return err
	}
	s.watch, err = startWatch(ctx, s.cp.Admin())
	return err
}

// bare is a client that takes any path and reads no answer.
func bare(config *rest.Config) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}
