package replicator

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

func delivered(data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "fairlead-source", CreationTimestamp: metav1.NewTime(changed),
			Annotations: map[string]string{proxysecret.CredentialsAnnotation: "of somebody else"},
		},
		Data: map[string][]byte{},
	}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

func TestWhatIsDeliveredIsCopiedInBothCasesAndNothingElse(t *testing.T) {
	for name, row := range map[string]struct {
		secret  *corev1.Secret
		want    map[string][]byte
		problem string
		detail  string
	}{
		"settings": {
			secret: delivered(map[string]string{
				"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "http://p:1", "NO_PROXY": "localhost", "HTTP_PROXY_PREVIOUS": "http://old:1", "FINGERPRINT": "f", "REVISION": "r",
			}), want: settings("http://p:1"),
		},
		"Direct":         {secret: delivered(map[string]string{"HTTP_PROXY": "", "HTTPS_PROXY": "", "NO_PROXY": ""}), want: blank()},
		"none":           {problem: stateSourceMissing},
		"a key is gone":  {secret: delivered(map[string]string{"HTTP_PROXY": "http://p:1", "NO_PROXY": "a"}), problem: stateSourceInvalid, detail: "HTTPS_PROXY"},
		"no list":        {secret: delivered(map[string]string{"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "", "NO_PROXY": ""}), problem: stateSourceInvalid, detail: "NO_PROXY is empty"},
		"the wrong case": {secret: delivered(map[string]string{"http_proxy": "http://p:1", "https_proxy": "", "no_proxy": "a"}), problem: stateSourceInvalid, detail: "HTTP_PROXY"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readDelivered(row.secret)
			if got.problem != row.problem || !strings.Contains(got.detail, row.detail) || strings.Contains(got.detail, "p:1") {
				t.Fatalf("%q: %s", got.problem, got.detail)
			}
			if row.problem == "" && (!proxysecret.Equal(got.data, row.want) || got.credentials != "" || !got.changedAt.Equal(changed)) {
				t.Errorf("%d keys, credentials %q, changed at %s", len(got.data), got.credentials, got.changedAt)
			}
		})
	}
}
