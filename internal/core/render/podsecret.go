package render

import (
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The Secret that pods refer to, in every namespace of theirs. A reference to a key
// that is missing keeps a pod from starting, so all six are always there.
const (
	PodSecretName = "fairlead-proxy"
	PodRole       = "proxy"
	PodCAKey      = "ca.crt" // where there is a trusted CA

	PodConfigMapName = "fairlead-trusted-ca" // the trusted CA, apart from the password
	PodConfigMapRole = "trusted-ca"
)

// PodSecret returns the Secret fairlead-proxy with the list for any client, for
// those who do not install charts/fairlead-policies. It has no namespace. Without a
// proxy its values are blank.
func PodSecret(e resolve.Effective) Secret {
	data := map[string][]byte{}
	for _, v := range everyVariable(e, noproxy.AudienceAny) {
		data[v.name] = []byte(v.value)
	}
	if e.Node.TrustedCA != nil {
		data[PodCAKey] = e.Node.TrustedCA
	}
	return Secret{Name: PodSecretName, Labels: map[string]string{SecretLabel: PodRole, ManagedLabel: Manager}, Data: data}
}

// PodConfigMap returns the ConfigMap fairlead-trusted-ca, without data where there is
// no trusted CA. What the policies mount is this; the Secret's key is for those who
// have mounted it before.
func PodConfigMap(e resolve.Effective) ConfigMap {
	c := ConfigMap{Name: PodConfigMapName, Labels: map[string]string{ConfigMapLabel: PodConfigMapRole, ManagedLabel: Manager}}
	if e.Node.TrustedCA != nil {
		c.Data = map[string]string{PodCAKey: string(e.Node.TrustedCA)}
	}
	return c
}
