// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"errors"
	"fmt"
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
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
	r := newService(settings(), server.URL, &connection.Pool{})
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
		return strings.ReplaceAll(place.URL(), server.URL, "URL")
	}
	var answer *ServiceError
	if !errors.As(err, &answer) || answer.URL != server.URL+"/new?size=3" {
		t.Errorf("%s: got %v, want a ServiceError", line, err)
		return ""
	}
	if _, err := r.Status(t.Context(), token3); err == nil {
		t.Errorf("%s: the status of a token came of this", line)
	}
	return strings.NewReplacer(server.URL, "URL", strings.TrimPrefix(server.URL, "http://"), "HOST").Replace(strings.TrimPrefix(answer.Error(), answer.URL+" "))
}

// Test that incomplete answers or thousands of registrations cause an error and
// not a crash, and that registrations with unprintable names or invalid URLs do
// not count.
func TestV3AnswersAreBounded(t *testing.T) {
	t.Parallel()
	header := &pb.ResponseHeader{ClusterId: 1, MemberId: 1}
	answer := func(members ...*mvccpb.KeyValue) etcdtest.Lies {
		return etcdtest.Lies{Range: &pb.RangeResponse{Header: header}, Txn: &pb.TxnResponse{Header: header, Responses: []*pb.ResponseOp{
			{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte("size"), Value: []byte("3")}}}}},
			{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{Kvs: members}}},
		}}}
	}
	registered := func(id int, value string) *mvccpb.KeyValue {
		return &mvccpb.KeyValue{Key: fmt.Appendf(nil, "/t/members/%x", id), Value: []byte(value), CreateRevision: int64(id)}
	}
	var many []*mvccpb.KeyValue
	for i := range connection.MaxKeys + 1 {
		many = append(many, registered(i+1, "a=http://10.0.0.1:2380"))
	}
	liar := etcdtest.NewLiar(t, "127.0.0.1", etcdtest.Lies{})
	r := open(t, connection.Settings{Endpoints: []string{liar.URL}}, V3)
	for what, lies := range map[string]etcdtest.Lies{
		"no header":    {},
		"no responses": {Txn: &pb.TxnResponse{Header: header}, Range: &pb.RangeResponse{Header: header}},
		"no range":     {Txn: &pb.TxnResponse{Header: header, Responses: []*pb.ResponseOp{{}, {}}}, Range: &pb.RangeResponse{Header: header}},
		"thousands":    answer(many...),
	} {
		liar.Tell(lies)
		if s, err := r.Status(t.Context(), "t"); err == nil {
			t.Errorf("%s: %+v", what, s)
		}
		if what == "thousands" {
			continue
		}
		if p, err := r.Create(t.Context(), "t", 3); err == nil {
			t.Errorf("%s: created %+v", what, p)
		}
	}
	liar.Tell(answer(registered(1, "a=http://10.0.0.1:2380\nx"), registered(2, "b\x1b[2J=http://10.0.0.2:2380"), registered(3, "c=HTTP://Host:2380/"), registered(4, "d=http://a\u0085b:1")))
	s, err := r.Status(t.Context(), "t")
	if err != nil || len(s.Members) != 1 || s.Members[0].Name != "c" || s.Members[0].PeerURLs[0] != "http://host:2380" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestV2Denied(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	for _, do := range [][3]string{
		{http.MethodPut, "users/root", `{"user":"root","password":"s3cret"}`}, {http.MethodPut, "enable", ""},
		{http.MethodDelete, "roles/guest", ""}, // which has all permissions until then
	} {
		req, err := http.NewRequestWithContext(t.Context(), do[0], c.Endpoints()[0]+"/v2/auth/"+do[1], strings.NewReader(do[2]))
		must.Succeed(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.SetBasicAuth("root", "s3cret")
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil || resp.StatusCode/100 != 2 {
			t.Fatal(resp, err)
		}
		_ = resp.Body.Close()
	}
	s := settings(c.Endpoints()...)
	s.RequestTimeout = etcdtest.WaitLimit // a login may take long on a busy machine
	for _, user := range []string{"", "root"} {
		s.Username, s.Password = user, "wrong"
		_, err := open(t, s, V2).Create(etcdtest.WaitContext(t), token3, 3)
		if want := c.Endpoints()[0] + ": The request requires user authentication (Insufficient credentials)"; !connection.IsDenied(err) || err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	s.Password = "s3cret"
	r := open(t, s, V2)
	mustCreate(t, r, token3, 3)
	mustStatus(t, r, token3)
	if err := r.Delete(etcdtest.WaitContext(t), token3); err != nil {
		t.Errorf("delete: %v", err)
	}
}
