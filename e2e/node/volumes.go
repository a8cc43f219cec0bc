package node

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/machine"
)

var getOptions metav1.GetOptions

// Refresh writes the pod's volumes as its objects now are, as the kubelet does every minute or so: all files of a
// volume change at once, and one that is mounted by subPath never does. It also has Start do that.
func (n *Node) Refresh(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if err := n.refresh(ctx, pod, volume); err != nil {
			return fmt.Errorf("MountVolume.SetUp failed for volume %q: %w", volume.Name, err)
		}
	}
	return os.MkdirAll(n.outside(pod), 0o755)
}

func (n *Node) refresh(ctx context.Context, pod *corev1.Pod, volume *corev1.Volume) error {
	folder := n.outside(pod, "volumes", volume.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if volume.EmptyDir != nil {
		return os.Chmod(folder, 0o777)
	}
	sources, mode, err := sources(volume)
	if err != nil {
		return err
	}
	files := map[string]file{}
	for _, source := range sources {
		if err := n.project(ctx, pod, source, mode, files); err != nil {
			return err
		}
	}
	return write(folder, files)
}

// inside is where the network's mount namespace has a pod's files, outside where this process sees them.
func inside(pod *corev1.Pod, elements ...string) string {
	return filepath.Join(append([]string{machine.Dir, "pods", pod.Namespace + "_" + pod.Name + "_" + string(pod.UID)}, elements...)...)
}

func (n *Node) outside(pod *corev1.Pod, elements ...string) string {
	return n.Network.Path(inside(pod, elements...))
}

// sources returns the sources of a volume. A Secret or a ConfigMap is returned as a projected one.
func sources(volume *corev1.Volume) ([]corev1.VolumeProjection, *int32, error) {
	switch {
	case volume.Secret != nil:
		s := volume.Secret
		return []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.SecretName}, Items: s.Items, Optional: s.Optional,
		}}}, s.DefaultMode, nil
	case volume.ConfigMap != nil:
		c := volume.ConfigMap
		return []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: c.LocalObjectReference, Items: c.Items, Optional: c.Optional,
		}}}, c.DefaultMode, nil
	case volume.Projected != nil:
		return volume.Projected.Sources, volume.Projected.DefaultMode, nil
	}
	return nil, nil, fmt.Errorf("this kubelet does not know its source")
}

type file struct {
	content []byte
	mode    fs.FileMode
}

// project adds the files of one source.
func (n *Node) project(ctx context.Context, pod *corev1.Pod, source corev1.VolumeProjection, mode *int32, files map[string]file) error {
	switch {
	case source.Secret != nil:
		s := source.Secret
		return n.items(ctx, pod, "Secret", s.Name, s.Items, s.Optional, mode, files)
	case source.ConfigMap != nil:
		c := source.ConfigMap
		return n.items(ctx, pod, "ConfigMap", c.Name, c.Items, c.Optional, mode, files)
	case source.ServiceAccountToken != nil:
		return n.token(ctx, pod, source.ServiceAccountToken, mode, files)
	case source.DownwardAPI != nil:
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef == nil {
				return fmt.Errorf("%s: this kubelet knows a fieldRef only", item.Path)
			}
			value, err := field(pod, item.FieldRef.FieldPath)
			if err != nil {
				return fmt.Errorf("%s: %w", item.Path, err)
			}
			files[item.Path] = file{[]byte(value), modeOf(item.Mode, mode)}
		}
		return nil
	}
	return fmt.Errorf("this kubelet does not know a projected source")
}

// items are the files of a Secret or a ConfigMap: one for each key, or for each item.
func (n *Node) items(ctx context.Context, pod *corev1.Pod, kind, name string, items []corev1.KeyToPath, optional *bool, mode *int32, files map[string]file) error {
	content, err := n.content(ctx, pod, kind, name, optional)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		for key, value := range content {
			files[key] = file{[]byte(value), modeOf(nil, mode)}
		}
	}
	for _, item := range items {
		value, found := content[item.Key]
		if !found && !isTrue(optional) {
			return fmt.Errorf("references non-existent key %s of %s %s/%s", item.Key, kind, pod.Namespace, name)
		}
		if found {
			files[item.Path] = file{[]byte(value), modeOf(item.Mode, mode)}
		}
	}
	return nil
}

func (n *Node) token(ctx context.Context, pod *corev1.Pod, source *corev1.ServiceAccountTokenProjection, mode *int32, files map[string]file) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: source.ExpirationSeconds}}
	if source.Audience != "" {
		request.Spec.Audiences = []string{source.Audience}
	}
	account := cmp.Or(pod.Spec.ServiceAccountName, "default")
	made, err := n.Clients.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("service account token: %w", err)
	}
	files[source.Path] = file{[]byte(made.Status.Token), modeOf(nil, mode)}
	return nil
}

// modeOf is the item's, the volume's, or the API's default.
func modeOf(item, volume *int32) fs.FileMode {
	for _, mode := range []*int32{item, volume} {
		if mode != nil {
			return fs.FileMode(*mode) & fs.ModePerm
		}
	}
	return 0o644
}
