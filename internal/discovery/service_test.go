// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// strange are answers that are more, or less, than a text.
var strange = map[string]http.HandlerFunc{
	"too many requests": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"html": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<html>https://host/"+token3+"</html>")
	},
	"10 MB":            func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 10<<20)) },
	"many words":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("no ", 70)) },
	"redirects":        func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/new?again", http.StatusFound) },
	"nothing for ever": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"hangs up":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
}

// TestServiceAnswers runs the stanzas of testdata/service.txt: answers of a service at URL,
// which is HOST, and what is reported of each, or the URL that becomes part of user data. An
// answer is a number, which is an HTTP status, a quoted text, or a strange one. The service is
// asked once, because each time costs a token.
func TestServiceAnswers(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, filepath.Join("testdata", "service.txt"), func(t *testing.T, d *datadriven.TestData) string {
		var out []string
		for line := range strings.Lines(d.Input) {
			out = append(out, serviceAnswer(t, strings.TrimSpace(line)))
		}
		return strings.Join(append(out, ""), "\n")
	})
}

func serviceAnswer(t *testing.T, line string) string {
	var asked atomic.Int32
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "size=3" {
			asked.Add(1)
		}
		status, err := strconv.Atoi(line)
		switch handler := strange[line]; {
		case handler != nil:
			handler(w, r)
		case err == nil:
			http.Error(w, "no", status)
		default:
			text, err := strconv.Unquote(strings.NewReplacer("URL", server.URL, "HOST", strings.TrimPrefix(server.URL, "http://")).Replace(line))
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			_, _ = io.WriteString(w, text)
		}
	}))
	defer server.Close()
	r := NewService(settings(), server.URL, &connection.Pool{})
	r.timeout = 200 * time.Millisecond
	if line != "nothing for ever" {
		r.timeout = time.Hour
	}
	place, err := r.Create(t.Context(), "", 3)
	if asked.Load() != 1 {
		t.Errorf("%s: asked %d times", line, asked.Load())
	}
	if err == nil {
		if place.Token != token3 {
			t.Errorf("%s: the token is %s", line, place.Token)
		}
		return strings.ReplaceAll(place.URL, server.URL, "URL")
	}
	var answer *ServiceError
	if !errors.As(err, &answer) || answer.URL != server.URL+"/new?size=3" {
		t.Errorf("%s: got %v, want a ServiceError", line, err)
		return ""
	}
	if _, err := r.Status(t.Context(), token3); err == nil {
		t.Errorf("%s: the status of a token came of this", line)
	}
	return strings.NewReplacer(server.URL, "URL", strings.TrimPrefix(server.URL, "http://"), "HOST").Replace(answer.Answer)
}
