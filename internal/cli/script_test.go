package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fairlead":         func() { os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"kubectl-fairlead": func() { os.Exit(cli.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestTheCommandLine runs every testdata/script/*.txtar in a directory of its
// own, into which the files of testdata/common and three folders of examples are copied.
func TestTheCommandLine(t *testing.T) {
	testscript.Run(t, scripts("testdata/script"))
}

// scripts returns the scripts of a folder.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			examples := filepath.Join("..", "..", "examples")
			return errors.Join(
				os.CopyFS(env.WorkDir, os.DirFS(filepath.Join("testdata", "common"))),
				os.CopyFS(filepath.Join(env.WorkDir, "config-repo"), os.DirFS(filepath.Join(examples, "config-repo"))),
				os.CopyFS(filepath.Join(env.WorkDir, "imported"), os.DirFS(filepath.Join(examples, "imported"))),
				os.CopyFS(filepath.Join(env.WorkDir, "import"), os.DirFS(filepath.Join(examples, "import"))),
			)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "says": says, "decode": decode, "entries": entries, "bytes": size,
			"authority": authority, "fill": fill,
		},
	}
}

// passwords stand in the files of the scripts.
var passwords = []string{"mySuperSecret", "S3CRET"}

// exits STATUS COMMAND... runs a command that must end with that status. No
// password may be on stderr, and a run that fails must print nothing else.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	stdout, stderr := run(ts, args)
	if args[0] == "0" {
		return
	}
	if stdout != "" {
		ts.Fatalf("failed, but printed %q", stdout)
	}
	if !strings.Contains(stderr, "fairlead: ") || len(stderr) > 2000 {
		ts.Fatalf("unusable message of %d bytes: %.300q", len(stderr), stderr)
	}
}

// says STATUS[|STATUS] COMMAND... runs a command whose answer is its output and
// a status of these. No password may be in either.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: says STATUS COMMAND...")
	}
	stdout, stderr := run(ts, args)
	for _, password := range passwords {
		if strings.Contains(stdout, password) {
			ts.Fatalf("a password is shown: %s", stdout)
		}
	}
	if stdout == "" || strings.Contains(stderr, "fairlead: ") {
		ts.Fatalf("no answer: %s", stderr)
	}
}

// run runs a command that must end with a status, and show no password on stderr.
func run(ts *testscript.TestScript, args []string) (stdout, stderr string) {
	status := 0
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	stderr, stdout = ts.ReadFile("stderr"), ts.ReadFile("stdout")
	for _, password := range passwords {
		if strings.Contains(stderr, password) {
			ts.Fatalf("a password is shown: %s", stderr)
		}
	}
	if !slices.Contains(strings.Split(args[0], "|"), strconv.Itoa(status)) {
		ts.Fatalf("exit status %d, want %s\n%s", status, args[0], stderr)
	}
	return stdout, stderr
}

// decode FILE NAME KEY OUT writes one key of one Secret of a manifest to a file.
func decode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: decode FILE NAME KEY OUT")
	}
	for _, document := range strings.Split(ts.ReadFile(args[0]), "---\n") {
		var secret corev1.Secret
		ts.Check(yaml.UnmarshalStrict([]byte(document), &secret))
		if secret.Name != args[1] {
			continue
		}
		data, ok := secret.Data[args[2]]
		if !ok || secret.APIVersion != "v1" || secret.Kind != "Secret" {
			ts.Fatalf("%s %s has no key %s", secret.Kind, secret.Name, args[2])
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[3]), data, 0o600))
		return
	}
	ts.Fatalf("%s holds no Secret %s", args[0], args[1])
}

// entries COUNT SUFFIX FILE writes a patch with that many NO_PROXY entries.
func entries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: entries COUNT SUFFIX FILE")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	var out bytes.Buffer
	out.WriteString("proxy:\n  http: http://me:S3CRET@proxy.example:3128\n  noProxy:\n")
	for i := range count {
		fmt.Fprintf(&out, "  - h%d%s\n", i, args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), out.Bytes(), 0o600))
}

// bytes COUNT FILE writes a patch whose password has that many bytes.
func size(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes COUNT FILE")
	}
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	password := strings.Repeat("S3CRET", count/6+1)[:count]
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte("proxy: {http: 'http://me:"+password+"@proxy.example:3128'}\n"), 0o600))
}

// authority NAME BEGIN END FILE KEYFILE writes a certificate that is valid from
// one day to another, counted from today, and its key.
func authority(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 5 {
		ts.Fatalf("usage: authority NAME BEGIN END FILE KEYFILE")
	}
	var days [2]time.Time
	for i, text := range args[1:3] {
		n, err := strconv.Atoi(text)
		ts.Check(err)
		days[i] = time.Now().AddDate(0, 0, n)
	}
	certificate, key, err := cabundletest.Make(args[0], cabundletest.From(days[0]), cabundletest.Until(days[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(certificate), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs(args[4]), []byte(key), 0o600))
}

// fill MANIFEST CONTENT OUT puts the content of a file, quoted, in the place of @@.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: fill MANIFEST CONTENT OUT")
	}
	quoted := strconv.Quote(ts.ReadFile(args[1]))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.ReplaceAll(ts.ReadFile(args[0]), "@@", quoted)), 0o600))
}
