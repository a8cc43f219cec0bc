package render

import (
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The files on machines that boot with Ignition. Whoever may call systemctl sees
// what stands in Environment=; an EnvironmentFile is root's.
const (
	proxyEnvPath    = "/etc/fairlead/proxy.env"     // the list for Go, for containerd and kubelet
	proxyAnyEnvPath = "/etc/fairlead/proxy-any.env" // the list for any client, for all other units
)

type system struct {
	trustedCA string // path of the bundle; with %d, of each of its certificates
	trust     string // the program that makes them trusted; empty where the system does so by itself
}

// Flatcar's own update-ca-certificates.service does nothing before somebody has run
// the program once (its ConditionPathIsSymbolicLink; github.com/coreos/bugs#2301);
// the program takes what "openssl rehash" links, which leaves out a file of several.
// Fedora CoreOS runs update-ca-trust before basic.target of the first boot
// (coreos-update-ca-trust.service in github.com/coreos/fedora-coreos-config).
var systems = map[ignition.Variant]system{
	ignition.Flatcar:      {"/etc/ssl/certs/fairlead-%d.pem", "/usr/sbin/update-ca-certificates"},
	ignition.FedoraCoreOS: {"/etc/pki/ca-trust/source/anchors/fairlead.pem", ""},
}

// immutable returns a row of nodeFiles.
func immutable(variant ignition.Variant, butaneKey, ignitionKey string) map[string]func(resolve.Effective) ([]byte, error) {
	return map[string]func(resolve.Effective) ([]byte, error){
		butaneKey:   func(e resolve.Effective) ([]byte, error) { return Butane(e, variant) },
		ignitionKey: func(e resolve.Effective) ([]byte, error) { return Ignition(e, variant) },
	}
}

// Butane returns the Butane config of a machine: the proxy for containerd, kubelet
// and spec.node.units, the trusted CA bundle, and both for Ignition's own fetches.
// Where nothing is set, the same files are there, and empty.
func Butane(e resolve.Effective, variant ignition.Variant) ([]byte, error) {
	config, err := machine(e, variant)
	if err != nil {
		return nil, err
	}
	return ignition.Butane(variant, config)
}

// Ignition returns what Butane returns, as Ignition.
func Ignition(e resolve.Effective, variant ignition.Variant) ([]byte, error) {
	config, err := machine(e, variant)
	if err != nil {
		return nil, err
	}
	json, err := ignition.Translate(variant, config)
	if err != nil {
		return nil, problemAt(e, fmt.Sprintf("config for %s", variant), notCarriable("%s", err))
	}
	return json, nil
}

func machine(e resolve.Effective, variant ignition.Variant) (ignition.Config, error) {
	config := ignition.Config{Ignition: ownFetches(e)}
	for _, read := range []struct {
		path     string
		audience noproxy.Audience
		units    []string
	}{
		{proxyEnvPath, noproxy.AudienceGo, []string{Containerd, Kubelet}},
		{proxyAnyEnvPath, noproxy.AudienceAny, e.Node.Units},
	} {
		if len(read.units) == 0 {
			continue
		}
		content, err := environmentFile(e, read.path, machineEnvironment(e, read.audience))
		if err != nil {
			return config, err
		}
		config.Storage.Files = append(config.Storage.Files, file(read.path, 0o600, string(content)))
		for _, unit := range read.units {
			config.Systemd.Units = append(config.Systemd.Units, ignition.Unit{
				Name:    unit,
				DropIns: []ignition.DropIn{{Name: "http-proxy.conf", Contents: "[Service]\nEnvironmentFile=" + read.path + "\n"}},
			})
		}
	}
	if err := addRelay(&config, e); err != nil {
		return config, err
	}
	if e.Node.TrustedCA != nil {
		addTrustedCA(&config, e, systems[variant])
	}
	return config, nil
}

// addRelay adds the relay of the machine, if it has one.
func addRelay(config *ignition.Config, e resolve.Effective) error {
	files := relayFilesOf(e)
	if len(files) == 0 {
		return nil
	}
	settings, err := RelaySettings(e)
	if err != nil {
		return err
	}
	config.Storage.Files = append(config.Storage.Files, file(relayFolder+"settings", 0o600, string(settings)))
	if e.Node.TrustedCA != nil {
		config.Storage.Files = append(config.Storage.Files, file(relayFolder+"ca.crt", 0o644, string(e.Node.TrustedCA)))
	}
	for _, f := range files {
		content, err := f.content(e)
		if err != nil {
			return err
		}
		if f.unit {
			config.Systemd.Units = append(config.Systemd.Units, ignition.Unit{Name: f.name, Enabled: f.enabled, Contents: string(content)})
		} else {
			config.Storage.Files = append(config.Storage.Files, file(relayFolder+f.name, 0o644, string(content)))
		}
	}
	return nil
}

// ownFetches is for Ignition itself, a Go program. It fetches before there is any
// file, and any relay. Nil if there is nothing to say. Butane refuses an entry that stands twice,
// which none does in a merged list.
func ownFetches(e resolve.Effective) *ignition.Ignition {
	var own ignition.Ignition
	if e.HasProxy() {
		own.Proxy = &ignition.Proxy{HTTP: e.HTTP.Reveal(), HTTPS: e.HTTPS.Reveal()}
		for _, text := range e.NoProxy.Go.Texts() {
			own.Proxy.NoProxy = append(own.Proxy.NoProxy, ignition.Text(text))
		}
	}
	if e.Node.TrustedCA != nil {
		own.Security = &ignition.Security{}
		own.Security.TLS.Authorities = []ignition.Contents{{Inline: ignition.Text(e.Node.TrustedCA)}}
	}
	if own == (ignition.Ignition{}) {
		return nil
	}
	return &own
}

func addTrustedCA(config *ignition.Config, e resolve.Effective, on system) {
	config.Storage.Files = append(config.Storage.Files, on.files(string(e.Node.TrustedCA))...)
	if on.trust == "" {
		return
	}
	users := append([]string{Containerd, Kubelet}, e.Node.Units...)
	config.Systemd.Units = append(config.Systemd.Units, ignition.Unit{
		Name: "fairlead-trusted-ca.service", Enabled: true,
		Contents: "[Unit]\nDescription=Trust the company's certificate authorities\nBefore=" + strings.Join(users, " ") +
			"\n\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=" + on.trust + "\n\n[Install]\nWantedBy=multi-user.target\n",
	})
}

func (s system) files(bundle string) []ignition.File {
	if !strings.Contains(s.trustedCA, "%d") {
		return []ignition.File{file(s.trustedCA, 0o644, bundle)}
	}
	var files []ignition.File
	for certificate := range strings.SplitAfterSeq(bundle, "-----END CERTIFICATE-----\n") {
		if certificate != "" {
			files = append(files, file(fmt.Sprintf(s.trustedCA, len(files)+1), 0o644, certificate))
		}
	}
	return files
}

func file(path string, mode ignition.Mode, content string) ignition.File {
	return ignition.File{Path: path, Mode: mode, Contents: ignition.Contents{Inline: ignition.Text(content)}}
}
