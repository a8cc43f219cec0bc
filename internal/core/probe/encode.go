package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Encode returns a result as JSON of at most MaxResultBytes. What is too much is left away, the least important first; what
// was left away is in Unseen. The counts stay.
func Encode(r Result) ([]byte, error) {
	steps := []func(*Result){
		func(r *Result) { eachNode(r, func(n *Node) { n.Outages = n.Outages[:min(len(n.Outages), 1)] }) },
		func(r *Result) { eachTarget(r, func(t *TargetResult) { t.Message = shortened(t.Message, 80) }) },
		func(r *Result) {
			r.Targets = slices.DeleteFunc(slices.Clone(r.Targets), func(t TargetResult) bool { return t.State == Held })
		},
		func(r *Result) { eachNode(r, func(n *Node) { n.Outages = nil }) },
		func(r *Result) { r.Targets = r.Targets[:min(len(r.Targets), 32)] },
		func(r *Result) { r.Credentials = r.Credentials[:min(len(r.Credentials), 20)] },
		func(r *Result) { eachTarget(r, func(t *TargetResult) { t.Message = "" }) },
		func(r *Result) { r.Targets = r.Targets[:min(len(r.Targets), 16)] },
	}
	if len(r.Unseen) > 0 {
		r.Unseen = slices.Clone(r.Unseen[:min(len(r.Unseen), 20)])
		for i := range r.Unseen {
			r.Unseen[i] = shortened(r.Unseen[i], maxMessage)
		}
	}
	for i := 0; ; i++ {
		text, err := marshal(r)
		if err != nil || len(text) <= MaxResultBytes {
			return text, err
		}
		if i == len(steps) {
			return nil, fmt.Errorf("the result has %d bytes, and at most %d are published", len(text), MaxResultBytes)
		}
		if i == 0 {
			r.Unseen = append(slices.Clone(r.Unseen), "the result was too long: part of it is left away")
		}
		steps[i](&r)
	}
}

// marshal leaves characters as they are that only matter in HTML: six bytes would be one.
func marshal(r Result) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(r)
	return bytes.TrimSpace(text.Bytes()), err
}

// Decode reads what Encode wrote.
func Decode(text []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return Result{}, fmt.Errorf("%s of configmap %s: it is not JSON as this program writes it", ResultKey, ConfigMapName)
	}
	if r.Version != 1 {
		return Result{}, fmt.Errorf("%s of configmap %s: version %d is not known here", ResultKey, ConfigMapName, r.Version)
	}
	return r, nil
}

func eachNode(r *Result, change func(*Node)) {
	if r.Nodes == nil {
		return
	}
	nodes := *r.Nodes
	nodes.Worst = slices.Clone(nodes.Worst)
	for i := range nodes.Worst {
		change(&nodes.Worst[i])
	}
	r.Nodes = &nodes
}

func eachTarget(r *Result, change func(*TargetResult)) {
	r.Targets = slices.Clone(r.Targets)
	for i := range r.Targets {
		change(&r.Targets[i])
	}
}
