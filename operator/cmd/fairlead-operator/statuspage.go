package main

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/fairlead-io/fairlead/internal/cli/pictured"
	"github.com/fairlead-io/fairlead/internal/manager/controller"
	"github.com/fairlead-io/fairlead/internal/manager/statuspage"
)

// addStatusPage serves the page that "fairlead status -o html" writes.
func addStatusPage(mgr manager.Manager, opts controller.Options) error {
	signIn, err := pictured.SignIn()
	if err != nil {
		return err
	}
	return statuspage.Add(mgr, statuspage.Options{
		Namespace: opts.Namespace, LeaderElection: opts.LeaderElection,
		Texts: statuspage.Texts{Page: pictured.Live, SignIn: signIn, Policy: pictured.LivePolicy()},
	})
}
