package clusterapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// What somebody copies from an example, the policy adds by itself: the same files, and the same commands in one.
func TestThePolicyAddsWhatTheExamplesHave(t *testing.T) {
	tier.Full(t)
	for name, settings := range map[string]map[string]any{
		"literal": {"trustedCA": "Debian"},
		"relay":   {"trustedCA": "Debian", "delivery": "Relay", "relayImage": true},
	} {
		t.Run(name, func(t *testing.T) {
			withEachEngine(t, true, func(_ *testing.T, w *wired) {
				w.settings = settings
				w.install(func(o *unstructured.Unstructured) bool { return len(listOf(o, "files")) > 0 })
				for _, system := range []string{"debian", "flatcar"} {
					example := "kubeadm-" + system + strings.TrimPrefix("-"+name, "-literal") + ".yaml"
					for _, object := range w.kubeadm(example) {
						w.wantAsExample(example, object)
					}
				}
			})
		})
	}
}

// kubeadm returns the objects of an example that have files and commands, in this test's namespace.
func (w *wired) kubeadm(example string) (objects []*unstructured.Unstructured) {
	w.Helper()
	for _, object := range w.example(example) {
		if strings.HasPrefix(object.GetKind(), "Kubeadm") {
			object.SetNamespace(w.namespace)
			objects = append(objects, object)
		}
	}
	return objects
}

func (w *wired) wantAsExample(example string, want *unstructured.Unstructured) {
	w.Helper()
	files := slices.DeleteFunc(listOf(want, "files"), func(file any) bool {
		return strings.HasPrefix(file.(map[string]any)["path"].(string), "/etc/kubernetes/patches/") // they take more than files
	})
	commands := ""
	for _, command := range listOf(want, "preKubeadmCommands") {
		commands += command.(string) + "; "
	}
	got := want.DeepCopy()
	for _, field := range []string{"files", "preKubeadmCommands", "initConfiguration", "joinConfiguration"} {
		unstructured.RemoveNestedField(got.Object, append(wiring(got), field)...)
	}
	w.must(unstructured.SetNestedField(got.Object, int64(1), append(wiring(got), "verbosity")...))
	got.SetLabels(map[string]string{nodeFilesLabel: "inject", clusterLabel: "mycluster"})
	w.answered(func() error { return w.client.Create(w.Context(), got, client.DryRunAll) })
	byPath := func(list []any) map[string]any {
		found := map[string]any{}
		for _, file := range list {
			found[file.(map[string]any)["path"].(string)] = file
		}
		return found
	}
	if diff := cmp.Diff(byPath(files), byPath(listOf(got, "files"))); diff != "" || len(files) != len(listOf(got, "files")) {
		w.Errorf("files of the %s of %s (-example +policy):\n%s", want.GetKind(), example, diff)
	}
	if diff := cmp.Diff([]any{strings.TrimSuffix(commands, "; ") + " # fairlead.io/node-files"}, listOf(got, "preKubeadmCommands")); diff != "" {
		w.Errorf("commands of the %s of %s (-example +policy):\n%s", want.GetKind(), example, diff)
	}
}

func TestAnotherTextOfThePolicyChangesNothingUntilTold(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.settings = map[string]any{}
		w.install(func(o *unstructured.Unstructured) bool { return len(pathsOf(o)) == 3 })
		manifests := w.byLabel(true)
		objects := []*unstructured.Unstructured{manifests["KubeadmControlPlane"], manifests["KubeadmConfigTemplate"]}
		oldPaths := append([]string{"/etc/own.env"}, injectedPaths[:3]...)
		oldCommands := append([]any{"systemctl daemon-reload; systemctl restart containerd # fairlead.io/node-files"}, ownCommands...)
		for _, object := range objects {
			applied["flux"](w, object)
			w.want(w.live(object), oldPaths, oldCommands)
		}

		w.settings = map[string]any{"trustedCA": "RHEL"}
		const newPath = "/etc/pki/ca-trust/source/anchors/fairlead.pem"
		w.install(func(o *unstructured.Unstructured) bool { return slices.Contains(pathsOf(o), newPath) })
		newPaths := append(slices.Clone(oldPaths), newPath)
		newCommands := append([]any{"update-ca-trust; systemctl daemon-reload; systemctl restart containerd # fairlead.io/node-files"}, ownCommands...)
		for _, object := range objects {
			stays := func(paths []string, commands []any, generation int64) {
				for _, way := range []string{"flux", "kubectl", "replace"} { // which takes the annotation away
					applied[way](w, object)
				}
				w.patch(object, `{"metadata":{"annotations":{"anything":"else"}}}`)
				w.want(w.live(object), paths, commands)
				if after := w.live(object).GetGeneration(); after != generation {
					w.Errorf("%s: generation %d, then %d", object.GetKind(), generation, after)
				}
			}
			before := w.live(object).GetGeneration()
			stays(oldPaths, oldCommands, before)

			w.patch(object, `{"metadata":{"annotations":{%q:"1"}}}`, renewNodeFiles)
			w.want(w.live(object), newPaths, newCommands)
			renewed := w.live(object).GetGeneration()
			if renewed != before+1 {
				w.Errorf("%s: generation %d, renewed %d", object.GetKind(), before, renewed)
			}
			stays(newPaths, newCommands, renewed)
		}
	})
}

// clusterctl move and a backup create what was wired elsewhere, or long ago: under another text, whose files or command tell.
func TestWhatWasWiredAndIsCreatedAgainStaysAsItIs(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.settings = map[string]any{}
		w.install(func(o *unstructured.Unstructured) bool { return len(pathsOf(o)) == 3 })
		manifests := w.byLabel(true)
		ignition := w.template("ignition", nil) // whose files of this text need no command
		w.must(unstructured.SetNestedField(ignition.Object, "ignition", append(wiring(ignition), "format")...))
		objects := []*unstructured.Unstructured{manifests["KubeadmControlPlane"], manifests["KubeadmConfigTemplate"], ignition}
		for _, object := range objects {
			applied["flux"](w, object)
		}
		w.want(w.live(ignition), injectedPaths[:3], nil)

		w.settings = map[string]any{"trustedCA": "RHEL"}
		w.install(func(o *unstructured.Unstructured) bool { return len(pathsOf(o)) == 4 })
		for _, object := range objects {
			before := w.createAgain(object)
			for range 2 {
				if diff := cmp.Diff(before.Object["spec"], w.live(object).Object["spec"]); diff != "" {
					w.Errorf("%s %s, created again (-before +after):\n%s", object.GetKind(), object.GetName(), diff)
				}
				applied["flux"](w, object)
			}
			w.patch(object, `{"metadata":{"annotations":{%q:"1"}}}`, renewNodeFiles)
			if paths := pathsOf(w.live(object)); len(paths) != len(pathsOf(before))+1 {
				w.Errorf("%s %s, renewed, has %v", object.GetKind(), object.GetName(), paths)
			}
		}
	})
}

// createAgain deletes an object and creates it as it was, which it returns.
func (w *wired) createAgain(object *unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	before := w.live(object)
	w.must(w.client.Delete(w.Context(), object.DeepCopy()))
	if w.exists(object) { // without its Cluster, the controller leaves it there
		w.patch(object, `{"metadata":{"finalizers":null}}`)
	}
	again := before.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		unstructured.RemoveNestedField(again.Object, "metadata", field)
	}
	w.answered(func() error { return w.client.Create(w.Context(), again) })
	return before
}

func TestFilesByHandAreNotDoubledAndWhatLacksTheLabelIsLeftAlone(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.install(hasInjected)
		for _, example := range w.kubeadm("kubeadm-debian.yaml") {
			byHand := example.DeepCopy()
			byHand.SetName(byHand.GetName() + "-by-hand")
			applied["kubectl"](w, byHand)
			// The label comes later, as when somebody moves from files to the label.
			byHand.SetLabels(map[string]string{nodeFilesLabel: "inject", clusterLabel: "mycluster"})
			applied["kubectl"](w, byHand)
			w.want(w.live(byHand), pathsOf(example), listOf(example, "preKubeadmCommands"))
			some := byHand.DeepCopy()
			some.SetName(example.GetName() + "-some")
			some.SetLabels(nil)
			unstructured.RemoveNestedField(some.Object, append(wiring(some), "preKubeadmCommands")...)
			w.must(unstructured.SetNestedSlice(some.Object, listOf(example, "files")[:2], append(wiring(some), "files")...))
			applied["kubectl"](w, some)
			some.SetLabels(byHand.GetLabels())
			applied["kubectl"](w, some)
			w.want(w.live(some), injectedPaths, []any{injectedCommand})
			// From elsewhere, they do not look as if the policy had written them.
			inline := byHand.DeepCopy()
			inline.SetName(example.GetName() + "-inline")
			unstructured.RemoveNestedField(inline.Object, append(wiring(inline), "preKubeadmCommands")...)
			w.must(unstructured.SetNestedSlice(inline.Object, inlined(listOf(example, "files")[:2]), append(wiring(inline), "files")...))
			applied["kubectl"](w, inline)
			w.want(w.live(inline), injectedPaths, []any{injectedCommand})

			for name, labels := range map[string]map[string]string{
				"without": {clusterLabel: "mycluster"}, "ignored": {clusterLabel: "mycluster", nodeFilesLabel: "ignore"},
			} {
				without := w.byLabel(true)[example.GetKind()]
				without.SetName(name)
				without.SetLabels(labels)
				applied["flux"](w, without)
				w.want(w.live(without), []string{"/etc/own.env"}, ownCommands)
			}
		}
	})
}

// Nothing is to be added, and nothing to be refused.
func TestATemplateWithAllFilesFromElsewhereIsStoredAsItIs(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.settings = map[string]any{"trustedCA": "Debian", "delivery": "Relay", "relayImage": true}
		w.install(func(o *unstructured.Unstructured) bool { return len(listOf(o, "files")) > 0 })
		for _, object := range w.kubeadm("kubeadm-debian-relay.yaml") {
			object.SetLabels(map[string]string{nodeFilesLabel: "inject", clusterLabel: "mycluster"})
			unstructured.RemoveNestedField(object.Object, append(wiring(object), "preKubeadmCommands")...)
			w.must(unstructured.SetNestedSlice(object.Object, inlined(listOf(object, "files")), append(wiring(object), "files")...))
			for range 2 {
				applied["kubectl"](w, object)
				w.want(w.live(object), pathsOf(object), nil)
			}
			// What was never the policy's does not come back.
			some := slices.DeleteFunc(listOf(object, "files"), func(file any) bool {
				return file.(map[string]any)["path"] == "/etc/systemd/system/kubelet.service.d/http-proxy.conf"
			})
			w.must(unstructured.SetNestedSlice(object.Object, some, append(wiring(object), "files")...))
			object.SetResourceVersion(w.live(object).GetResourceVersion())
			if err := w.client.Update(w.Context(), object, client.DryRunAll); err == nil || !strings.Contains(err.Error(), requireFiles) {
				w.Errorf("%s without a path: %v", object.GetKind(), err)
			}
			object.SetAnnotations(map[string]string{renewNodeFiles: "1"})
			w.answered(func() error { return w.client.Update(w.Context(), object, client.DryRunAll) })
		}
	})
}

// inlined are files with a content of their own, at the same paths.
func inlined(files []any) (own []any) {
	for _, file := range files {
		own = append(own, map[string]any{"path": file.(map[string]any)["path"], "content": "mine"})
	}
	return own
}

// Cluster API names the Cluster of a template by an owner.
func TestALabelWiresATemplateThatIsThereAndItsRemovalTakesNothingAway(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.install(hasInjected)
		template := w.template("workers", map[string]string{})
		cluster := w.cluster("mycluster", nil)
		template.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}})
		w.answered(func() error { return w.client.Create(w.Context(), template) })
		w.patch(template, `{"metadata":{"labels":{%q:"inject"}}}`, nodeFilesLabel)
		w.want(w.live(template), injectedPaths, []any{injectedCommand})
		if source, _, _ := unstructured.NestedString(listOf(w.live(template), "files")[0].(map[string]any), "contentFrom", "secret", "name"); source != "mycluster-systemd-proxy" {
			w.Errorf("the files are from %s", source)
		}
		w.patch(template, `{"metadata":{"labels":{%q:null}}}`, nodeFilesLabel)
		w.want(w.live(template), injectedPaths, []any{injectedCommand})
		w.patch(template, `{"spec":{"template":{"spec":{"files":null,"preKubeadmCommands":null}}}}`)
		w.want(w.live(template), nil, nil)
	})
}

// Nothing is stored that has the label and no files, whatever the reason.
func TestATemplateThatWouldHaveNoFilesIsRefused(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		older := w.template("older", nil) // before the policies
		w.answered(func() error { return w.client.Create(w.Context(), older) })
		w.install(hasInjected)
		w.patch(older, `{"metadata":{"annotations":{"anything":"else"}}}`)
		w.want(w.live(older), nil, nil)

		refused := func(object *unstructured.Unstructured, why string) error {
			err := w.client.Create(w.Context(), object, client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), why) {
				return fmt.Errorf("want %q: %w", why, err)
			}
			return nil
		}
		w.must(refused(w.template("new", map[string]string{nodeFilesLabel: "inject"}), "nothing names the Cluster"))
		for _, object := range w.rendered() {
			if object.GetName() == injectFiles+"-"+w.id {
				w.must(w.client.Delete(w.Context(), object))
			}
		}
		controlplanetest.Await(w, "the policy to be gone", func(context.Context) (bool, error) {
			err := refused(w.template("new", nil), "has added no file")
			return err == nil, err
		})
		w.answered(func() error {
			return w.client.Create(w.Context(), w.template("new", map[string]string{clusterLabel: "mycluster"}))
		})
	})
}

// Not parallel: the others need Kyverno.
func TestWhileKyvernoIsDownOnlyTemplatesWithTheLabelAreRefused(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, false, func(_ *testing.T, w *wired) {
		if w.engine == "Native" {
			return // it is never down alone
		}
		w.install(hasInjected)
		wired := w.template("wired", nil)
		w.answered(func() error { return w.client.Create(w.Context(), wired) })
		startedKyverno.kyverno.Kill()
		w.Cleanup(func() { controlplanetest.Require(w, startedKyverno.kyverno.Restart(context.Background())) })

		for verb, err := range map[string]error{
			"create": w.client.Create(w.Context(), w.template("new", nil)),
			"update": w.client.Patch(w.Context(), wired.DeepCopy(), merge(`{"metadata":{"annotations":{"a":"b"}}}`)),
		} {
			if err == nil || !strings.Contains(err.Error(), `failed calling webhook "mpol`) {
				w.Errorf("%s: %v", verb, err)
			}
		}
		w.must(w.client.Create(w.Context(), w.template("without", map[string]string{clusterLabel: "mycluster"})))
		w.must(w.client.Delete(w.Context(), wired))
	})
}
