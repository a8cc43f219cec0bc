// Package controlplanetest gives tests a control plane that goes with them, and the few things that
// every such test does. It decides nothing about the control plane itself.
package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

const (
	awaitInterval = 50 * time.Millisecond
	awaitTimeout  = 2 * time.Minute // it is awaited in a second, unless the machine has much else to do
)

// Start gives the test a control plane of its own, for tests that stop parts of it or count what
// everybody does. Others take Shared.
func Start(t testing.TB, options controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	if options.Progress == nil {
		options.Progress = os.Stderr
	}
	cp, err := controlplane.Start(t.Context(), options)
	Require(t, err)
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

var shared struct {
	sync.Mutex
	cp   *controlplane.ControlPlane
	err  error
	kept []*controlplane.ControlPlane
}

// Shared gives the test the control plane that all tests of the package share. It starts with the first
// test that asks for it, with the content that one names. TestMain must call Main.
func Shared(t testing.TB, content ...controlplane.Content) *controlplane.ControlPlane {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.cp == nil && shared.err == nil {
		shared.cp, shared.err = controlplane.Start(context.Background(), controlplane.Options{Progress: os.Stderr, Content: content})
		if shared.err == nil {
			shared.kept = append(shared.kept, shared.cp)
		}
	}
	Require(t, shared.err)
	return shared.cp
}

// Main runs the tests of a package and stops the shared control plane:
//
//	func TestMain(m *testing.M) { controlplanetest.Main(m) }
//
// What the clients of the tests themselves log is discarded.
func Main(m *testing.M) {
	log.SetLogger(logr.Discard())
	cache, err := discoveryCache()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	for _, cp := range shared.kept {
		if err := cp.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

// discoveryCache is where kubectl and helm keep for hours which kinds an address has. By default it is the user's, where
// the port may be known from a control plane that had it before. With this name, whoever starts a control plane removes
// it if this process is killed.
func discoveryCache() (string, error) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("fairlead-e2e-%d-discovery-", os.Getpid()))
	if err != nil {
		return "", fmt.Errorf("make a folder for what is discovered: %w", err)
	}
	return dir, os.Setenv("KUBECACHEDIR", dir)
}

// Keep leaves it to Main to stop a control plane, for packages whose tests share more than one.
func Keep(cp *controlplane.ControlPlane) {
	shared.Lock()
	defer shared.Unlock()
	shared.kept = append(shared.kept, cp)
}

// Require ends the test on an error. Where a program cannot be had, for instance without a network, the
// test is skipped, but not in CI: there nobody would notice that nothing was tested.
func Require(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if errors.Is(err, tools.ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	t.Fatal(err)
}

// Clients are an administrator's.
func Clients(t testing.TB, cp *controlplane.ControlPlane) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(cp.Admin())
	Require(t, err)
	return clients
}

// Client is somebody's, for the kinds of a scheme or, if there is none, of Kubernetes.
func Client(t testing.TB, who *rest.Config, scheme *runtime.Scheme) client.Client {
	t.Helper()
	c, err := client.New(who, client.Options{Scheme: scheme})
	Require(t, err)
	return c
}

// ReadFile returns the content of a file.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	Require(t, err)
	return content
}

// Program builds a program of this repository.
func Program(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := tools.Program(t.Context(), name)
	Require(t, err)
	return path
}

// Tool builds a program of others.
func Tool(t testing.TB, tool tools.Tool) (path string) {
	t.Helper()
	path, err := tools.Build(t.Context(), tool, os.Stderr)
	Require(t, err)
	return path
}

// Namespace makes one for this test alone. It stays: without a controller manager none can go.
func Namespace(t testing.TB, cp *controlplane.ControlPlane) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "test-", Annotations: map[string]string{"fairlead.io/served": "true"}, // as one that the replicator serves
	}}
	namespace, err := Clients(t, cp).CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	Require(t, err)
	return namespace.Name
}

// Holds returns the results of a condition: where it does not hold, an error with the actual state.
func Holds(condition bool, instead string, args ...any) (bool, error) {
	if condition {
		return true, nil
	}
	return false, fmt.Errorf(instead, args...)
}

// Await asks until the condition holds. An error of the condition means "not yet", and is reported when
// the time is up: a condition that does not hold has one.
func Await(t testing.TB, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	await(t, awaitInterval, awaitTimeout, what, condition)
}

// AwaitWithin is Await for what takes its time.
func AwaitWithin(t testing.TB, patience time.Duration, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	await(t, 4*awaitInterval, patience, what, condition)
}

func await(t testing.TB, interval, patience time.Duration, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	last := errors.New("the condition was never asked to its end")
	err := wait.PollUntilContextTimeout(t.Context(), interval, patience, true, func(ctx context.Context) (bool, error) {
		done, err := condition(ctx)
		if !done && err == nil {
			err = errors.New("it does not hold, and the condition gives no reason")
		}
		if ctx.Err() == nil { // an error because the time is up says nothing
			last = err
		}
		return done && err == nil, nil
	})
	if err != nil {
		t.Fatalf("await %s: %v: %v", what, err, last)
	}
}

// Role gives a user of the same name these permissions.
func Role(t testing.TB, clients kubernetes.Interface, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	_, err := clients.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{})
	Require(t, err)
	_, err = clients.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}, metav1.CreateOptions{})
	Require(t, err)
}
