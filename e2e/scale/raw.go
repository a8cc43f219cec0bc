package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const fieldManager = "fairlead" // the operator's

// rawCluster is what a raw client writes for one cluster: what the operator wrote, with the uids of the other control
// plane.
type rawCluster struct {
	key     types.NamespacedName
	secrets []*corev1.Secret
	whole   map[string]any // the status of the report
	status  map[string]any // what is written of it: all where the operator applies it, else what a change of the password changes
	merge   bool
	uid     types.UID // of the report
}

// rawFleet makes the fleet on the raw clients' control plane, as the operator left it on its own: before is what the
// reports were before the last fan-out.
func rawFleet(ctx context.Context, p *progress, from, to *side, clusters []types.NamespacedName, before map[types.NamespacedName]*v1alpha1.ProxyReport) ([]*rawCluster, error) {
	if err := createNamespaces(ctx, p, to.client, clusters); err != nil {
		return nil, err
	}
	all := make([]*rawCluster, len(clusters))
	err := each(ctx, p, creators, clusters, func(ctx context.Context, i int, key types.NamespacedName) (err error) {
		if all[i], err = copyCluster(ctx, from.client, to.client, key, i, before[key]); err != nil {
			return fmt.Errorf("copy %s: %w", key, err)
		}
		if err := to.writeSecrets(ctx, all[i], token(0)); err != nil {
			return err
		}
		return to.writeStatus(ctx, all[i], all[i].whole)
	})
	return all, err
}

func copyCluster(ctx context.Context, from, to client.Client, key types.NamespacedName, i int, before *v1alpha1.ProxyReport) (*rawCluster, error) {
	cluster, report := newCluster(key, i, false), &v1alpha1.ProxyReport{}
	if err := from.Get(ctx, key, report); err != nil {
		return nil, err
	}
	copied := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, Labels: report.Labels, Annotations: report.Annotations, Finalizers: report.Finalizers,
	}}
	for _, object := range []client.Object{cluster, copied} {
		if err := to.Create(ctx, object); err != nil {
			return nil, err
		}
	}
	if len(report.ManagedFields) == 0 { // then the API server keeps none of the copy either
		if err := to.Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))); err != nil {
			return nil, err
		}
	}
	raw := &rawCluster{key: key, uid: copied.UID, merge: !appliesStatus(report)}
	uids := strings.NewReplacer(string(report.UID), string(copied.UID), string(report.Status.Cluster.UID), string(cluster.UID))
	var err error
	if raw.whole, raw.status, err = rawStatus(report, before, raw.merge, uids); err != nil {
		return nil, err
	}
	for _, name := range secretsOf(key) {
		secret := &corev1.Secret{}
		if err := from.Get(ctx, name, secret); err != nil {
			return nil, err
		}
		owners := secret.OwnerReferences
		for o := range owners {
			owners[o].UID = types.UID(uids.Replace(string(owners[o].UID)))
		}
		raw.secrets = append(raw.secrets, &corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: name.Namespace, Name: name.Name, Labels: secret.Labels, Annotations: secret.Annotations, OwnerReferences: owners,
			},
			Data: secret.Data,
		})
	}
	return raw, nil
}

// appliesStatus reports whether the operator applies the status of a report, or patches what has changed in it.
func appliesStatus(report *v1alpha1.ProxyReport) bool {
	for _, entry := range report.ManagedFields {
		if entry.Manager == fieldManager && entry.Subresource == "status" && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

// rawStatus is the whole status, and what of it is written.
func rawStatus(report, before *v1alpha1.ProxyReport, merge bool, uids *strings.Replacer) (whole, written map[string]any, err error) {
	if whole, err = asMap(&report.Status, uids); err != nil || !merge {
		return whole, whole, err
	}
	last, err := asMap(&before.Status, uids)
	return whole, mergePatch(last, whole), err
}

// asMap leaves out what another controller writes.
func asMap(status *v1alpha1.ProxyReportStatus, uids *strings.Replacer) (map[string]any, error) {
	text, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := json.Unmarshal([]byte(uids.Replace(string(text))), &content); err != nil {
		return nil, err
	}
	delete(content, "rollout")
	return content, nil
}

// mergePatch is what makes after of before (RFC 7386).
func mergePatch(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range after {
		oldMap, wasMap := before[key].(map[string]any)
		newMap, isMap := value.(map[string]any)
		switch {
		case wasMap && isMap:
			if inner := mergePatch(oldMap, newMap); len(inner) > 0 {
				patch[key] = inner
			}
		case !same(before[key], value):
			patch[key] = value
		}
	}
	for key := range before {
		if _, stays := after[key]; !stays {
			patch[key] = nil
		}
	}
	return patch
}

func same(a, b any) bool {
	first, _ := json.Marshal(a) // what came out of JSON goes into it
	second, _ := json.Marshal(b)
	return string(first) == string(second)
}

// renew gives a status new fingerprints of the same length, as a change of the password does, and a new time.
func renew(status map[string]any) map[string]any {
	renewed := make(map[string]any, len(status))
	for key, value := range status {
		switch value := value.(type) {
		case map[string]any:
			renewed[key] = renew(value)
		case []any:
			list := make([]any, len(value))
			for i, element := range value {
				list[i] = element
				if inner, is := element.(map[string]any); is {
					list[i] = renew(inner)
				}
			}
			renewed[key] = list
		case string:
			renewed[key] = renewText(key, value)
		default:
			renewed[key] = value
		}
	}
	return renewed
}

func renewText(key, value string) string {
	switch {
	case key == "hmac" && len(value) >= 32:
		random := make([]byte, 32)
		_, _ = rand.Read(random) // never fails
		fresh := base64.RawStdEncoding.EncodeToString(random)
		return value[:max(0, len(value)-len(fresh))] + fresh[:min(len(value), len(fresh))]
	case key == "written":
		return time.Now().UTC().Format(time.RFC3339)
	}
	return value
}

// writeSecrets writes a cluster's Secrets with the token, as the operator's account.
func (s *side) writeSecrets(ctx context.Context, raw *rawCluster, token string) error {
	for _, secret := range raw.secrets {
		body, err := withToken(secret, token)
		if err != nil {
			return err
		}
		path := "/api/v1/namespaces/" + raw.key.Namespace + "/secrets/" + secret.Name
		if err := s.patch(types.ApplyPatchType, path, body).Do(ctx).Error(); err != nil {
			return err
		}
	}
	return nil
}

// writeStatus writes the report's, with fingerprints that are new.
func (s *side) writeStatus(ctx context.Context, raw *rawCluster, status map[string]any) error {
	body := map[string]any{"metadata": map[string]any{"uid": raw.uid}, "status": renew(status)}
	path := "/apis/" + v1alpha1.GroupVersion.String() + "/namespaces/" + raw.key.Namespace + "/proxyreports/" + raw.key.Name + "/status"
	kind := types.MergePatchType
	if !raw.merge {
		kind = types.ApplyPatchType
		body["apiVersion"], body["kind"] = v1alpha1.GroupVersion.String(), "ProxyReport"
	}
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request := s.patch(kind, path, content)
	if !raw.merge {
		request = request.Param("force", "true")
	}
	return request.Do(ctx).Error()
}

func (s *side) patch(kind types.PatchType, path string, body []byte) *rest.Request {
	return s.caged.Patch(kind).AbsPath(path).Param("fieldManager", fieldManager).Body(body)
}

func withToken(secret *corev1.Secret, token string) ([]byte, error) {
	changed := secret.DeepCopy()
	for key, value := range changed.Data {
		changed.Data[key] = []byte(strings.ReplaceAll(string(value), tokenOf(secret.Data), token))
	}
	return json.Marshal(changed)
}
