// Command reference writes docs/reference/metrics.md: metrics.md.tmpl, with the metrics that the code has. It runs in the root of the
// repository, as make generate does.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fairlead-io/fairlead/internal/manager/controller"
	"github.com/fairlead-io/fairlead/internal/manager/deliver"
	"github.com/fairlead-io/fairlead/internal/manager/observe"
	"github.com/fairlead-io/fairlead/internal/workload/follow"
	"github.com/fairlead-io/fairlead/internal/workload/forward"
	"github.com/fairlead-io/fairlead/internal/workload/probe"
	"github.com/fairlead-io/fairlead/internal/workload/replicator"
)

const page = "docs/reference/metrics.md"

//go:embed metrics.md.tmpl
var text string

var collectors = map[string][]prometheus.Collector{
	"operator": controller.Collectors(nil, nil), "observe": observe.Collectors(), "deliver": deliver.Collectors(), "replicator": replicator.Collectors(),
	"relay": forward.Collectors(), "follow": follow.Metrics, "probe": probe.Collectors(),
}

func main() {
	if err := os.WriteFile(page, []byte(metrics()), 0o644); err != nil { //nolint:gosec // for all to read
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func metrics() string {
	var out strings.Builder
	if err := template.Must(template.New("").Funcs(template.FuncMap{"table": table}).Parse(text)).Execute(&out, collectors); err != nil {
		panic(err)
	}
	return out.String()
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
			kind, labels := "gauge", ""
			if strings.HasSuffix(parts[1], "_total") {
				kind = "counter"
			}
			if parts[3] != "" {
				labels = "`" + strings.ReplaceAll(parts[3], ",", "`, `") + "`"
			}
			help := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(parts[2]), " "))
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |", parts[1], kind, labels, help))
		}
	}
	return "| metric | type | labels | |\n| --- | --- | --- | --- |\n" + strings.Join(slices.Sorted(slices.Values(rows)), "\n")
}
