package statuspage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	answerTime = 10 * time.Second // of the API server
	trust      = time.Minute      // in which who was let through is not asked about again
	mostKnown  = 1000             // tokens with what they may
	asked      = rate.Limit(10)   // callers in a second: strangers load the API server no more
)

type asker struct {
	tokens authentication.TokenReviewInterface
	rights authorization.SubjectAccessReviewInterface
	known  *cache.LRUExpireCache
	limit  *rate.Limiter
}

// Filter asks the API server who calls an address of a manager, and whether it may. It does what the filter of
// controller-runtime does, without the machinery of an API server in the program, which is a sixth of it. It lets those through whose bearer token the API server knows, and who have the right to the path of the URL
// (nonResourceURLs) with the method in lower case as verb; what a token may is believed for a minute. Others get the status
// 401 or 403, 500 if the API server does not say who they are, and 429 if too many ask at once.
func Filter(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	tokens, err := authentication.NewForConfigAndClient(config, client)
	rights, err2 := authorization.NewForConfigAndClient(config, client)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	a := asker{tokens.TokenReviews(), rights.SubjectAccessReviews(), cache.NewLRUExpireCache(mostKnown), rate.NewLimiter(asked, 2*int(asked))}
	return func(log logr.Logger, inner http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch status, err := a.admit(r); {
			case r.Context().Err() != nil: // the caller has gone
			case err != nil:
				log.Error(err, "asking the API server who calls, and whether it may", "path", r.URL.Path)
				http.Error(w, "the API server does not say who you are", http.StatusInternalServerError)
			case status != http.StatusOK:
				http.Error(w, http.StatusText(status), status)
			default:
				inner.ServeHTTP(w, r)
			}
		}), nil
	}, nil
}

func (a asker) admit(r *http.Request) (status int, err error) {
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); token == "" || !strings.EqualFold(scheme, "Bearer") { // RFC 6750, 2.1
		return http.StatusUnauthorized, nil
	}
	request := fmt.Sprintf("%x %s %s", sha256.Sum256([]byte(token)), r.Method, r.URL.Path)
	if _, ok := a.known.Get(request); ok {
		return http.StatusOK, nil
	}
	if !a.limit.Allow() {
		return http.StatusTooManyRequests, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	if status, err = a.ask(ctx, token, r); err == nil && status == http.StatusOK {
		a.known.Add(request, nil, trust)
	}
	return status, err
}

func (a asker) ask(ctx context.Context, token string, r *http.Request) (status int, err error) {
	known, err := a.tokens.Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return 0, err
	}
	if !known.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	may, err := a.may(ctx, known.Status.User, r)
	if err != nil || may {
		return http.StatusOK, err
	}
	return http.StatusForbidden, nil
}

func (a asker) may(ctx context.Context, user authenticationv1.UserInfo, r *http.Request) (bool, error) {
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	answer, err := a.rights.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: r.URL.Path, Verb: strings.ToLower(r.Method)},
	}}, metav1.CreateOptions{})
	return err == nil && answer.Status.Allowed && !answer.Status.Denied, err
}
