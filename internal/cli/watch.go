package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"
)

// watch looks and shows again and again, until show says that it is done. How long nobody asks depends on how long the
// answer took. An API server that is away for a while ends nothing.
func watch[T any](
	ctx context.Context, warnings io.Writer, look func(context.Context) (T, error), show func(T) (done bool, err error), pause func(took time.Duration) time.Duration,
) error {
	complained := ""
	for {
		began := time.Now()
		seen, err := look(ctx)
		var away *url.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &away):
			if text := err.Error(); text != complained {
				complained = text
				fmt.Fprintln(warnings, "warning:", text)
			}
		case err != nil:
			return err
		default:
			if done, err := show(seen); done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause(time.Since(began))):
		}
	}
}
