package explain

import (
	"strconv"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/noproxy/dialect/vector"
)

func TestAnExpectationIsMetOrNot(t *testing.T) {
	list := "10.0.0.0/8"
	row := vector.Row{Client: "go", NoProxy: &list, URL: "https://10.1.2.3", Expect: "direct"}
	if found, err := NewChecker().Check(row); found != nil || err != nil {
		t.Error(found, err)
	}
	row.Expect = "fails"
	found, err := NewChecker().Check(row)
	if err != nil || found == nil || found.Got != "direct" || found.Expected != "fails" || found.Given != `NO_PROXY "10.0.0.0/8"` {
		t.Error(found, err)
	}
}

func TestARowThatCannotBeAskedIsAnError(t *testing.T) {
	list := "x"
	for _, row := range []vector.Row{
		{Client: "kurl", NoProxy: &list, URL: "https://10.1.2.3"},
		{Client: "go", NoProxy: &list, URL: "ftp://10.1.2.3"},
	} {
		if found, err := NewChecker().Check(row); found != nil || err == nil {
			t.Error(row, found, err)
		}
	}
}

// A file of expectations asks about one list thousands of times.
func TestAListIsReadOnceForEachClient(t *testing.T) {
	list := strings.Repeat("h.example,", 2_000) + "10.0.0.0/8"
	checker := NewChecker()
	for i := range 10_000 {
		row := vector.Row{Client: "go", NoProxy: &list, URL: "https://10.1.2." + strconv.Itoa(i%256), Expect: "direct"}
		if found, err := checker.Check(row); found != nil || err != nil {
			t.Fatal(found, err)
		}
	}
	if len(checker.deciders) != 1 {
		t.Errorf("the list was read %d times", len(checker.deciders))
	}
}

func TestAnEmptyEnvironmentIsNotAMissingList(t *testing.T) {
	checker := NewChecker()
	for _, row := range []vector.Row{
		{Client: "go", URL: "https://10.1.2.3", Expect: "proxy"}, // both proxy variables are set
		{Client: "go", URL: "https://10.1.2.3", Env: map[string]string{}, Observed: "direct"},
	} {
		if found, err := checker.Check(row); found != nil || err != nil {
			t.Error(found, err)
		}
	}
}

func TestTheEnvironmentIsNamedWithoutItsValues(t *testing.T) {
	list, hidden := "a\nb", "http://me:S3CRET@p.example"
	for _, test := range []struct {
		row  vector.Row
		want string
	}{
		{vector.Row{NoProxy: &list}, `NO_PROXY "a\nb"`},
		{vector.Row{NoProxy: &hidden}, "a list that is hidden: a URL with user information is in it"},
		{vector.Row{}, "no list"},
		{vector.Row{Env: map[string]string{}}, "an empty environment"},
		{vector.Row{Name: "x", Env: map[string]string{}}, "environment x"},
		{vector.Row{Env: map[string]string{"b": "S3CRET", "a": ""}}, "variables a, b"},
		{vector.Row{Name: "http://me:S3CRET@p", Env: map[string]string{"b": ""}}, "variables b"},
	} {
		if got := surroundings(test.row); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
