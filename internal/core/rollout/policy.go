package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Policy is the spec.rollout of a CorporateProxy. Its zero value has no wave, and changes nobody.
type Policy struct {
	Paused         bool
	waves          []wave
	failedClusters int
	probes         bool // are waited for
}

// wave is a group of clusters. Its zero selector selects all that no earlier one does.
type wave struct {
	name     string
	selector labels.Selector
	parallel *intstr.IntOrString
	soak     time.Duration
	deadline time.Duration
}

// The defaults of the CRD, for manifests that never met it.
const (
	defaultProgressDeadline = 10 * time.Minute
	defaultFailedClusters   = 1
)

// ParsePolicy reads spec.rollout. The error names the field.
func ParsePolicy(spec v1alpha1.Rollout) (Policy, error) {
	p := Policy{Paused: spec.Paused, failedClusters: int(cmp.Or(spec.HaltOn.FailedClusters, defaultFailedClusters))}
	if p.failedClusters < 1 {
		return Policy{}, fmt.Errorf("spec.rollout.haltOn.failedClusters: %d is not a number of clusters from 1", p.failedClusters)
	}
	switch probes := spec.HaltOn.Probes; probes {
	case "", v1alpha1.ProbesFailed, v1alpha1.ProbesIgnored:
	case v1alpha1.ProbesRequired:
		p.probes = true
	default:
		return Policy{}, fmt.Errorf("spec.rollout.haltOn.probes: %q is none of %s, %s and %s", probes, v1alpha1.ProbesIgnored, v1alpha1.ProbesFailed, v1alpha1.ProbesRequired)
	}
	for i, written := range spec.Waves {
		w, err := parseWave(written)
		if err == nil && slices.ContainsFunc(p.waves, func(earlier wave) bool { return earlier.name == w.name }) {
			err = errors.New("name: an earlier wave has it")
		}
		if err != nil {
			return Policy{}, fmt.Errorf("spec.rollout.waves[%d] (%s).%w", i, written.Name, err)
		}
		p.waves = append(p.waves, w)
	}
	if len(p.waves) == 0 {
		p.waves = []wave{{deadline: defaultProgressDeadline}}
	}
	return p, nil
}

func parseWave(spec v1alpha1.Wave) (wave, error) {
	w := wave{name: spec.Name, parallel: spec.MaxParallel, deadline: defaultProgressDeadline}
	if spec.Name == "" { // which would have no state
		return w, errors.New("name: is empty")
	}
	if s := spec.ClusterSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			return w, fmt.Errorf("clusterSelector: %w", err)
		}
		w.selector = selector
	}
	if _, err := places(spec.MaxParallel, 1); err != nil {
		return w, fmt.Errorf("maxParallel: %w", err)
	}
	if spec.Soak != nil {
		w.soak = spec.Soak.Duration
	}
	if w.soak < 0 {
		return w, fmt.Errorf("soak: %s is negative", w.soak)
	}
	if spec.ProgressDeadline != nil {
		w.deadline = spec.ProgressDeadline.Duration
	}
	if w.deadline <= 0 {
		return w, fmt.Errorf("progressDeadline: %s is no time", w.deadline)
	}
	return w, nil
}

// places returns how many of so many clusters are changed at a time: at least one.
func places(limit *intstr.IntOrString, clusters int) (int, error) {
	if limit == nil {
		return max(clusters, 1), nil
	}
	if limit.Type == intstr.Int {
		if limit.IntVal < 1 {
			return 0, fmt.Errorf("%d is not a number of clusters from 1", limit.IntVal)
		}
		return int(limit.IntVal), nil
	}
	digits, ok := strings.CutSuffix(limit.StrVal, "%")
	percent, err := strconv.Atoi(digits)
	if err != nil || !ok || percent < 1 || percent > 100 || strconv.Itoa(percent) != digits {
		return 0, fmt.Errorf("%q is not a percentage from 1%% to 100%%", limit.StrVal)
	}
	return max((clusters*percent+99)/100, 1), nil
}

// waveOf returns the first wave that selects a cluster, or -1; and all that do so by a selector of their own.
func (p Policy) waveOf(cluster map[string]string) (first int, selecting []string) {
	first = -1
	for i, w := range p.waves {
		switch {
		case w.selector != nil && w.selector.Matches(labels.Set(cluster)):
			selecting = append(selecting, w.name)
			if first < 0 {
				first = i
			}
		case w.selector == nil && first < 0:
			first = i
		}
	}
	return first, selecting
}

// WaveNumber returns the number of the wave of a cluster with these labels, from 0; after all others where none selects it.
func (p Policy) WaveNumber(cluster map[string]string) int {
	if i, _ := p.waveOf(cluster); i >= 0 {
		return i
	}
	return len(p.waves)
}

// WaveOf returns the name of the wave of a cluster with these labels; empty without waves. False: no wave selects it.
func (p Policy) WaveOf(cluster map[string]string) (string, bool) {
	i, _ := p.waveOf(cluster)
	if i < 0 {
		return "", false
	}
	return p.waves[i].name, true
}
