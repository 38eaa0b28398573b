// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// PublicService is the service that etcd's authors ran. It is no longer
// maintained (announcement of etcd 3.6) and may not answer (etcd-io/etcd#21915).
const PublicService = "https://discovery.etcd.io"

const (
	// serviceTimeout is for one answer of a service; a service whose backend is
	// down says nothing for more than a minute.
	serviceTimeout = 20 * time.Second
	// maxTokenAnswer and maxStatusAnswer are in bytes.
	maxTokenAnswer  = 1 << 10
	maxStatusAnswer = 1 << 20
)

// ErrKept is what [Service.Delete] answers: a service never lets go of a
// token; it collects old ones by itself.
var ErrKept = errors.New("a discovery service does not delete tokens")

// ErrNoToken is the answer of a service that cannot find a token: it is
// unknown, or was collected, or the service's own backend fails. The service
// says the same to each.
var ErrNoToken = errors.New("unable to GET token")

// ServiceError is about an answer that is none.
type ServiceError struct {
	// URL was asked for.
	URL string
	// Answer completes the sentence "The service …".
	Answer string
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Err is the original error, or nil.
	Err error
}

// Error implements error.
func (e *ServiceError) Error() string { return e.URL + " " + e.Answer }

// Unwrap returns the original error.
func (e *ServiceError) Unwrap() error { return e.Err }

// Service is a registry that speaks as discovery.etcd.io does, for members up
// to 3.6. It names its tokens itself. Its zero value is not usable: see
// [NewService].
type Service struct {
	base    string
	do      func(*http.Request) (*http.Response, error)
	timeout time.Duration
}

// NewService returns the service at base, a URL without a slash at its end. TLS
// comes from settings; their credentials are not sent. See
// [connection.Settings.WebClient] for the client certificate and redirects.
func NewService(settings connection.Settings, base string) *Service {
	return &Service{base: base, timeout: serviceTimeout, do: settings.WebClient(base).Do}
}

// Create implements [Registry], except that the service chooses the token: the
// one given is not used. It asks once: each request mints another token,
// whatever becomes of its answer. Errors: [*ServiceError].
func (s *Service) Create(ctx context.Context, _ string, size int) (Place, error) {
	from := s.base + "/new?size=" + strconv.Itoa(size)
	got, err := s.get(ctx, from, maxTokenAnswer)
	if err != nil {
		return Place{}, err
	}
	if got.status != http.StatusOK {
		return Place{}, &ServiceError{URL: from, Answer: got.text, Status: got.status}
	}
	if kind, _, _ := mime.ParseMediaType(got.contentType); kind != "" && kind != "text/plain" {
		return Place{}, &ServiceError{URL: from, Answer: "answered with " + kind + " instead of the URL of a token"}
	}
	text := strings.TrimSpace(string(got.body))
	if text == "" {
		return Place{}, &ServiceError{URL: from, Answer: "answered with nothing"}
	}
	at, err := ParseServiceURL(text)
	if err != nil {
		return Place{}, &ServiceError{URL: from, Answer: fmt.Sprintf("answered %q, which is not the URL of a token", shorten(text))}
	}
	if !sameOrigin(at.Base, s.base) {
		return Place{}, &ServiceError{URL: from, Answer: fmt.Sprintf("answered with the URL of another host (%s)", at.Base)}
	}
	return Place{Token: at.Token, URL: at.URL()}, nil
}

var serviceToken = regexp.MustCompile(`^[0-9a-f]{32}$`)

// ServiceURLProblem says why base cannot be the URL of a service.
func ServiceURLProblem(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "does not begin with \"http://\" or \"https://\""
	case u.Hostname() == "":
		return "has no host"
	case !membership.ValidHost(u.Hostname()):
		return "has a host that is neither an IP address nor a host name"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "holds more than scheme, host and path"
	case strings.HasSuffix(u.Path, "/"):
		return "ends with \"/\""
	}
	return unwantedCharacter(u.Path, "/~")
}

// Status implements [Registry]. Errors: [ErrNoToken], which may mean any of
// three things, [*BadSizeError], [*ServiceError].
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

// statusOfService reads a token from what the service answers for it, and for its
// size.
func statusOfService(members, size serviceAnswer) (Status, error) {
	var all []registration
	for _, node := range members.Node.Nodes {
		all = append(all, registration{path.Base(node.Key), node.Value, node.CreatedIndex})
	}
	return statusOf(all, &size.Node.Value)
}

// serviceAnswer and serviceNode are what a service passes on of the v2 API.
type serviceAnswer struct {
	Node serviceNode `json:"node"`
}

type serviceNode struct {
	Key          string        `json:"key"`
	Value        string        `json:"value"`
	Nodes        []serviceNode `json:"nodes"`
	CreatedIndex uint64        `json:"createdIndex"`
}

func (s *Service) read(ctx context.Context, from string) (out serviceAnswer, err error) {
	got, err := s.get(ctx, from, maxStatusAnswer)
	switch {
	case err != nil:
		return out, err
	case got.status == http.StatusBadRequest && strings.Contains(string(got.body), ErrNoToken.Error()):
		return out, &ServiceError{URL: from, Answer: "answered 400 " + ErrNoToken.Error(), Err: ErrNoToken}
	case got.status != http.StatusOK:
		return out, &ServiceError{URL: from, Answer: got.text, Status: got.status}
	}
	if err := json.Unmarshal(got.body, &out); err != nil {
		return out, &ServiceError{URL: from, Answer: "answered with something other than the state of a token", Err: err}
	}
	return out, nil
}

// Delete implements [Registry]: it is always [ErrKept].
func (s *Service) Delete(context.Context, string) error { return ErrKept }

// httpAnswer is what is used of an answer. text words its status.
type httpAnswer struct {
	status      int
	text        string
	contentType string
	body        []byte
}

// get sends one request, and reads at most limit bytes of its answer.
func (s *Service) get(outer context.Context, from string, limit int64) (httpAnswer, error) {
	ctx, cancel := context.WithTimeout(outer, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return httpAnswer{}, &ServiceError{URL: from, Answer: "is not a URL", Err: err}
	}
	resp, err := s.do(req)
	if err != nil {
		return httpAnswer{}, s.failed(outer, from, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return httpAnswer{}, s.failed(outer, from, err)
	case int64(len(body)) > limit:
		return httpAnswer{}, &ServiceError{URL: from, Answer: fmt.Sprintf("answered with more than %d bytes", limit)}
	}
	return httpAnswer{
		status: resp.StatusCode, text: answered(resp), contentType: resp.Header.Get("Content-Type"), body: body,
	}, nil
}

// failed words a request without an answer, for which ctx left at most
// s.timeout.
func (s *Service) failed(ctx context.Context, from string, err error) error {
	var redirect *connection.RedirectError
	answer := "does not answer: " + connection.AttemptError(s.base, err).Answer()
	switch {
	case errors.As(err, &redirect):
		answer = redirect.Answer
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		answer = "has not answered in the time allowed for it"
	case errors.Is(err, context.DeadlineExceeded):
		answer = fmt.Sprintf("has not answered within %v", s.timeout)
	}
	return &ServiceError{URL: from, Answer: answer, Err: err}
}

// answered words a status other than 200.
func answered(resp *http.Response) string {
	text := "answered " + resp.Status
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += " (Retry-After: " + shorten(after) + ")"
	}
	return text
}

// shorten cuts what someone else wrote before a person reads it.
func shorten(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
