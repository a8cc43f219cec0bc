package cli

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/fairlead-io/fairlead/internal/core/picture"
)

// Where no terminal can replace a text, each change of the states is a line. A server that is away is waited for, and
// complained of once.
func TestAWatchedFleetIsALineForEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		gone := &url.Error{Op: "Get", URL: "https://server", Err: errors.New("connection refused")}
		answers := []error{nil, gone, gone, nil, nil, errors.New("forbidden")}
		asked := 0
		look := func(context.Context) (picture.Picture, error) {
			asked++
			p := picture.Picture{Clusters: make([]picture.Cluster, asked/5+1), States: []picture.Count{{State: picture.Fine, Clusters: asked/5 + 1}}}
			return p, answers[asked-1]
		}
		var out, warnings bytes.Buffer
		err := watchPicture(ctx, &out, &warnings, look, "")
		if err == nil || err.Error() != "forbidden" || asked != 6 {
			t.Errorf("%v after %d", err, asked)
		}
		compared(t, out.String(), "1 cluster: 1 Fine\n2 clusters: 2 Fine\n")
		compared(t, warnings.String(), "warning: Get \"https://server\": connection refused\n")
	})
}
