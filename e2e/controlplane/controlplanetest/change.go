package controlplanetest

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AwaitObject is Await for an object, of which ours has the name: it awaits that the condition holds of the object as it is
// now, and returns that.
func AwaitObject[T client.Object](t testing.TB, c client.Client, what string, ours T, condition func(T) (bool, error)) (now T) {
	t.Helper()
	Await(t, what, func(ctx context.Context) (bool, error) {
		now = ours.DeepCopyObject().(T)
		if err := c.Get(ctx, client.ObjectKeyFromObject(ours), now); err != nil {
			return false, err
		}
		return condition(now)
	})
	return now
}

// Change changes an object as it is now, again and again if somebody else writes it meanwhile.
func Change[T client.Object](t testing.TB, c client.Client, object T, change func(T)) {
	t.Helper()
	changeBy(t, c, object, change, func(ctx context.Context) error { return c.Update(ctx, object) })
}

// ChangeStatus is Change for the status.
func ChangeStatus[T client.Object](t testing.TB, c client.Client, object T, change func(T)) {
	t.Helper()
	changeBy(t, c, object, change, func(ctx context.Context) error { return c.Status().Update(ctx, object) })
}

func changeBy[T client.Object](t testing.TB, c client.Client, object T, change func(T), write func(context.Context) error) {
	t.Helper()
	Await(t, "a change of "+object.GetName(), func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		change(object)
		err := write(ctx)
		return err == nil, err
	})
}
