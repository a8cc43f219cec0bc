package preflight

import (
	"errors"
	"net/http"

	"github.com/fairlead-io/fairlead/internal/workload/healthz"
)

// health is ready once the Secret was read.
func health(read func() bool) http.Handler {
	return healthz.Mux("it runs", func(http.Header) (string, error) {
		if !read() {
			return "", errors.New("it does not know yet what to try")
		}
		return "it knows what to try", nil
	})
}
