package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/picture"
)

// picturedCluster lists the objects of the page, each kind once. Without the reports it fails. Another kind that may
// not be listed is noted.
func picturedCluster(ctx context.Context, from *cluster.Cluster, operator string) (picture.Input, error) {
	in := picture.Input{OperatorNamespace: operator, Unread: map[diagnosis.Source]string{}}
	objects, err := from.ProxyReports(ctx)
	if err == nil {
		in.Reports, err = filled[v1alpha1.ProxyReport](objects)
	}
	if err != nil {
		return in, err
	}
	objects, err = from.CorporateProxies(ctx, "")
	if err = noteMissing(in.Unread, diagnosis.SourceProxy, err); err == nil {
		in.Proxies, err = filled[v1alpha1.CorporateProxy](objects)
	}
	if err != nil {
		return in, err
	}
	if in.Clusters, err = from.Clusters(ctx, from.Namespace, ""); noteMissing(in.Unread, diagnosis.SourceCluster, err) != nil {
		return in, err
	}
	lease, err := from.Lease(ctx, operator, diagnosis.LeaseName)
	in.Lease, in.Now = leaseOf(lease), time.Now()
	return in, noteMissing(in.Unread, diagnosis.SourceOperator, err)
}

// filled leaves out what this version does not know: a warning for each of five thousand reports is none.
func filled[T any](objects []unstructured.Unstructured) ([]T, error) {
	all := make([]T, len(objects))
	for i := range objects {
		if err := (document.Document{File: "the cluster", Object: objects[i]}).Fill(&all[i]); err != nil {
			return nil, err
		}
		objects[i].Object = nil // which is as large as the rest
	}
	return all, nil
}

// notInFiles is why something is not known.
const notInFiles = "not in the files"

// picturedFiles reads the same from files.
func picturedFiles(opts pictureOptions, stdin io.Reader, warnings io.Writer) (picture.Input, error) {
	in := picture.Input{Now: time.Now(), OperatorNamespace: opts.operatorNamespace, Unread: map[diagnosis.Source]string{
		diagnosis.SourceOperator: notInFiles, diagnosis.SourceProxy: notInFiles, diagnosis.SourceCluster: notInFiles,
	}}
	documents, err := readDocuments(opts.files, opts.recursive, stdin, warnings)
	if err != nil {
		return in, err
	}
	within := opts.Namespace
	if opts.AllNamespaces {
		within = ""
	}
	found := 0
	for _, d := range documents {
		if d.Is("ProxyReport", v1alpha1.GroupVersion.String()) {
			found++
		}
	}
	if found == 0 {
		return in, fmt.Errorf("%s: no ProxyReport in it", strings.Join(opts.files, ", "))
	}
	for _, d := range document.InNamespace(documents, within) {
		if err := addFile(&in, d); err != nil {
			return in, err
		}
	}
	return in, nil
}

func addFile(in *picture.Input, d document.Document) error {
	switch {
	case d.Is("ProxyReport", v1alpha1.GroupVersion.String()):
		var report v1alpha1.ProxyReport
		err := d.Fill(&report)
		in.Reports = append(in.Reports, report)
		return err
	case d.Is("CorporateProxy", v1alpha1.GroupVersion.String()):
		var proxy v1alpha1.CorporateProxy
		err := d.Fill(&proxy)
		in.Proxies = append(in.Proxies, proxy)
		delete(in.Unread, diagnosis.SourceProxy)
		return err
	case d.Object.GetKind() == "Cluster" && d.Object.GroupVersionKind().Group == clusterv1.GroupVersion.Group:
		var metadata metav1.PartialObjectMetadata
		err := d.Fill(&metadata)
		in.Clusters = append(in.Clusters, metadata.ObjectMeta)
		delete(in.Unread, diagnosis.SourceCluster)
		return err
	}
	return nil
}
