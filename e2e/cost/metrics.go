package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// reviews are AdmissionReviews of pods, by Kyverno's own count.
type reviews struct {
	count   float64
	seconds float64 // that Kyverno took for them
}

func (r reviews) plus(other reviews) reviews {
	return reviews{r.count + other.count, r.seconds + other.seconds}
}

func (r reviews) minus(other reviews) reviews {
	return reviews{r.count - other.count, r.seconds - other.seconds}
}

// reviews are all since Kyverno's start. It counts one before it answers.
func (l *lab) reviews(ctx context.Context) (reviews, error) {
	page, err := l.kyverno.Metrics(ctx)
	if err != nil {
		return reviews{}, err
	}
	const metric = "kyverno_admission_review_duration_seconds"
	count, err := total(page, metric+"_count")
	if err != nil {
		return reviews{}, err
	}
	seconds, err := total(page, metric+"_sum")
	return reviews{count, seconds}, err
}

// total adds up a metric over all series of new pods. Nobody but us creates any.
func total(page, metric string) (float64, error) {
	sum := 0.0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, metric+"{") || !strings.Contains(line, `resource_kind="Pod"`) ||
			!strings.Contains(line, `resource_request_operation="create"`) {
			continue
		}
		fields := strings.Fields(line)
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return 0, fmt.Errorf("read metric %s: %w", metric, err)
		}
		sum += value
	}
	return sum, nil
}
