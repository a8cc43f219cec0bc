package mutator

import "k8s.io/apimachinery/pkg/util/version"

// needs are programs, by the last part of their image, with the first version that does what a policy counts on.
var needs = map[string]struct{ from, does string }{
	"frpc": {"0.9.0", "reads http_proxy"}, // fatedier/frp issue 67
}

// ofVersion says what the tag of an image shows, where it matters.
func (s statement) ofVersion(a agent) {
	name, tag := a.ImageTag()
	need, ok := needs[name]
	if !ok {
		return
	}
	switch found, err := version.ParseGeneric(tag); {
	case err != nil:
		s.warn("container %s: the image's tag is no version: %s %s from %s on", a.Name, name, need.does, need.from)
	case found.LessThan(version.MustParseGeneric(need.from)):
		s.warn("container %s: %s %s cannot work: it %s from %s on", a.Name, name, tag, need.does, need.from)
	}
}
