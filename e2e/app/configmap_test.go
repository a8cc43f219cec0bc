package app_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// output returns what a command of the documentation prints at a shell.
func (s *site) output(t *testing.T, dir string, environment []string, script string) ([]byte, error) {
	t.Helper()
	programs := t.TempDir()
	for _, tool := range []tools.Tool{tools.Kubectl, tools.Helm} { // no fairlead: the sidecar of argocd-repo-server has none
		controlplanetest.Require(t, os.Symlink(controlplanetest.Tool(t, tool), filepath.Join(programs, tool.Name)))
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"KUBECONFIG=" + s.cp.AdminKubeconfig(), "PATH=" + programs + ":" + os.Getenv("PATH")}, environment)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, complaints.String())
	}
	return output, err
}

// checkCage: a patch answers with the object, so one that is let through is a read as well.
func (s *site) checkCage(t *testing.T) {
	ctx := t.Context()
	object, err := s.configMap(ctx, values)
	controlplanetest.Require(t, err)
	if len(object.OwnerReferences) != 2 || object.OwnerReferences[0].Kind != "ProxyReport" || object.OwnerReferences[1].Kind != "Cluster" {
		t.Errorf("its owners are %v", object.OwnerReferences)
	}
	thief := controlplanetest.Client(t, s.operator.Config, nil)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other-cluster-values"}, Data: map[string]string{"values": "theirs"}}
	controlplanetest.Require(t, s.client.Create(ctx, foreign))
	labelled := map[string]string{"fairlead.io/configmap": "cluster-values", "cluster.x-k8s.io/cluster-name": "new"}
	named := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labelled}}
	}
	merge := func(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }
	marked := merge(`{"metadata":{"labels":{"fairlead.io/configmap":"cluster-values","cluster.x-k8s.io/cluster-name":"other"}}}`)
	unlabelled := named("new-cluster-values")
	unlabelled.Labels = nil
	for tried, err := range map[string]error{
		"get one of the contract":            thief.Get(ctx, client.ObjectKey{Namespace: namespace, Name: values}, &corev1.ConfigMap{}),
		"list":                               thief.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace)),
		"delete one":                         thief.Delete(ctx, named(values)),
		"patch nothing of a foreign one":     thief.Patch(ctx, named(foreign.Name), merge(`{}`)),
		"mark a foreign one as ours":         thief.Patch(ctx, named(foreign.Name), marked),
		"annotate it for adoption":           thief.Patch(ctx, named(foreign.Name), merge(`{"metadata":{"annotations":{"fairlead.io/adopt":"true"}}}`)),
		"create another name with our label": thief.Create(ctx, named("coredns")),
		"create our name without the label":  thief.Create(ctx, unlabelled),
		"add a key":                          thief.Patch(ctx, named(values), merge(`{"data":{"another":"x"}}`)),
		"add a binary key":                   thief.Patch(ctx, named(values), merge(`{"binaryData":{"another":"eA=="}}`)),
		"take our label off":                 thief.Patch(ctx, named(values), merge(`{"metadata":{"labels":{"fairlead.io/configmap":null}}}`)),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("it was not forbidden to %s: %v", tried, err)
		}
	}
	controlplanetest.Require(t, thief.Patch(ctx, named(values), merge(`{}`))) // what it is there for
}

// checkWhole: what somebody changes or adds is as it was with the next re-apply, and the report names who it was.
func (s *site) checkWhole(t *testing.T) {
	ctx := t.Context()
	object, err := s.configMap(ctx, values)
	controlplanetest.Require(t, err)
	object.Data["values"], object.Data["another"] = "no_proxy: theirs\n", "x"
	object.BinaryData = map[string][]byte{"binary": {1}}
	controlplanetest.Require(t, s.client.Update(ctx, object, client.FieldOwner("rival")))
	if report := s.reapplied(t, "whole"); report.Status.ConfigMap == nil || report.Status.ConfigMap.Reverts != 1 || report.Status.ConfigMap.Rival != "rival" {
		t.Errorf("the record is %+v", report.Status.ConfigMap)
	}
	s.awaitList(t, "first.example")
	object, err = s.configMap(ctx, values)
	controlplanetest.Require(t, err)
	if len(object.Data) != 1 || len(object.BinaryData) != 0 {
		t.Errorf("it has %v and %v", object.Data, object.BinaryData)
	}

	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: values}, Data: map[string]string{"values": "theirs"}}
	controlplanetest.Require(t, s.client.Delete(ctx, object))
	controlplanetest.Require(t, s.client.Create(ctx, theirs))
	taken := meta.FindStatusCondition(s.reapplied(t, "taken").Status.Conditions, v1alpha1.ConditionNameTaken)
	if taken == nil || !strings.HasPrefix(taken.Message, "ConfigMap "+values+": ") {
		t.Errorf("the condition is %+v", taken)
	}
	after, err := s.configMap(ctx, values)
	controlplanetest.Require(t, err)
	if after.ResourceVersion != theirs.ResourceVersion {
		t.Errorf("it was changed: %v", after.Data)
	}
	after.Annotations = map[string]string{"fairlead.io/adopt": "true"}
	controlplanetest.Require(t, s.client.Update(ctx, after))
	s.reapplied(t, "adopt")
	s.awaitList(t, "first.example")
}

// reapplied asks for an immediate re-apply, and returns the report that has it.
func (s *site) reapplied(t *testing.T, request string) *v1alpha1.ProxyReport {
	t.Helper()
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: cluster}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ReapplyAnnotation, request))
	controlplanetest.Require(t, s.client.Patch(t.Context(), report, patch))
	controlplanetest.Await(t, "the re-apply", func(ctx context.Context) (bool, error) {
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(report), report); err != nil {
			return false, err
		}
		handled := report.Status.HandledRequest
		return controlplanetest.Holds(handled == request, "request %q is handled", handled)
	})
	return report
}
