package lint_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/units"
)

func TestAHiddenFileIsNamedWithWhatHidesIt(t *testing.T) {
	in := lint.Service(units.Service{Name: "x.service", Hidden: []units.Hidden{{Path: "usr/a.conf", By: "etc/a.conf", Variables: []string{"HTTP_PROXY", "NO_PROXY"}}}})[0]
	at := slices.IndexFunc(in.Refusals, func(f lint.Finding) bool { return f.Code == lint.Hidden })
	if at < 0 {
		t.Fatalf("%+v", in.Refusals)
	}
	want := lint.Finding{
		Code: lint.Hidden, Severity: lint.Info, Entries: []lint.Entry{{Value: "HTTP_PROXY"}, {Value: "NO_PROXY"}},
		Why: "usr/a.conf is not read: etc/a.conf hides it, since it has the same name",
	}
	if diff := cmp.Diff(want, in.Refusals[at]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
