package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

const (
	module          = "sigs.k8s.io/cluster-api"
	webhookInterval = 50 * time.Millisecond
	webhookTimeout  = 2 * time.Minute
)

// registerWebhooks registers those of the module's manifest at the process's address, in place of the
// Service that there is not, and returns when the API server asks them: it takes a moment to notice, and
// until then takes objects without their defaults and without any check.
func (p *Provider) registerWebhooks(ctx context.Context, cp *controlplane.ControlPlane) error {
	manifest, err := controlplane.FromModule(tools.ClusterAPI, module, p.row.folder+"/config/webhook/manifests.yaml")(ctx)
	if err != nil {
		return err
	}
	configurations, err := p.configurations(manifest)
	if err != nil {
		return err
	}
	objects, err := client.New(cp.Admin(), client.Options{})
	if err != nil {
		return err
	}
	for _, configuration := range configurations {
		if err := objects.Create(ctx, configuration); err != nil {
			return err
		}
	}
	return p.awaitAsked(ctx, objects)
}

// configurations are those of a manifest, of which there is one of each kind. Kustomize would prefix their
// names, which the providers share.
func (p *Provider) configurations(manifest []byte) ([]client.Object, error) {
	mutating := &admissionv1.MutatingWebhookConfiguration{}
	validating := &admissionv1.ValidatingWebhookConfiguration{}
	for document := range strings.SplitSeq(string(manifest), "\n---\n") {
		into := any(validating)
		if strings.Contains(document, "\nkind: MutatingWebhookConfiguration\n") {
			into = mutating
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			return nil, fmt.Errorf("parse the webhook manifest: %w", err)
		}
	}
	for i := range mutating.Webhooks {
		p.redirect(&mutating.Webhooks[i].ClientConfig)
	}
	for i := range validating.Webhooks {
		p.redirect(&validating.Webhooks[i].ClientConfig)
	}
	mutating.Name, validating.Name = p.row.tool.Name, p.row.tool.Name
	return []client.Object{mutating, validating}, nil
}

func (p *Provider) redirect(config *admissionv1.WebhookClientConfig) {
	config.URL = ptr.To("https://" + p.webhooks.Address() + ptr.Deref(config.Service.Path, ""))
	config.Service, config.CABundle = nil, p.authority.PEM()
}

var askedOnce = regexp.MustCompile(`controller_runtime_webhook_requests_total\{code="200",webhook="/(mutate|validate)-[^"]*"\} [1-9]`)

// awaitAsked tries to create the probe, as a dry run, until the controller has counted a question to a
// webhook of either kind. Whether the probe is any good does not matter.
func (p *Provider) awaitAsked(ctx context.Context, objects client.Client) error {
	probe := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(p.row.probe), &probe.Object); err != nil {
		return fmt.Errorf("parse the probe: %w", err)
	}
	var last error
	err := wait.PollUntilContextTimeout(ctx, webhookInterval, webhookTimeout, true, func(ctx context.Context) (bool, error) {
		last = objects.Create(ctx, probe.DeepCopy(), client.DryRunAll)
		counted, err := process.Get(ctx, "http://"+p.diagnostics.Address()+"/metrics")
		if err != nil { // not served yet
			last = errors.Join(last, err)
			return false, nil
		}
		kinds := map[string]bool{}
		for _, match := range askedOnce.FindAllStringSubmatch(counted, -1) {
			kinds[match[1]] = true
		}
		return len(kinds) == 2, nil
	})
	if err != nil {
		return fmt.Errorf("await the first question: %w (creating the probe: %w)", err, last)
	}
	return nil
}
