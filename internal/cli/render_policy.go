package cli

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// policyOptions are the options of -o networkpolicy.
type policyOptions struct {
	namespace, podSelector string
	proxyAddresses, allow  []string
	carry, relayNamespace  string
}

// policyFlags are of no use to any other output.
var policyFlags = []string{"namespace", "pod-selector", "proxy-address", "allow", "carry", "relay-namespace"}

func (o *policyOptions) flags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of -o networkpolicy (default: the one where it is applied)")
	flags.StringVar(&o.podSelector, "pod-selector", "", "labels of the pods of -o networkpolicy, as kubectl's --selector (default: all pods)")
	o.wayFlags(flags)
}

// wayFlags are the flags that say what pods reach.
func (o *policyOptions) wayFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.proxyAddresses, "proxy-address", nil, "address or network of a proxy whose URL has a name, for the NetworkPolicy; may be repeated")
	flags.StringSliceVar(&o.allow, "allow", nil, "further address or network that the NetworkPolicy allows; may be repeated")
	flags.StringVar(&o.carry, "carry", "", "how pods have the settings; with Relay, the NetworkPolicy allows the relay instead of the proxy")
	flags.StringVar(&o.relayNamespace, "relay-namespace", operatorNamespace, "namespace of the relay's pods, with --carry Relay")
}

// networkPolicy has the inputs of a NetworkPolicy, beside the settings.
type networkPolicy struct {
	render.Egress
	namespace   string
	podSelector *metav1.LabelSelector
}

// networkPolicy is for options that were checked.
func (o renderOptions) networkPolicy() networkPolicy {
	p, _ := o.policy.read()
	p.Audience = o.reader()
	return p
}

func (o policyOptions) read() (networkPolicy, error) {
	p := networkPolicy{namespace: o.namespace}
	var err, proxyErr, allowErr, carryErr error
	if p.podSelector, err = metav1.ParseToLabelSelector(o.podSelector); err != nil {
		err = fmt.Errorf("--pod-selector: %w", err)
	}
	p.Proxy, proxyErr = prefixes("--proxy-address", o.proxyAddresses)
	p.Allow, allowErr = prefixes("--allow", o.allow)
	if o.carry != "" {
		carryErr = anyCase("--carry", &o.carry, carries)
	}
	if o.carry == mutation.CarryRelay {
		p.RelayNamespace = o.relayNamespace
	}
	return p, cmp.Or(err, proxyErr, allowErr, carryErr)
}

// prefixes reads addresses and networks.
func prefixes(flag string, texts []string) (all []netip.Prefix, err error) {
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil { // what was typed may be a URL
			return nil, fmt.Errorf("%s is an address or a network, such as 10.0.0.1 or 10.0.0.0/24", flag)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}
