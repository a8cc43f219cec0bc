package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/units"
)

func TestOfManySettingsThatLoseTheLastAreNamed(t *testing.T) {
	v := units.Variable{Name: "HTTP_PROXY"}
	for i := range 1000 {
		v.Settings = append(v.Settings, units.Setting{Name: v.Name, Value: fmt.Sprintf("http://p%d:1", i)})
	}
	said := lint.Service(units.Service{Name: "x.service", Variables: []units.Variable{v}})[0].Refusals
	at := slices.IndexFunc(said, func(f lint.Finding) bool { return f.Code == lint.Wins })
	if why := said[at].Why; strings.Count(why, "over ") != 11 || !strings.HasSuffix(why, "; and over 989 more") {
		t.Error(why)
	}
}

func TestOfManyValuesOfOneVariableItIsSaidOnce(t *testing.T) {
	data := ""
	for i := range 1000 {
		data += fmt.Sprintf("NO_PROXY=h%d\x00", i)
	}
	said := lint.Process(data)[0].Refusals
	if len(said) != 1 || len(said[0].Entries) != 1 {
		t.Errorf("%+v", said)
	}
}

// Commas may have cut user information, of which a specifier is the end.
func TestAListWithASpecifierAndUserInformationIsNotShown(t *testing.T) {
	v := units.Variable{Name: "NO_PROXY", Settings: []units.Setting{{Name: "NO_PROXY", Value: "a.com,u:S3CRET,%m@p", Specifiers: []string{"%m"}}}}
	for _, r := range lint.Service(units.Service{Name: "x.service", Variables: []units.Variable{v}}) {
		if said := fmt.Sprintf("%+v", lint.Run(r.Input)); strings.Contains(said, "S3CRET") {
			t.Error(said)
		}
	}
}
