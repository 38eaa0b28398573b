// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// PublicService is the discovery service of the etcd authors. It is no longer
// maintained (announcement of etcd 3.6) and may not answer (etcd-io/etcd#21915).
const PublicService = "https://discovery.etcd.io"

const (
	// serviceTimeout limits one request. A service whose backend is down does
	// not answer for more than a minute.
	serviceTimeout = 20 * time.Second
	// maxTokenAnswer and maxStatusAnswer are limits in bytes.
	maxTokenAnswer  = 1 << 10
	maxStatusAnswer = 1 << 20
)

// ErrKept is the error of [Service.Delete]. A service does not delete tokens on
// request; it deletes old ones by itself.
var ErrKept = errors.New("a discovery service does not delete tokens")

// ErrNoToken means that a service cannot find a token: the token is unknown or
// deleted, or the service's backend fails. The service gives the same answer in
// each case.
var ErrNoToken = errors.New("unable to GET token")

// ServiceError means that a service gave no usable answer.
type ServiceError struct {
	// URL is the requested URL.
	URL string
	// Answer completes the sentence "The service …".
	Answer string
	// Status is the HTTP status, or 0 without an answer.
	Status int
	// Err is the original error, or nil.
	Err error
}

// Error implements error.
func (e *ServiceError) Error() string { return e.URL + " " + e.Answer }

// Unwrap returns the original error.
func (e *ServiceError) Unwrap() error { return e.Err }

// Service is a [Registry] that uses the protocol of discovery.etcd.io, for
// members up to 3.6. The service names its tokens. The zero value is not
// usable: see [NewService].
type Service struct {
	base    string
	do      func(*http.Request) (*http.Response, error)
	timeout time.Duration
}

// NewService returns the service at base, a URL without a trailing slash. It
// uses the TLS of settings and does not send their credentials. See
// [connection.Pool.WebClient] for the client certificate and redirects.
func NewService(settings connection.Settings, base string, pool *connection.Pool) *Service {
	return &Service{base: base, timeout: serviceTimeout, do: pool.WebClient(settings, base).Do}
}

// Create implements [Registry], but ignores the given token: the service
// chooses it. Create does not retry, because every request makes another token,
// even if its answer is lost. The error is a [*ServiceError].
func (s *Service) Create(ctx context.Context, _ string, size int) (Place, error) {
	from := s.base + "/new?size=" + strconv.Itoa(size)
	resp, body, err := s.get(ctx, from, maxTokenAnswer) //nolint:bodyclose // get closes it
	if err != nil {
		return Place{}, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	text := strings.TrimSpace(string(body))
	at, err := ParseServiceURL(text)
	failed := &ServiceError{URL: from, Status: resp.StatusCode}
	switch {
	case resp.StatusCode != http.StatusOK:
		failed.Answer = answered(resp)
	case kind != "" && kind != "text/plain":
		failed.Answer = "answered with " + kind + " instead of the URL of a token"
	case text == "":
		failed.Answer = "answered with nothing"
	case err != nil:
		failed.Answer = fmt.Sprintf("answered %q, which is not the URL of a token", connection.Cut(text))
	case !sameOrigin(at.Base, s.base):
		failed.Answer = fmt.Sprintf("answered with the URL of another host (%s)", at.Base)
	default:
		return Place{Token: at.Token, URL: at.URL()}, nil
	}
	return Place{}, failed
}

var serviceToken = regexp.MustCompile(`^[0-9a-f]{32}$`)

// ServiceURLProblem says why base cannot be the URL of a service.
func ServiceURLProblem(base string) string {
	u, err := parseHTTP(base)
	switch {
	case err != nil:
		return err.Error()
	case strings.HasSuffix(base, "/"):
		return "ends with \"/\""
	}
	return unwantedCharacter(u.Path, "/~")
}

// Status implements [Registry]. Errors: [ErrNoToken], which may have any of
// three causes, [*BadSizeError], [*ServiceError].
func (s *Service) Status(ctx context.Context, token string) (Status, error) {
	members, err := s.read(ctx, s.base+"/"+token)
	if err != nil {
		return Status{}, err
	}
	size, err := s.read(ctx, s.base+"/"+token+"/_config/size")
	if err != nil {
		return Status{}, err
	}
	status, err := statusOfService(members, size)
	status.log(ctx, err)
	return status, err
}

// statusOfService returns the Status for a service's answers about a token and
// its size.
func statusOfService(members, size clientv2.Response) (Status, error) {
	var all []registration
	for _, node := range cmp.Or(members.Node, &clientv2.Node{}).Nodes {
		if node != nil {
			all = append(all, registration{path.Base(node.Key), node.Value, node.CreatedIndex})
		}
	}
	return statusOf(all, &cmp.Or(size.Node, &clientv2.Node{}).Value)
}

func (s *Service) read(ctx context.Context, from string) (out clientv2.Response, err error) {
	resp, body, err := s.get(ctx, from, maxStatusAnswer) //nolint:bodyclose // get closes it
	switch {
	case err != nil:
		return out, err
	case resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), ErrNoToken.Error()):
		return out, &ServiceError{URL: from, Answer: "answered 400 " + ErrNoToken.Error(), Err: ErrNoToken}
	case resp.StatusCode != http.StatusOK:
		return out, &ServiceError{URL: from, Answer: answered(resp), Status: resp.StatusCode}
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, &ServiceError{URL: from, Answer: "answered with something other than the state of a token", Err: err}
	}
	return out, nil
}

// Delete implements [Registry]. It always returns [ErrKept].
func (s *Service) Delete(context.Context, string) error { return ErrKept }

// get sends one request and reads at most limit bytes of its answer.
func (s *Service) get(outer context.Context, from string, limit int64) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(outer, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, &ServiceError{URL: from, Answer: "is not a URL", Err: err}
	}
	resp, err := s.do(req)
	if err != nil {
		return nil, nil, s.failed(outer, from, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, s.failed(outer, from, err)
	case int64(len(body)) > limit:
		return nil, nil, &ServiceError{URL: from, Answer: fmt.Sprintf("answered with more than %d bytes", limit)}
	}
	return resp, body, nil
}

// failed returns the error for a request without an answer, which had until
// s.timeout or the end of ctx.
func (s *Service) failed(ctx context.Context, from string, err error) error {
	var redirect connection.RedirectError
	answer := "does not answer: " + connection.AttemptError(s.base, err).Answer()
	switch {
	case errors.As(err, &redirect):
		answer = redirect.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		answer = "has not answered in the time allowed for it"
	case errors.Is(err, context.DeadlineExceeded):
		answer = fmt.Sprintf("has not answered within %v", s.timeout)
	}
	return &ServiceError{URL: from, Answer: answer, Err: err}
}

// answered describes a status other than 200.
func answered(resp *http.Response) string {
	text := "answered " + resp.Status
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += " (Retry-After: " + connection.Cut(after) + ")"
	}
	return text
}
