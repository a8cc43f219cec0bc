package probe

import (
	"net/http"

	"github.com/fairlead-io/fairlead/internal/workload/healthz"
)

// serve answers Prometheus and the kubelet until it is stopped. It is ready once it has settings: a proxy that is down makes no
// pod unready.
func (a *agent) serve() (stop func(), err error) {
	metrics := http.NewServeMux()
	healthz.Metrics(metrics, &a.metrics)
	health := healthz.Mux("it runs", func(http.Header) (string, error) {
		_, err := a.folder.Read()
		return "there are settings", err
	})
	var stops []func()
	stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	for address, handler := range map[string]http.Handler{a.MetricsAddress: metrics, a.HealthAddress: health} {
		if address == "0" {
			continue
		}
		one, err := healthz.ListenAndServe(address, handler)
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, one)
	}
	return stop, nil
}
