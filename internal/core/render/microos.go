package render

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// MicroOS returns /etc/sysconfig/proxy of openSUSE MicroOS and its kin, none without a proxy. Logins read it, of programs of
// any kind (openSUSE/aaa_base, files/etc/profile.d/profile.sh), line by line and in this order; they have the variables in lower case,
// and NO_PROXY in both.
func MicroOS(e resolve.Effective) ([]byte, error) {
	set := []variable{{"PROXY_ENABLED", "yes"}}
	for _, v := range environment(e, noproxy.AudienceAny) {
		if v.name == strings.ToUpper(v.name) {
			set = append(set, v)
		}
	}
	if len(set) == 1 {
		return nil, nil
	}
	lines, err := assign(e, "/etc/sysconfig/proxy", set, sysconfigAssignment)
	return joinLines(lines), err
}

// sysconfigAssignment returns NAME="value" for a file that a shell evaluates after it took backslashes out of it, and that
// others read for themselves: what one of them would change is refused.
func sysconfigAssignment(name, value string) (string, error) {
	if strings.ContainsFunc(value, isControl) || strings.ContainsAny(value, "\"$`\\") {
		return "", notCarriable("%s contains a control character, or one of \" $ ` \\, which /etc/sysconfig/proxy cannot carry", name)
	}
	return name + `="` + value + `"`, nil
}
