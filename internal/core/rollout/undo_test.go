package rollout

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// having returns a cluster with a revision, which had another one before (0: none). Digests are those of kept.
func having(name string, number, before int64) Row {
	r := revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: number, Digest: undoDigestOf(number)}}
	if before > 0 {
		r.Before = &revision.Before{Number: before, Digest: undoDigestOf(before)}
	}
	return Row{Key: types.NamespacedName{Namespace: "ns", Name: name}, Record: &r}
}

func undoDigestOf(number int64) string { return string(rune('a' + number - 1)) }

// kept are revisions 1, 2, ... with the digests a, b, ..., and what is rejected of them.
func revisionsUpTo(n int64, rejected ...int64) (all []Revision) {
	for number := int64(1); number <= n; number++ {
		all = append(all, Revision{Number: number, Digest: undoDigestOf(number), Rejected: slices.Contains(rejected, number)})
	}
	return all
}

func TestAnUndoSaysWhereClustersGoBackTo(t *testing.T) {
	again := revisionsUpTo(3)
	again[2].Digest = "b" // the content of revision 2 again
	for name, test := range map[string]struct {
		revisions []Revision
		number    int64
		rows      []Row
		reject    int64
		already   bool
		target    int64
		back      []Return
	}{
		"the newest, by default": {
			revisionsUpTo(3), 0, []Row{having("x", 3, 2), having("y", 2, 1), having("z", 3, 2)}, 3, false, 2, []Return{{2, []string{"ns/x", "ns/z"}}},
		},
		"each to what it had": {
			revisionsUpTo(3), 0, []Row{having("x", 3, 1), having("y", 3, 2)}, 3, false, 2, []Return{{2, []string{"ns/y"}}, {1, []string{"ns/x"}}},
		},
		"to an earlier one where what it had is rejected, or unknown": {
			revisionsUpTo(4, 3), 0, []Row{having("x", 4, 3), having("y", 4, 0)}, 4, false, 2, []Return{{2, []string{"ns/x", "ns/y"}}},
		},
		"one that is not the newest": {revisionsUpTo(3), 2, []Row{having("x", 2, 1), having("y", 3, 2)}, 2, false, 3, []Return{{1, []string{"ns/x"}}}},
		"the oldest, forward":        {revisionsUpTo(2), 1, []Row{having("x", 1, 0)}, 1, false, 2, []Return{{2, []string{"ns/x"}}}},
		"nobody has it":              {revisionsUpTo(2), 0, []Row{having("x", 1, 0)}, 2, false, 1, nil},
		"a second time":              {revisionsUpTo(3, 3), 0, []Row{having("x", 3, 2)}, 3, true, 2, []Return{{2, []string{"ns/x"}}}},
		"the same content as an earlier one": {
			again, 0, []Row{having("x", 1, 0), having("y", 2, 1)}, 3, false, 1, []Return{{1, []string{"ns/y"}}},
		},
	} {
		u, err := UndoOf("corp", test.revisions, test.rows, test.number)
		if err != nil || u.Reject.Number != test.reject || u.Already != test.already || u.Target.Number != test.target || !reflect.DeepEqual(u.Back, test.back) {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

func TestAnUndoWithNothingToGoBackToIsAnError(t *testing.T) {
	for name, test := range map[string]struct {
		revisions []Revision
		number    int64
		want      string
	}{
		"none":                {nil, 0, "no revision is kept"},
		"unknown":             {revisionsUpTo(2), 9, "revision 9 is not kept"},
		"only one":            {revisionsUpTo(1), 0, "revision 1 is the only one that is not rejected: clusters have nothing to go back to"},
		"the others rejected": {revisionsUpTo(3, 1, 3), 2, "revision 2 is the only one that is not rejected: clusters have nothing to go back to"},
	} {
		if _, err := UndoOf("corp", test.revisions, nil, test.number); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The rollout does what the undo announces.
func TestTheRolloutDoesWhatTheUndoSays(t *testing.T) {
	rows := func() []Row { return []Row{having("x", 3, 1), having("y", 3, 2), having("z", 2, 1)} }
	u, err := UndoOf("corp", revisionsUpTo(3), rows(), 0)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := ParsePolicy(v1alpha1.Rollout{Paused: true})
	if err != nil {
		t.Fatal(err)
	}
	d := Decide(Fleet{Proxy: "corp", Policy: policy, Revisions: revisionsUpTo(3, 3), Rows: rows()})
	did := map[string]int64{}
	for _, a := range d.Assigned {
		did[a.Key.String()] = a.Record.Number
	}
	said := map[string]int64{}
	for _, back := range u.Back {
		for _, cluster := range back.Clusters {
			said[cluster] = back.To
		}
	}
	if !reflect.DeepEqual(did, said) || d.Target.Number != u.Target.Number {
		t.Errorf("it did %v to %d, and said %v to %d", did, d.Target.Number, said, u.Target.Number)
	}
}

func TestRefusedCredentialsAreThoseThatClustersWouldHaveAgain(t *testing.T) {
	u := Undo{Reject: Revision{Number: 4}, Target: Revision{Number: 3}, Back: []Return{{To: 2}}}
	accounts := []Account{{Revision: 1, Current: "old"}, {Revision: 2, Current: "old"}, {Revision: 3, Current: "new", Previous: "old"}, {Revision: 4}}
	for name, test := range map[string]struct {
		status []v1alpha1.CredentialsStatus
		want   []int64
	}{
		"nobody was refused":               {[]v1alpha1.CredentialsStatus{{Fingerprint: "old"}, {Fingerprint: "new"}}, nil},
		"with what a cluster had":          {[]v1alpha1.CredentialsStatus{{Fingerprint: "old", Refused: true}}, []int64{2}},
		"with those of the target":         {[]v1alpha1.CredentialsStatus{{Fingerprint: "new", Refused: true}}, []int64{3}},
		"with others":                      {[]v1alpha1.CredentialsStatus{{Fingerprint: "else", Refused: true}}, nil},
		"without any, as if they were one": {[]v1alpha1.CredentialsStatus{{Fingerprint: "", Refused: true}}, nil},
	} {
		if got := u.Refused(accounts, test.status); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatIsKnownOfARevisionIsWhatStatusAndPeopleSayOfItsDigest(t *testing.T) {
	stored := []revision.Public{{Number: 10, Digest: "j"}, {Number: 2, Digest: "b"}, {Number: 9, Digest: "i"}}
	status := []v1alpha1.RevisionStatus{{Number: 2, Digest: "b", Passed: true, Completed: true}, {Number: 9, Digest: "other", Passed: true}}
	want := []Revision{{Number: 2, Digest: "b", Passed: true, Completed: true}, {Number: 9, Digest: "i"}, {Number: 10, Digest: "j", Rejected: true}}
	if got := Known(stored, status, revision.Control{Rejected: []string{"j", "gone"}}); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}
