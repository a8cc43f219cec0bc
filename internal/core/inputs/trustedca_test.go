package inputs_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// objects has what it is told to have.
func objects(all map[inputs.Reference]map[string][]byte) inputs.DataGetter {
	return func(ref inputs.Reference) (map[string][]byte, error) { return all[ref], nil }
}

func withCA(ref v1alpha1.CertificateReference) *v1alpha1.CorporateProxy {
	proxy := corporateProxy(urlSource("http://p:1", "", ""))
	proxy.Spec.TrustedCARef = &ref
	return proxy
}

func TestTheTrustedCAIsReadFromWhereItIs(t *testing.T) {
	a, _ := cabundletest.Authority(t, "A")
	configMap := inputs.Reference{Kind: "ConfigMap", Name: "ca"}
	data := inputs.ConfigMapData(&corev1.ConfigMap{
		Data: map[string]string{"ca.crt": "# ours\n" + a, "other": a}, BinaryData: map[string][]byte{"binary": []byte(a)},
	})
	all := map[inputs.Reference]map[string][]byte{
		configMap:                      data,
		{Kind: "Secret", Name: "ca"}:   {"tls.crt": []byte(a)},
		{Kind: "Secret", Name: "only"}: {"ca.crt": []byte(a)},
	}
	for name, ref := range map[string]v1alpha1.CertificateReference{
		"what the CRD's defaults say": {Name: "ca"},
		"all of it said":              {Kind: "ConfigMap", Name: "ca", Key: "other"},
		"binary data":                 {Name: "ca", Key: "binary"},
		"a Secret":                    {Kind: "Secret", Name: "ca", Key: "tls.crt"},
		"a Secret's default key":      {Kind: "Secret", Name: "only"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Installation(withCA(ref), objects(all))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Node.TrustedCA) != a || len(got.Node.Certificates) != 1 || got.Node.Certificates[0].Subject != "CN=A" {
				t.Errorf("%s, %+v", got.Node.TrustedCA, got.Node.Certificates)
			}
		})
	}
	if got, err := inputs.Installation(corporateProxy(urlSource("http://p:1", "", "")), objects(all)); err != nil || got.Node.TrustedCA != nil {
		t.Errorf("a CA that nobody asked for: %s (%v)", got.Node.TrustedCA, err)
	}
}

func TestATrustedCAThatCannotBeUsedIsNamed(t *testing.T) {
	a, key := cabundletest.Authority(t, "A")
	all := map[inputs.Reference]map[string][]byte{
		{Kind: "ConfigMap", Name: "bad"}:   {"ca.crt": []byte(a + key)},
		{Kind: "ConfigMap", Name: "empty"}: inputs.ConfigMapData(&corev1.ConfigMap{}),
		{Kind: "Secret", Name: "empty"}:    inputs.SecretData(&corev1.Secret{}),
	}
	for name, test := range map[string]struct {
		ref                   v1alpha1.CertificateReference
		reason                resolve.Reason
		object, field, detail string
		content               bool
	}{
		"a kind that there is not": {v1alpha1.CertificateReference{Kind: "Pod", Name: "bad"}, resolve.ReasonInvalidProxy, "CorporateProxy default", "spec.trustedCARef.kind", `"Pod" is neither`, false},
		"no ConfigMap":             {v1alpha1.CertificateReference{Name: "none"}, resolve.ReasonSourceMissing, "CorporateProxy default", "spec.trustedCARef", `ConfigMap "none" does not exist in the operator's namespace`, false},
		"no Secret":                {v1alpha1.CertificateReference{Kind: "Secret", Name: "bad"}, resolve.ReasonSourceMissing, "CorporateProxy default", "spec.trustedCARef", `Secret "bad" does not exist`, false},
		"no key":                   {v1alpha1.CertificateReference{Name: "empty"}, resolve.ReasonSourceMissing, "ConfigMap empty", "data.ca.crt", "the key is missing", false},
		"no key in a Secret":       {v1alpha1.CertificateReference{Kind: "Secret", Name: "empty", Key: "x"}, resolve.ReasonSourceMissing, "Secret empty", "data.x", "the key is missing", false},
		"a private key":            {v1alpha1.CertificateReference{Name: "bad"}, resolve.ReasonInvalidProxy, "ConfigMap bad", "data.ca.crt", "private key is in it", true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := inputs.Installation(withCA(test.ref), objects(all))
			if detail := problem(t, err, test.reason, test.object, test.field); !strings.Contains(detail, test.detail) {
				t.Errorf("%s, want %q", detail, test.detail)
			}
			if got.Node.TrustedCA != nil || errors.Is(err, inputs.ErrTrustedCA) != test.content {
				t.Errorf("%s (%v)", got.Node.TrustedCA, err)
			}
			if inner := strings.Split(key, "\n")[1]; strings.Contains(err.Error(), inner) || strings.Contains(err.Error(), base64.StdEncoding.EncodeToString([]byte(inner))) {
				t.Error("the key is shown")
			}
		})
	}
}

// So that its condition goes on with the time, whatever else is wrong.
func TestTheTrustedCAIsKnownThoughTheSourceIsNot(t *testing.T) {
	a, _ := cabundletest.Authority(t, "A")
	proxy := withCA(v1alpha1.CertificateReference{Name: "ca"})
	proxy.Spec.Source = valuesRef()
	got, err := inputs.Installation(proxy, objects(map[inputs.Reference]map[string][]byte{{Kind: "ConfigMap", Name: "ca"}: {"ca.crt": []byte(a)}}))
	problem(t, err, resolve.ReasonSourceMissing, "CorporateProxy default", "spec.source.valuesRef")
	if len(got.Node.Certificates) != 1 {
		t.Errorf("%+v", got.Node)
	}
}
