package machine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// Registry is Debian's docker-registry, the reference implementation. Images are put into it by a library
// that is not its own, so that neither's mistakes are hidden.
type Registry struct {
	network   *Network
	where     Namespace
	address   string // of the registry, without port
	authority *Authority
}

// StartRegistry starts one at port 443 of an address, with a certificate for that and for names.
func (n *Network) StartRegistry(ctx context.Context, where Namespace, address string, authority *Authority, names ...string) (*Registry, error) {
	if err := available("docker-registry"); err != nil {
		return nil, err
	}
	name, listen := "registry-"+address, net.JoinHostPort(address, "443")
	folder := Dir + "/" + name
	if err := os.Mkdir(n.Path(folder), 0o755); err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	if _, _, _, err := authority.Write(n.Path(folder), append(names, address)...); err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	config := fmt.Sprintf(`version: 0.1
storage: {filesystem: {rootdirectory: %[1]s/images}}
http: {addr: "%[2]s", tls: {certificate: %[1]s/tls.crt, key: %[1]s/tls.key}}
`, folder, listen)
	if err := os.WriteFile(n.Path(folder, "config.yml"), []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("configure the registry: %w", err)
	}
	_, err := n.Start(ctx, where, process.Spec{
		Name: name, Path: "docker-registry", Args: []string{"serve", folder + "/config.yml"},
		Ready: n.Answers(where, listen),
	})
	return &Registry{network: n, where: where, address: address, authority: authority}, err
}

// Push makes an image of one file, and puts it into the registry, from the registry's own network. The name is such as
// hello:1.
func (r *Registry) Push(ctx context.Context, name string) error {
	image, err := helloImage()
	if err != nil {
		return fmt.Errorf("make an image: %w", err)
	}
	transport := r.transport()
	defer transport.CloseIdleConnections()
	if err := crane.Push(image, r.address+"/"+name, crane.WithContext(ctx), crane.WithTransport(transport)); err != nil {
		return fmt.Errorf("push an image: %w", err)
	}
	return nil
}

// PushIndex puts an image for several platforms into the registry, as it is.
func (r *Registry) PushIndex(ctx context.Context, image string, index v1.ImageIndex) error {
	to, err := name.ParseReference(r.address + "/" + image)
	if err != nil {
		return fmt.Errorf("push an image: %w", err)
	}
	transport := r.transport()
	defer transport.CloseIdleConnections()
	if err := remote.WriteIndex(to, index, remote.WithContext(ctx), remote.WithTransport(transport)); err != nil {
		return fmt.Errorf("push an image: %w", err)
	}
	return nil
}

// transport connects from the registry's own network.
func (r *Registry) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return r.network.Dial(ctx, r.where, address)
		},
		TLSClientConfig: &tls.Config{RootCAs: r.authority.Pool()},
	}
}

func helloImage() (v1.Image, error) {
	image, err := crane.Image(map[string][]byte{"hello": []byte("hello\n")})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH // containerd takes no other
	return mutate.ConfigFile(image, config)
}
