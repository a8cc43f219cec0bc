package main

import (
	"bytes"
	"fmt"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStepSaysWhatOfItsTimeWasWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		on := newScreen(&out)
		on.total = 2
		for _, builds := range []bool{true, false} {
			_ = on.step("start x", func() error {
				on.await("the build of x", func() {
					if builds {
						fmt.Fprintln(on, "building x")
					}
					time.Sleep(2500 * time.Millisecond) // of the clock of synctest: nobody waits
				})
				on.await("nothing", func() {})
				return nil
			})
		}
		const want = "\n[ 1/2] start x \n building x\n[ 1/2] done 2.5 s\n of it, waiting for the build of x: 2.5 s\n" +
			"\n[ 2/2] start x . 2.5 s\n of it, waiting for the build of x: 2.5 s\n"
		if got := regexp.MustCompile(` +`).ReplaceAllString(out.String(), " "); got != want {
			t.Errorf("%s", got)
		}
	})
}
