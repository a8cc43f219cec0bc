// Package follow keeps the files of a relay as one Secret and one ConfigMap of its cluster say. It is a program of its own
// beside the relay, which strangers talk to: the relay needs no right at the API server.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// What is followed.
const (
	SecretName    = "fairlead-source"
	ConfigMapName = "fairlead-trusted-ca" // the certificates, which a Secret in thousands of namespaces has no room for
)

// Options name the objects to follow, and the destination.
type Options struct {
	Namespace  string // of the Secret and the ConfigMap
	Folder     string
	AsSettings bool   // one file of settings, as on a machine; else a file for each key, as a volume has
	Health     string // address of /healthz, /readyz and /metrics
	Taint      Taint
}

// follower writes when something has changed.
type follower struct {
	Options

	log     *slog.Logger
	changed chan struct{}

	mutex   sync.Mutex
	secret  *corev1.Secret
	bundle  *corev1.ConfigMap
	failed  bool   // the latest write
	refused string // why the latest source was not written
	warned  string // what is ignored of it
}

// Run follows until the context is done. The error says why it cannot begin: later ones are logged, and tried again.
func Run(ctx context.Context, config *rest.Config, options Options, log *slog.Logger) error {
	config = rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	f := &follower{Options: options, log: log, changed: make(chan struct{}, 1)}
	stop, err := f.serve()
	if err != nil {
		return err
	}
	defer stop()
	if options.Taint.Key != "" {
		go options.Taint.remove(ctx, clients, f.isReady, log)
	}
	secrets := f.watch(clients, "secrets", SecretName, &corev1.Secret{}, func(found any) { f.secret, _ = found.(*corev1.Secret) })
	bundles := f.watch(clients, "configmaps", ConfigMapName, &corev1.ConfigMap{}, func(found any) { f.bundle, _ = found.(*corev1.ConfigMap) })
	go secrets.Run(ctx.Done())
	go bundles.Run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), secrets.HasSynced, bundles.HasSynced) {
		return nil
	}
	again := time.NewTicker(writeAgain)
	defer again.Stop()
	for f.notify(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
			f.write()
		case <-again.C:
			if f.failed {
				f.write()
			}
		}
	}
}

// writeAgain is for a folder that cannot be written now: a full disk.
const writeAgain = 30 * time.Second

// watch follows one object by its name: at 5,000 nodes a change is sent to 5,000 watches, and nothing else is.
func (f *follower) watch(clients kubernetes.Interface, resource, name string, object runtime.Object, set func(any)) cache.Controller {
	changed := func(found any) {
		f.mutex.Lock()
		set(found)
		f.mutex.Unlock()
		f.notify()
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(clients.CoreV1().RESTClient(), resource, f.Namespace, fields.OneTermEqualSelector("metadata.name", name)),
		ObjectType:    object,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, found any) { changed(found) }, DeleteFunc: func(any) { changed(nil) },
		},
	})
	return controller
}

func (f *follower) notify() {
	select {
	case f.changed <- struct{}{}:
	default: // it will look at what is newest
	}
}

// write brings the folder to the newest state. Objects that cannot be read, or are gone, change nothing.
func (f *follower) write() {
	f.mutex.Lock()
	secret, bundle := f.secret, f.bundle
	f.mutex.Unlock()
	files, settings, err := filesOf(f.Namespace, secret, bundle)
	if err == nil {
		err = f.keep(files, settings, bundle == nil)
	}
	if err != nil {
		var file *fs.PathError // of the machine
		f.failed = errors.As(err, &file)
		f.refuse(err)
		return
	}
	f.warn(settings.Warnings)
	write := writeVolume
	if f.AsSettings {
		write = writeSettings
	}
	changed, err := write(f.Folder, files)
	f.failed = err != nil
	if changed {
		f.log.Info("the settings are written", "folder", f.Folder, "resourceVersion", secret.ResourceVersion)
		writes.Inc()
		lastWrite.SetToCurrentTime()
	}
	switch {
	case errors.As(err, new(*leftError)):
		f.log.Warn("settings of before cannot be removed", "reason", err)
	case err != nil:
		f.refuse(err)
	default:
		f.refused = ""
	}
}

func (f *follower) warn(warnings []string) {
	ignored.Set(float64(len(warnings)))
	said := f.warned
	f.warned = strings.Join(warnings, "; ")
	if f.warned != "" && f.warned != said {
		f.log.Warn("the credentials of before are ignored", "reason", fmt.Sprintf("secret %s/%s: %s", f.Namespace, SecretName, f.warned))
	}
}

func (f *follower) refuse(err error) {
	rejected.Inc()
	if f.refused != err.Error() {
		f.refused = err.Error()
		f.log.Error("the settings stay as they are", "reason", err)
	}
}
