package cli

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/wiring"
)

// delivers is the Deployment of the program that delivers.
const delivers = "fairlead-deliver"

// wirer reads the objects to wire, and has the API server try the labels.
type wirer struct {
	*cluster.Cluster
	name     string
	in       wiring.Input
	objects  map[wiring.Ref]*unstructured.Unstructured // as they were read
	warnings io.Writer
}

// look writes nothing.
func (w *wirer) look(ctx context.Context, operator string) (wiring.Result, error) {
	for _, step := range []func(context.Context) error{
		w.cluster, w.workers, w.templates, w.report,
		func(ctx context.Context) error { return w.deliverer(ctx, operator) },
	} {
		if err := step(ctx); err != nil {
			return wiring.Result{}, err
		}
	}
	decided := wiring.Decide(w.in)
	answers := map[wiring.Ref]wiring.Answer{}
	for _, o := range decided {
		if o.State != wiring.Change {
			continue
		}
		before := w.objects[o.Ref]
		after, refused, err := w.Label(ctx, before, o.Labels, true)
		if err != nil {
			return wiring.Result{}, err
		}
		answers[o.Ref] = wiring.Answer{Before: before, After: after, Refused: refused}
	}
	return wiring.Judge(w.in, decided, answers), nil
}

func (w *wirer) cluster(ctx context.Context) error {
	object, err := w.One(ctx, clusterv1.ClusterKind, w.name)
	if err != nil {
		return err
	}
	if object == nil {
		return (&clusterReader{w.Cluster, diagnosis.Input{Namespace: w.Namespace, Name: w.name}}).notFound(ctx)
	}
	w.objects = map[wiring.Ref]*unstructured.Unstructured{{Kind: wiring.Cluster, Name: w.name}: object}
	w.in.Objects, w.in.Unread = w.objects, map[wiring.Source]string{}
	w.in.Cluster = &clusterv1.Cluster{}
	if err := (document.Document{File: "the cluster", Object: *object}).Fill(w.in.Cluster); err != nil || !w.in.Data {
		return err
	}
	with, err := w.ClustersWith(ctx, v1alpha1.DeliverLabel, w.name)
	for _, name := range with {
		if name != w.name {
			w.in.Others = append(w.in.Others, name)
		}
	}
	return err
}

// workers returns the workers of the whole namespace: a template may be another Cluster's, too.
func (w *wirer) workers(ctx context.Context) error {
	if !w.in.Nodes {
		return nil
	}
	deployments, err := w.Workers(ctx, "machinedeployments")
	if err != nil {
		return err
	}
	if w.in.Deployments, err = filled[clusterv1.MachineDeployment](deployments); err != nil {
		return err
	}
	pools, err := w.Workers(ctx, "machinepools")
	if err != nil {
		return err
	}
	w.in.Pools, err = filled[clusterv1.MachinePool](pools)
	return err
}

func (w *wirer) templates(ctx context.Context) error {
	if !w.in.Nodes {
		return nil
	}
	for _, ref := range wiring.Refs(w.in.Cluster, w.in.Deployments) {
		object, err := w.One(ctx, ref.Kind, ref.Name)
		if err != nil {
			return err
		}
		if object != nil {
			w.objects[ref] = object
		}
	}
	return nil
}

// unread notes that a right is missing; any other error is one.
func (w *wirer) unread(source wiring.Source, err error) error {
	return noteMissing(w.in.Unread, source, err)
}

func (w *wirer) report(ctx context.Context) error {
	object, err := w.ProxyReport(ctx, w.Namespace, w.name)
	if err != nil || object == nil {
		return w.unread(wiring.SourceReport, err)
	}
	w.in.Report = &v1alpha1.ProxyReport{}
	// The operator's version need not be this command's.
	if err := (document.Document{File: "the cluster", Object: *object}).DecodeForeign(w.in.Report, w.warnings); err != nil {
		return err
	}
	if w.in.Report.Status.ProxyName == "" || !w.in.Nodes {
		return nil
	}
	proxies, err := fleetOf{w.Cluster, "", w.warnings}.proxies(ctx, w.in.Report.Status.ProxyName)
	if err == nil && len(proxies) > 0 {
		w.in.Proxy = &proxies[0]
	}
	return w.unread(wiring.SourceProxy, err)
}

func (w *wirer) deliverer(ctx context.Context, namespace string) (err error) {
	if w.in.Data {
		w.in.Delivers, err = w.Runs(ctx, namespace, delivers)
	}
	return w.unread(wiring.SourceDeliver, err)
}
