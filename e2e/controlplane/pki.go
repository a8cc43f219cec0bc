package controlplane

import (
	"fmt"
	"os"

	"k8s.io/client-go/util/keyutil"

	"github.com/fairlead-io/fairlead/e2e/authority"
)

const (
	servingName  = "apiserver"
	servingCA    = "serving-ca"
	clientCA     = "client-ca"
	caCommonName = "fairlead-e2e-"
)

// pki has the authorities for the API server and for its users. The two are separate: a certificate
// that identifies the server must not be good for logging in.
type pki struct{ serving, client *authority.Authority }

// writePKI makes the authorities, the server's certificate and the key that signs service account
// tokens, and writes what the programs read.
func writePKI(dir directory, hosts []string) (made pki, err error) {
	if made.serving, err = authority.New(caCommonName + servingCA); err != nil {
		return made, err
	}
	if made.client, err = authority.New(caCommonName + clientCA); err != nil {
		return made, err
	}
	certificate, key, err := made.serving.Issue(append([]string{"kubernetes.default.svc", "localhost", "127.0.0.1"}, hosts...)...)
	if err != nil {
		return made, err
	}
	signerKey, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return made, fmt.Errorf("make the key of service accounts: %w", err)
	}
	for path, content := range map[string][]byte{
		dir.certificate(servingCA):   made.serving.PEM(),
		dir.certificate(clientCA):    made.client.PEM(),
		dir.certificate(servingName): certificate,
		dir.key(servingName):         key,
		dir.serviceAccountKey():      signerKey,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return made, fmt.Errorf("write certificates: %w", err)
		}
	}
	return made, nil
}
