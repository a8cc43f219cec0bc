package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/deliver"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// lab is the operator with its fleet, and the measurements.
type lab struct {
	options  options
	begin    time.Time
	fleet    []types.NamespacedName
	ours     *side
	operator *replica
	delivery *replica // nil without
	tokens   int      // passwords so far
	rows     []row
}

// measure returns the rows it has, also beside an error.
func measure(ctx context.Context, options options) (_ []row, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &lab{options: options, begin: time.Now(), fleet: fleetNames("fleet", options.Clusters, options.InNamespace)}
	l.begins("a control plane")
	if l.ours, err = newSide(ctx); err != nil {
		return nil, err
	}
	l.operator = &replica{cp: l.ours.cp, name: operatorName}
	if options.Deliver {
		// Nobody applies it, and steps that change nothing are counted: a renewal, once an hour for each cluster, is a request.
		l.delivery = &replica{cp: l.ours.cp, name: deliver.ServiceAccount, args: []string{"--report-after=24h", "--renew=24h"}}
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for _, phase := range []func(context.Context) error{
		l.makeFleet, l.fill, l.startDelivery, l.fanOuts, l.touchSource, l.touchClusters, l.newOnQuiet, l.newDuringFanOut,
		l.rest, l.restart, l.restartAPIServer, l.atTheEnd,
	} {
		if err := phase(ctx); err != nil {
			return l.rows, err
		}
	}
	return l.rows, nil
}

// begins prints the next step on stderr.
func (l *lab) begins(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%4.0fs %s\n", time.Since(l.begin).Seconds(), fmt.Sprintf(format, args...))
}

func (l *lab) close() (err error) {
	for _, r := range []*replica{l.operator, l.delivery} {
		if r != nil && r.running != nil {
			err = errors.Join(err, r.stop())
		}
	}
	return errors.Join(err, l.ours.cp.Stop())
}

func (l *lab) add(figure, value string) { l.rows = append(l.rows, row{figure, value}) }

func (l *lab) nextToken() string {
	l.tokens++
	return token(l.tokens)
}

func (l *lab) makeFleet(ctx context.Context) error {
	l.begins("%d clusters", l.options.Clusters)
	if err := installDeployments(ctx, l.ours.cp, l.options.Deliver); err != nil {
		return err
	}
	if err := createProxy(ctx, l.ours.client, l.nextToken(), l.options); err != nil {
		return err
	}
	if err := createNamespaces(ctx, l.ours.client, l.fleet); err != nil {
		return err
	}
	err := each(ctx, creators, l.fleet, func(ctx context.Context, i int, key types.NamespacedName) error {
		return l.ours.client.Create(ctx, newCluster(key, i, l.options.Deliver))
	})
	if err != nil {
		return err
	}
	l.begins("%d machines", l.options.Clusters*l.options.Machines)
	begin := time.Now()
	err = l.ours.createMachines(ctx, l.fleet, l.options.Machines)
	l.add("clusters; machines of each", fmt.Sprintf("%d; %d", l.options.Clusters, l.options.Machines))
	if l.options.Machines > 0 {
		l.add("(creation of the machines)", seconds(time.Since(begin)))
	}
	return err
}

// setPassword changes the proxy's Secret once.
func (l *lab) setPassword(ctx context.Context, token string) error {
	secret := &corev1.Secret{}
	if err := l.ours.client.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: proxyName}, secret); err != nil {
		return err
	}
	secret.Data = sourceData(token)
	return l.ours.client.Update(ctx, secret)
}

// touch changes an annotation that concerns nobody.
func touch(ctx context.Context, c client.Client, object client.Object) error {
	body := fmt.Sprintf(`{"metadata":{"annotations":{"fairlead.test/touched":%q}}}`, metav1.Now().Format(time.RFC3339Nano))
	return c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(body)))
}

// counted has the operator's requests and CPU time during a step.
type counted struct {
	requests requests
	used     time.Duration
	delivery requests      // those of deliver, until it was quiet, too
	arrived  time.Duration // until then
}

// during counts from now until the operator is quiet again.
func (l *lab) during(ctx context.Context, do func() error) (c counted, err error) {
	mark, err := l.ours.cp.AuditMark()
	if err != nil {
		return c, err
	}
	before, err := process.CPUTime(l.operator.pid())
	if err != nil {
		return c, err
	}
	begin := time.Now()
	if err := do(); err != nil {
		return c, err
	}
	if _, err := l.operator.quiet(ctx); err != nil {
		return c, err
	}
	after, err := process.CPUTime(l.operator.pid())
	if err != nil {
		return c, err
	}
	c.used = after - before
	if c.requests, err = requestsOf(operator.User, l.ours.cp, mark); err != nil || l.delivery == nil || l.delivery.running == nil {
		return c, err
	}
	end, err := l.delivery.quiet(ctx)
	if err != nil {
		return c, err
	}
	c.arrived = end.Sub(begin)
	c.delivery, err = requestsOf(deliver.User, l.ours.cp, mark)
	return c, err
}
