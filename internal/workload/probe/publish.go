package probe

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// publisher writes the one ConfigMap, which the chart has created: a right to create some would be one for any name.
type publisher struct {
	client    client.Client
	namespace string
	log       *slog.Logger

	object *corev1.ConfigMap // as it was written last
}

// read returns what a previous process has published; nothing if it cannot be read.
func (p *publisher) read(ctx context.Context) (probe.Result, error) {
	object := &corev1.ConfigMap{}
	if err := p.client.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: probe.ConfigMapName}, object); err != nil {
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("configmap %s/%s is not there: charts/fairlead-policies creates it, with probe.enabled", p.namespace, probe.ConfigMapName)
		}
		return probe.Result{}, err
	}
	p.object = object
	if object.Data[probe.ResultKey] == "" {
		return probe.Result{}, nil
	}
	return probe.Decode([]byte(object.Data[probe.ResultKey]))
}

// write replaces the result. It is of the version that was written last: if somebody else wrote meanwhile, it says so.
func (p *publisher) write(ctx context.Context, result probe.Result) error {
	text, err := probe.Encode(result)
	if err != nil {
		return err
	}
	for again := false; ; again = true {
		if p.object == nil {
			if _, err := p.read(ctx); p.object == nil {
				return err
			}
		}
		before := p.object.Data[probe.ResultKey]
		next := p.object.DeepCopy()
		next.Data = map[string]string{probe.ResultKey: string(text)}
		err := apply.Update(ctx, p.client, next)
		if err == nil {
			p.object = next
			return nil
		}
		p.object = nil
		if !apierrors.IsConflict(err) || again {
			return err
		}
		if _, err := p.read(ctx); p.object != nil && p.object.Data[probe.ResultKey] != before {
			p.log.Error("somebody else writes the result: there must be one probe", "configMap", p.namespace+"/"+probe.ConfigMapName, "reason", err)
		}
	}
}
