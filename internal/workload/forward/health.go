package forward

import (
	"context"
	"errors"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// serveHealth serves probes and metrics until the end. Where another program has the address, as may be in a host's network,
// requests of clients are answered all the same.
func (p *Proxy) serveHealth(ctx context.Context, address string, metrics *metrics) (end func()) {
	mux := p.health(ctx)
	healthz.Metrics(mux, metrics)
	end, err := healthz.ListenAndServe(address, mux)
	if err != nil {
		p.Log.Error("no probes and no metrics", "reason", err)
		return func() {}
	}
	return end
}

// health is ready while it takes new connections and its settings can be read.
func (p *Proxy) health(ctx context.Context) *http.ServeMux {
	return healthz.Mux("it listens", func(header http.Header) (string, error) {
		settings, err := p.Folder.Read()
		if err == nil && settings.Revision != "" {
			header.Set(upstream.RevisionHeader, settings.Revision)
		}
		if ctx.Err() != nil {
			err = errors.New("it ends")
		}
		if problem := p.Folder.Problem(); problem != nil && err == nil {
			return "it listens with the settings of before: " + problem.Error(), nil
		}
		return "it listens, and its settings can be read", err
	})
}
