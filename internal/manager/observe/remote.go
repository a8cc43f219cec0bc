package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// What an API server may take for all of one look, and may answer: it may be anybody's.
const (
	timeout   = 10 * time.Second
	maxHeader = 16 << 10
	// In the JSON of a ConfigMap, each quotation mark of the result is two bytes.
	maxConfigMap = 2*probe.MaxResultBytes + 64<<10
	maxNode      = 256 << 10 // of metadata
)

var dialer = &net.Dialer{Timeout: timeout, KeepAlive: -1}

// remote is an API server of a workload cluster, for one look.
type remote struct {
	client *http.Client
	access access
	until  time.Time
}

// result reads the ConfigMap of the probe.
func (r remote) result(ctx context.Context, namespace string) ([]byte, error) {
	var configMap struct {
		Data map[string]string `json:"data"`
	}
	if err := r.get(ctx, "application/json", maxConfigMap, &configMap, "api/v1/namespaces", namespace, "configmaps", probe.ConfigMapName); err != nil {
		return nil, err
	}
	text := configMap.Data[probe.ResultKey]
	if text == "" {
		return nil, &failure{resultNoResult, fmt.Sprintf("ConfigMap %s in namespace %s has no %s yet: its pod has not run", probe.ConfigMapName, namespace, probe.ResultKey)}
	}
	return []byte(text), nil
}

// nodeCreated reads when a node was created.
func (r remote) nodeCreated(ctx context.Context, name string) (time.Time, error) {
	node := &metav1.PartialObjectMetadata{}
	err := r.get(ctx, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", maxNode, node, "api/v1/nodes", name)
	return node.CreationTimestamp.Time, err
}

// get reads an object of at most that many bytes. The error is a *failure, or one to classify.
func (r remote) get(ctx context.Context, accept string, most int64, into any, path ...string) error {
	ctx, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.access.server.JoinPath(path...).String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "fairlead-observe")
	answer, err := r.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return ofStatus(answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	switch {
	case err != nil:
		return err
	case int64(len(text)) > most:
		return &failure{resultInvalid, fmt.Sprintf("the API server answers with more than %d bytes", most)}
	case json.Unmarshal(text, into) != nil:
		return &failure{resultInvalid, "the API server does not answer with the JSON of an object"}
	}
	return nil
}
