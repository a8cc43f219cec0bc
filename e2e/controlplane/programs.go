package controlplane

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// assetsVariable is where users of controller-runtime's envtest already have etcd and kube-apiserver.
const assetsVariable = "KUBEBUILDER_ASSETS"

// programs are the paths of the programs of every control plane. kube-controller-manager is found when
// it is asked for: most tests do without, and it is one build less.
type programs struct{ etcd, apiServer string }

func findPrograms(ctx context.Context, progress io.Writer) (found programs, err error) {
	if assets := os.Getenv(assetsVariable); assets != "" {
		return programs{
			etcd:      filepath.Join(assets, tools.Etcd.Name),
			apiServer: filepath.Join(assets, tools.KubeAPIServer.Name),
		}, nil
	}
	if found.etcd, err = tools.Build(ctx, tools.Etcd, progress); err != nil {
		return found, err
	}
	found.apiServer, err = tools.Build(ctx, tools.KubeAPIServer, progress)
	return found, err
}

// findControllerManager builds it also beside given assets: envtest's do not include it.
func findControllerManager(ctx context.Context, progress io.Writer) (string, error) {
	if assets := os.Getenv(assetsVariable); assets != "" {
		path := filepath.Join(assets, tools.KubeControllerManager.Name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return tools.Build(ctx, tools.KubeControllerManager, progress)
}
