package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/manager/controller"
	"github.com/fairlead-io/fairlead/internal/manager/deliver"
	"github.com/fairlead-io/fairlead/internal/manager/observe"
	"github.com/fairlead-io/fairlead/internal/workload/follow"
	"github.com/fairlead-io/fairlead/internal/workload/forward"
	"github.com/fairlead-io/fairlead/internal/workload/probe"
	"github.com/fairlead-io/fairlead/internal/workload/replicator"
)

func metrics() string {
	return "# Metrics\n\n" + header +
		"For everybody who monitors Fairlead. The operator and the replicator export these beside the metrics of controller-runtime and Go, at\n`/metrics` of port 8080, in plain HTTP, or [by https](alerts.md). None has a password, and none but the probe's a URL.\n\n" +
		"## The operator\n\n" + table(controller.Collectors(nil, nil)) +
		"\nOnly the leader exports the gauges.\n" +
		"\n`result` of a write: `written`, `unchanged`, `mended`, `kept`, `taken`, `refused`, `failed`. `reason` is that of the [report](proxyreport.md#conditions).\n" +
		"\n## What observes workload clusters\n\n`fairlead-operator observe` exports these.\n\n" + table(observe.Collectors()) +
		"\n`result` is one of [these](../how-to/observe.md).\n" +
		"\n## What delivers settings\n\n`fairlead-operator deliver` exports this.\n\n" + table(deliver.Collectors()) +
		"\n`state` is one of [these](../how-to/deliver.md).\n" +
		"\n## The replicator\n\n" + table(replicator.Collectors()) +
		"\n`state` is one of [these](secrets.md#the-secret-for-pods). `fairlead_credentials_…` are there with `cluster.probes.credentials`.\n" +
		"\n## The relay\n\n`fairlead-relay --listen` exports these at `/metrics` of `--health-address`: port 8099 of a pod, 127.0.0.1:8097 of a machine.\n\n" + table(forward.Collectors()) +
		"\n`decision` and `result` are [these](relay.md).\n" +
		"\n## What writes a relay's settings\n\n`fairlead-operator follow` exports these at `/metrics` of `--health-address`, port 8098 by default.\n\n" + table(follow.Metrics) +
		"\n## The probe\n\n`fairlead-operator probe` exports these at `/metrics` of port 8080. `url` is that of a configured target; no label has a node.\n\n" + table(probe.Collectors()) +
		"\n`reason` is one of [these](../how-to/probes.md).\n"
}

// description is what Prometheus' client says of a metric: there is no other way to ask for its parts.
var description = regexp.MustCompile(`^Desc\{fqName: "(.*?)", help: "(.*?)"(?:, unit: ".*?")?, constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

func table(collectors []prometheus.Collector) string {
	var rows []string
	for _, collector := range collectors {
		descs := make(chan *prometheus.Desc)
		go func() { collector.Describe(descs); close(descs) }()
		for desc := range descs {
			parts := description.FindStringSubmatch(desc.String())
			if parts == nil {
				panic("a description that is not understood: " + desc.String())
			}
			kind := "gauge"
			if strings.HasSuffix(parts[1], "_total") {
				kind = "counter"
			}
			labels := ""
			if parts[3] != "" {
				labels = "`" + strings.ReplaceAll(parts[3], ",", "`, `") + "`"
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", parts[1], kind, labels, cell(parts[2])))
		}
	}
	slices.Sort(rows)
	return "| metric | type | labels | |\n| --- | --- | --- | --- |\n" + strings.Join(rows, "")
}

// cell is a text within a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
}
