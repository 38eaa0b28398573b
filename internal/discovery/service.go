// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// PublicService is the discovery service of the etcd authors. It is no longer
// maintained (announcement of etcd 3.6) and may not answer (etcd-io/etcd#21915).
const PublicService = "https://discovery.etcd.io"

// serviceTimeout limits one request. A service whose backend is down does
// not answer for more than a minute.
const serviceTimeout = 20 * time.Second

// ErrKept is the error of a service's Delete. A service does not delete tokens on
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
	// Answer says why the answer is not usable. It completes the sentence "The service …".
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

// service is a [Registry] that uses the protocol of discovery.etcd.io. The service names its
// tokens.
type service struct {
	base    string
	do      func(*http.Request) (*http.Response, error)
	timeout time.Duration
}

// newService returns the service at base, a URL without a trailing slash. It
// uses the TLS of settings and does not send their credentials. See
// [connection.Pool.WebClient] for the client certificate and redirects.
func newService(settings connection.Settings, base string, pool *connection.Pool) *service {
	return &service{base: base, timeout: serviceTimeout, do: pool.WebClient(settings, base).Do}
}

// Create implements [Registry], but ignores the given token: the service
// chooses it. Create does not retry, because every request makes another token,
// even if its answer is lost. The error is a [*ServiceError].
func (s *service) Create(ctx context.Context, _ string, size int) (Location, error) {
	from := s.base + "/new?size=" + strconv.Itoa(size)
	kind, body, err := s.get(ctx, from)
	if err != nil {
		return Location{}, err
	}
	text := strings.TrimSpace(string(body))
	at, err := ParseURL(text)
	failed := &ServiceError{URL: from}
	switch {
	case kind != "" && kind != "text/plain":
		failed.Answer = "answered with something other than a text: " + kind
	case text == "":
		failed.Answer = "answered with nothing"
	case err != nil || at.Protocol != ByService:
		failed.Answer = "answered with something other than the URL of a token: " + strconv.Quote(connection.Cut(text))
	case origin(at.Base) != origin(s.base):
		failed.Answer = "answered with the URL of another host: " + at.Base
	default:
		return at, nil
	}
	return Location{}, failed
}

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
func (s *service) Status(ctx context.Context, token string) (Status, error) {
	members, err := s.read(ctx, s.base+"/"+token)
	if err != nil {
		return Status{}, err
	}
	size, err := s.read(ctx, s.base+"/"+token+"/_config/size")
	if err != nil {
		return Status{}, err
	}
	return statusOf(ctx, registrationsV2(members), &size.Value)
}

// read returns a key of the v2 API, empty without one.
func (s *service) read(ctx context.Context, from string) (*clientv2.Node, error) {
	_, body, err := s.get(ctx, from)
	if err != nil {
		return nil, err
	}
	return keyIn(from, body)
}

// keyIn returns the key in an answer.
func keyIn(from string, body []byte) (*clientv2.Node, error) {
	var answer clientv2.Response
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, &ServiceError{URL: from, Answer: "answered with something other than the state of a token", Err: err}
	}
	return cmp.Or(answer.Node, &clientv2.Node{}), nil
}

// Delete implements [Registry]. It always returns [ErrKept].
func (s *service) Delete(context.Context, string) error { return ErrKept }

// get sends one request and returns the media type and the body of its answer. Any status
// other than 200 is an error.
func (s *service) get(ctx context.Context, from string) (kind string, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", nil, s.failed(from, err)
	}
	resp, err := s.do(req)
	if err != nil {
		return "", nil, s.failed(from, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return "", nil, s.failed(from, err)
	case resp.StatusCode == http.StatusBadRequest && strings.Contains(string(body), ErrNoToken.Error()):
		return "", nil, &ServiceError{URL: from, Answer: "answered with an error: 400 " + ErrNoToken.Error(), Err: ErrNoToken}
	case resp.StatusCode != http.StatusOK:
		return "", nil, &ServiceError{URL: from, Answer: "answered with an error: " + statusOfAnswer(resp), Status: resp.StatusCode}
	}
	kind, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind, body, nil
}

// failed returns the error for a request without an answer.
func (s *service) failed(from string, err error) error {
	answer := "does not answer: " + connection.AttemptError(s.base, err).Answer()
	if redirect, ok := errors.AsType[connection.RedirectError](err); ok {
		answer = string(redirect)
	} else if errors.As(err, new(*http.MaxBytesError)) {
		answer = "answered with too much"
	}
	return &ServiceError{URL: from, Answer: answer, Err: err}
}

// statusOfAnswer describes a status other than 200.
func statusOfAnswer(resp *http.Response) string {
	text := resp.Status
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += " (Retry-After: " + connection.Cut(after) + ")"
	}
	return text
}
