package follow

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/internal/workload/healthz"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Taint is one that the kubelet registers a node with (--register-with-taints): without a relay, pods there would reach
// nothing.
type Taint struct {
	Node, Key string
	Relay     string // URL of the relay's /readyz
}

// look is how often the relay is asked while it is not ready.
const look = 2 * time.Second

// remove removes the taint once, as soon as the relay has settings and answers. A node that is made anew gets a new pod.
func (t Taint) remove(ctx context.Context, clients kubernetes.Interface, hasSettings func() error, log *slog.Logger) {
	said := ""
	_ = wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		err := t.tryRemove(ctx, clients, hasSettings)
		if err != nil && said != err.Error() {
			said = err.Error()
			log.Info("the node keeps its taint", "node", t.Node, "taint", t.Key, "reason", err)
		}
		return err == nil, nil
	})
}

func (t Taint) tryRemove(ctx context.Context, clients kubernetes.Interface, hasSettings func() error) error {
	if err := hasSettings(); err != nil {
		return err
	}
	if err := t.askRelay(ctx); err != nil {
		return err
	}
	return apply.RemoveTaint(ctx, clients, t.Node, t.Key)
}

// patience is for the relay, which is on this machine.
const patience = 5 * time.Second

func (t Taint) askRelay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	response, err := healthz.Get(ctx, t.Relay)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the relay is not ready: %s", response.Status)
	}
	return nil
}
