package revision

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The names of objects in the operator's namespace. The cages of the operator's writes have the prefixes, too.
const (
	namePrefix    = "fairlead-revision-"
	controlPrefix = "fairlead-rollout-"
)

// maxProxyName leaves room for prefix and number in the name of an object.
const maxProxyName = 200

// Name returns the name of the Secret and of the ConfigMap of a revision.
func Name(proxy string, number int64) string {
	return namePrefix + proxy + "-" + strconv.FormatInt(number, 10)
}

// ParseName returns the CorporateProxy and the number, if the name is one of a revision.
func ParseName(name string) (proxy string, number int64, ok bool) {
	rest, ok := strings.CutPrefix(name, namePrefix)
	at := strings.LastIndexByte(rest, '-')
	if !ok || at < 1 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(rest[at+1:], 10, 64)
	return rest[:at], number, err == nil && number > 0 && Name(rest[:at], number) == name
}

// NameProblem returns an error text if the name of a CorporateProxy is too long for the objects of revisions; else "".
func NameProblem(proxy string) string {
	if len(proxy) > maxProxyName {
		return fmt.Sprintf("the name has %d characters; with spec.rollout it may have at most %d", len(proxy), maxProxyName)
	}
	return ""
}

// ControlName returns the name of the ConfigMap in which people pause or reject rollouts of a CorporateProxy, apart
// from the object that GitOps owns. "fairlead rollout" writes it.
func ControlName(proxy string) string { return controlPrefix + proxy }

// ControlledProxy returns the CorporateProxy of a control ConfigMap.
func ControlledProxy(name string) (string, bool) {
	proxy, ok := strings.CutPrefix(name, controlPrefix)
	return proxy, ok && proxy != ""
}

// The keys of the control ConfigMap.
const (
	PausedKey   = "paused"   // "true": no further cluster gets another revision
	RejectedKey = "rejected" // digests, separated by white space
)

// Control has the settings of the control ConfigMap.
type Control struct {
	Paused   bool
	Rejected []string // digests
}

// ParseControl reads the control ConfigMap; nil says nothing. The error names the key; what can be read is returned beside it.
func ParseControl(configMap *corev1.ConfigMap) (Control, error) {
	if configMap == nil {
		return Control{}, nil
	}
	c := Control{Rejected: strings.Fields(configMap.Data[RejectedKey])}
	switch text := configMap.Data[PausedKey]; text {
	case "true":
		c.Paused = true
	case "", "false":
	default:
		c.Paused = true // the safe reading
		return c, fmt.Errorf("ConfigMap %s: data.%s is neither true nor false, and counts as true", configMap.Name, PausedKey)
	}
	return c, nil
}
