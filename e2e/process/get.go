package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Get asks a program's probe or metrics endpoint. Any answer but 200 is an error.
func Get(ctx context.Context, url string) (string, error) { return GetBy(ctx, http.DefaultClient, url) }

// GetBy is Get by a client that goes another way.
func GetBy(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return string(body), errors.Join(err, response.Body.Close())
}

// Answers is the Ready of a program with such an endpoint.
func Answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := Get(ctx, url)
		return err
	}
}

// Sum adds up the values of a metrics page's series that begin so: of one, where that is all of it.
func Sum(page, series string) (sum float64) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, series) {
			value, _ := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
			sum += value
		}
	}
	return sum
}
