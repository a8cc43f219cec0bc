package policies_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kyverno makes one webhook of policies with the same selectors, and lists them in its path.
func (c caCluster) testOneReview(t *testing.T) {
	var paths []string
	configurations, err := c.clients.AdmissionregistrationV1().MutatingWebhookConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, configuration := range configurations.Items {
		for _, webhook := range configuration.Webhooks {
			if url := *webhook.ClientConfig.URL; strings.Contains(url, "/inject-") {
				paths = append(paths, url)
			}
		}
	}
	if len(paths) != 1 || !strings.Contains(paths[0], "/inject-proxy-env") || !strings.Contains(paths[0], "/inject-trusted-ca") {
		t.Errorf("webhooks with our policies: %q, want one with both", paths)
	}

	before := c.reviews(t)
	const pods = 5
	for range pods {
		if _, err := c.create(t.Context(), caPod(caContainer("c"))); err != nil {
			t.Fatal(err)
		}
	}
	if asked := c.reviews(t) - before; asked != pods {
		t.Errorf("%d pods cost %d AdmissionReviews of mutating webhooks", pods, asked)
	}
}

var reviewCount = regexp.MustCompile(`(?m)^apiserver_admission_webhook_request_total\{.*name="([^"]*)".*type="admit".*\} (\S+)$`)

// reviews tells how often the API server has asked a mutating webhook, but for the one by which Kyverno now and then
// tries itself.
func (c caCluster) reviews(t *testing.T) int {
	t.Helper()
	metrics, err := c.clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, found := range reviewCount.FindAllStringSubmatch(string(metrics), -1) {
		if found[1] == "monitor-webhooks.kyverno.svc" {
			continue
		}
		n, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			t.Fatal(fmt.Errorf("read metric: %w", err))
		}
		total += int(n)
	}
	return total
}
