package rollout

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// machineWorld is a fleet in virtual time, with what the controller and Cluster API do.
type machineWorld struct {
	*testing.T
	random   *rand.Rand
	now      time.Time
	places   map[string]int
	stopped  map[string]string
	clusters []*machineSim
	claim    *machineSim
	most     map[string]int // clusters of a pool under way at a time
}

// machineSim is a Cluster with its ProxyReport, and what the controller remembers of it.
type machineSim struct {
	pool     Pool
	name     string
	owners   []string  // with outdated machines
	slow     time.Time // until then machines do not come up
	cannot   bool      // nothing can be begun
	status   v1alpha1.ReportedRollout
	up       time.Time // when the machines of the owner that was told last are there
	told     bool      // in this turn
	paused   time.Time // until then
	notReady time.Time // until then
	deleted  bool

	moved, retry time.Time
	failures     int
}

const (
	simInterval = time.Minute
	simDeadline = time.Hour
)

func newMachineWorld(t *testing.T, seed uint64, clusters int) *machineWorld {
	t.Helper()
	w := &machineWorld{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), now: epoch,
		stopped: map[string]string{}, most: map[string]int{},
	}
	w.places = map[string]int{"": 1, "corp": 1 + w.random.IntN(12), "other": 1 + w.random.IntN(3)}
	for i := range clusters {
		c := &machineSim{name: fmt.Sprintf("c%04d", i), owners: []string{"cp", "md-a", "md-b"}[:1+w.random.IntN(3)]}
		switch i % 8 {
		case 0:
			c.pool = Pool{Name: "other", Wave: w.random.IntN(2)}
		case 1:
		default:
			c.pool = Pool{Name: "corp", Wave: w.random.IntN(4)}
		}
		switch w.random.IntN(12) {
		case 0:
			c.slow = epoch.Add(time.Duration(w.random.IntN(48)) * time.Hour)
		case 1:
			c.cannot = true
		case 2:
			c.slow = epoch.AddDate(100, 0, 0)
		}
		w.clusters = append(w.clusters, c)
	}
	return w
}

func (w *machineWorld) chance(of int) bool { return w.random.IntN(of) == 0 }

// fleet returns what the cache has.
func (w *machineWorld) fleet() []*MachineCluster {
	var fleet []*MachineCluster
	for _, c := range w.clusters {
		if c.status.After == nil {
			c.moved, c.told = time.Time{}, false
		} else if c.moved.IsZero() {
			c.moved = w.now
		}
		c.pool.Places = w.places[c.pool.Name]
		nodes := &v1alpha1.ReportedNodes{Since: since(epoch.Unix())}
		for _, name := range c.owners {
			nodes.Owners = append(nodes.Owners, v1alpha1.ReportedOwner{Kind: MachineDeployment, Name: name, Outdated: 1})
		}
		fleet = append(fleet, &MachineCluster{
			Key: types.NamespacedName{Name: c.name}, Wanted: true, Ready: !c.notReady.After(w.now), Paused: c.paused.After(w.now), Deleting: c.deleted,
			Nodes: nodes, Rollout: c.status, Pool: c.pool, Stopped: w.stopped[c.pool.Name], Claimed: w.claim == c, Retry: c.retry, Failures: c.failures,
		})
	}
	return fleet
}

// step is a pass of the controller, and what happens until the next one.
func (w *machineWorld) step() {
	fleet := w.fleet()
	sims := map[string]*machineSim{}
	for i, c := range fleet {
		sims[c.Key.Name] = w.clusters[i]
	}
	p := NextMachines(fleet, w.now, time.Time{}, simInterval)
	claim := w.claim
	w.claim = nil
	for _, c := range p.Going {
		w.advance(&p, c, sims[c.Key.Name])
	}
	for i, c := range p.Try {
		sim := sims[c.Key.Name]
		if !w.begin(c, sim) {
			continue
		}
		// A former leader claims another one, before either has seen the other.
		if i+1 < len(p.Try) && w.chance(3) {
			if rival := sims[p.Try[i+1].Key.Name]; !rival.cannot && p.Try[i+1].HasToRoll() {
				rival.status = p.Try[i+1].UnderWay(w.now, p.Try[i+1].ToRoll()[0])
			}
		}
		break
	}
	for _, c := range p.Rest {
		sim := sims[c.Key.Name]
		if c.Rollout.After != nil && !w.chance(5) {
			sim.status = c.Describe()
		} else if sim == claim {
			w.claim = claim // it could not be released
		}
	}
	w.now = w.now.Add(min(max(p.Wait, time.Second), time.Minute))
	w.happen()
}

func (w *machineWorld) advance(p *MachinePlan, c *MachineCluster, sim *machineSim) {
	switch {
	case len(sim.owners) > 0 && !c.Able():
		w.hold(c, sim, "waits")
	case sim.told && sim.up.After(w.now):
		w.hold(c, sim, "waits")
	case len(sim.owners) == 0:
		sim.status = v1alpha1.ReportedRollout{Started: sim.status.Started}
	case p.Crowded(c):
		sim.status = c.Describe()
		p.GaveBack(c)
	default:
		w.tell(c, sim)
	}
}

// tell has machines of the next owner replaced: the old one goes at once, which is the worst case.
func (w *machineWorld) tell(c *MachineCluster, sim *machineSim) {
	others := 0
	for _, other := range w.clusters {
		if other != sim && other.pool.Name == sim.pool.Name && other.told && other.status.After != nil && !other.deleted {
			others++
		}
	}
	if others >= w.places[sim.pool.Name] {
		w.Fatalf("%s: machines of %s are replaced beside those of %d others", w.now, sim.name, others)
	}
	w.most[sim.pool.Name] = max(w.most[sim.pool.Name], others+1)
	sim.status = c.UnderWay(w.now, c.ToRoll()[0])
	sim.owners, sim.told, sim.moved = sim.owners[1:], true, w.now
	sim.retry = w.now.Add(time.Minute)
	sim.up = later(sim.slow, w.now.Add(time.Duration(w.random.IntN(40))*time.Minute))
}

func (w *machineWorld) hold(c *MachineCluster, sim *machineSim, message string) {
	sim.status, sim.retry = c.HeldFor(message), w.now.Add(time.Minute)
	if w.now.Sub(sim.moved) >= simDeadline {
		sim.status.After, sim.status.Skipped, sim.status.Message = nil, c.Since(), "skipped: "+message
	}
}

// begin claims a cluster, if it can be.
func (w *machineWorld) begin(c *MachineCluster, sim *machineSim) bool {
	w.inOrder(sim)
	waits := sim.status.Skipped != nil && sim.up.After(w.now)
	switch {
	case sim.cannot || waits || w.chance(20):
		if !waits {
			sim.status.Message = "cannot begin"
		}
		sim.retry = w.now.Add(min(time.Minute<<sim.failures, time.Hour))
		sim.failures++
		return false
	case len(sim.owners) == 0:
		sim.status = v1alpha1.ReportedRollout{Started: sim.status.Started}
		return false
	}
	sim.status = c.UnderWay(w.now, c.ToRoll()[0])
	sim.failures = 0
	w.claim = sim
	return true
}

// inOrder fails if a cluster of an earlier wave could be rolled, and is not.
func (w *machineWorld) inOrder(sim *machineSim) {
	for _, c := range w.clusters {
		if c.pool.Name != sim.pool.Name || c.pool.Wave >= sim.pool.Wave || c.deleted || c.paused.After(w.now) || c.notReady.After(w.now) || c.status.Skipped != nil {
			continue
		}
		if len(c.owners) > 0 && c.failures <= fewFailures || c.status.After != nil {
			w.Fatalf("%s: %s of wave %d begins before %s of wave %d is done", w.now, sim.name, sim.pool.Wave, c.name, c.pool.Wave)
		}
	}
	if w.stopped[sim.pool.Name] != "" {
		w.Fatalf("%s: %s begins, though nothing is to", w.now, sim.name)
	}
}

func (w *machineWorld) happen() {
	c := w.clusters[w.random.IntN(len(w.clusters))]
	until := w.now.Add(time.Duration(w.random.IntN(180)) * time.Minute)
	switch w.random.IntN(100) {
	case 0:
		c.paused = until
	case 1:
		c.notReady = until
	case 2:
		c.deleted = w.chance(5)
	case 3:
		w.places[c.pool.Name] = 1 + w.random.IntN(12)
		w.places[""] = 1
	case 4:
		w.stopped[c.pool.Name] = []string{"", "", "paused"}[w.random.IntN(3)]
	case 5, 6, 7, 8:
		w.restart()
	}
}

// restart is another process, which remembers nothing.
func (w *machineWorld) restart() {
	w.claim = nil
	for _, c := range w.clusters {
		c.moved, c.retry, c.failures = time.Time{}, time.Time{}, 0
	}
}

// open returns a cluster that is neither rolled nor says why not.
func (w *machineWorld) open() *machineSim {
	for _, c := range w.clusters {
		ended := c.deleted || c.status.After == nil && (len(c.owners) == 0 || c.status.Skipped != nil) || c.cannot && c.status.Message == "cannot begin"
		if !ended {
			return c
		}
	}
	return nil
}

func TestEveryClusterIsRolledOrNamedAndNeverTooManyAtATime(t *testing.T) {
	for seed := range uint64(3) {
		w := newMachineWorld(t, seed, 300)
		for w.open() != nil && w.now.Before(epoch.AddDate(0, 2, 0)) {
			w.step()
			if w.now.After(epoch.AddDate(0, 0, 3)) {
				clear(w.stopped)
			}
		}
		if c := w.open(); c != nil {
			t.Fatalf("seed %d: %+v is neither rolled nor named", seed, c)
		}
		if w.most[""] != 1 || w.most["corp"] < 2 {
			t.Errorf("seed %d: at a time %v", seed, w.most)
		}
	}
}

func BenchmarkMachinesOfFiveThousandClusters(b *testing.B) {
	var fleet []*MachineCluster
	for i := range 5000 {
		c := outdatedCluster(fmt.Sprintf("c%04d", i), inPool("corp", 50, i%3))
		if i < 150 && i%3 == 0 {
			c.Rollout.After, c.Rollout.Started = since(changedAt), &metav1.Time{Time: time.Unix(changedAt, 0)}
		}
		fleet = append(fleet, c)
	}
	b.ReportAllocs()
	for b.Loop() {
		p := NextMachines(fleet, time.Unix(changedAt+3600, 0), time.Time{}, time.Minute)
		for _, c := range p.Rest {
			_ = c.Describe()
		}
	}
}
