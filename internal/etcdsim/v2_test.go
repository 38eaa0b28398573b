// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	clientv2 "go.etcd.io/etcd/client/v2"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// serverV2 is a server with the v2 API, real or simulated.
type serverV2 struct {
	url       string
	transport http.RoundTripper
	first     uint64 // index
}

// ask sends a request: a method, and a key with its arguments. It returns the status and
// the answer, with indexes that count from the beginning of the case.
func (s *serverV2) ask(ctx context.Context, request string) string {
	method, key, _ := strings.Cut(request, " ")
	req, err := http.NewRequestWithContext(ctx, method, s.url+prefixV2+key, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	var answer struct {
		clientv2.Response
		clientv2.Error
	}
	if json.Unmarshal(body, &answer) != nil {
		return fmt.Sprintf("%d %q", resp.StatusCode, body)
	}
	index, _ := strconv.ParseUint(resp.Header.Get("X-Etcd-Index"), 10, 64)
	if s.first == 0 {
		s.first = index
	}
	out := fmt.Sprintf("%d at %d: ", resp.StatusCode, index-s.first)
	if req.URL.Query().Has("wait") { // the index is that at its beginning
		out = fmt.Sprint(resp.StatusCode, ": ")
	}
	if answer.Node == nil {
		return out + fmt.Sprintf("%d %s (%s)", answer.Code, answer.Message, answer.Cause)
	}
	out += answer.Action + " " + s.node(answer.Node)
	if answer.PrevNode != nil {
		out += " was " + s.node(answer.PrevNode)
	}
	return out
}

// node is a node with its value, the indexes of its creation and change, and ~ if it expires.
func (s *serverV2) node(n *clientv2.Node) string {
	out := n.Key
	switch {
	case n.Dir:
		out += "/"
	case n.Value != "":
		out += "=" + n.Value
	}
	if n.CreatedIndex > 0 {
		out += fmt.Sprintf(" %d.%d", n.CreatedIndex-s.first, n.ModifiedIndex-s.first)
	}
	if n.Expiration != nil && n.TTL > 0 {
		out += "~"
	}
	for _, below := range n.Nodes {
		out += " [" + s.node(below) + "]"
	}
	return out
}

// scriptsV2 are cases: requests, and the answers of etcd 3.4 and 3.5.
var scriptsV2 = []struct{ name, script string }{
	{"create", `
PUT /a/b/k?value=1&prevExist=false -> 201 at 1: create /a/b/k=1 1.1
PUT /a/b/k?value=1&prevExist=false -> 412 at 1: 105 Key already exists (/a/b/k)
PUT /a/b?value=1&prevExist=false -> 412 at 1: 105 Key already exists (/a/b)
PUT /a/b/k/x?value=1&prevExist=false -> 400 at 1: 104 Not a directory (/a/b/k)
GET /a/b/k?quorum=true -> 200 at 1: get /a/b/k=1 1.1
GET /a/b/k/x?quorum=true -> 400 at 1: 104 Not a directory (/a/b/k)
GET /a/c/k?quorum=true -> 404 at 1: 100 Key not found (/a/c)
GET /a?recursive=true -> 200 at 1: get /a/ 1.1 [/a/b/ 1.1 [/a/b/k=1 1.1]]
GET /a -> 200 at 1: get /a/ 1.1 [/a/b/ 1.1]`},
	{"set", `
PUT /a/k?value=1 -> 201 at 1: set /a/k=1 1.1
PUT /a/k?value=2 -> 200 at 2: set /a/k=2 2.2 was /a/k=1 1.1
PUT /a/k?value=3&ttl=500 -> 200 at 3: set /a/k=3 3.3~ was /a/k=2 2.2
GET /a/k -> 200 at 3: get /a/k=3 3.3~
PUT /a?value=1 -> 403 at 3: 102 Not a file (/a)
PUT /?value=1 -> 400 at 3: 107 Root is read only (/)
PUT /a/k/x?value=1 -> 400 at 3: 104 Not a directory (/a/k)`},
	{"hidden", `
PUT /t/_config/size?value=3 -> 201 at 1: set /t/_config/size=3 1.1
GET /t?recursive=true -> 200 at 1: get /t/ 1.1
PUT /t/ff?value=x -> 201 at 2: set /t/ff=x 2.2
GET /t -> 200 at 2: get /t/ 1.1 [/t/ff=x 2.2]
GET /t/_config -> 200 at 2: get /t/_config/ 1.1 [/t/_config/size=3 1.1]
DELETE /t?dir=true -> 403 at 2: 108 Directory not empty (/t)
DELETE /t/ff -> 200 at 3: delete /t/ff 2.3 was /t/ff=x 2.2
DELETE /t?dir=true -> 403 at 3: 108 Directory not empty (/t)
DELETE /t/_config -> 403 at 3: 102 Not a file (/t/_config)
DELETE /t/_config/size -> 200 at 4: delete /t/_config/size 1.4 was /t/_config/size=3 1.1
DELETE /t/_config?dir=true -> 200 at 5: delete /t/_config/ 1.5 was /t/_config/ 1.1
DELETE /t?dir=true -> 200 at 6: delete /t/ 1.6 was /t/ 1.1
DELETE /t -> 404 at 6: 100 Key not found (/t)`},
	{"compare", `
PUT /k?value=1&prevValue=1 -> 404 at 0: 100 Key not found (/k)
PUT /d/k?value=1&ttl=500&prevExist=false -> 201 at 1: create /d/k=1 1.1~
PUT /d/k?value=2&prevValue=x -> 412 at 1: 101 Compare failed ([x != 1])
PUT /d/k?value=2&prevIndex=9 -> 412 at 1: 101 Compare failed ([9 != IDX])
PUT /d/k?value=2&prevValue=1&ttl=500 -> 200 at 2: compareAndSwap /d/k=2 1.2~ was /d/k=1 1.1~
PUT /d?value=2&prevValue=1 -> 403 at 2: 102 Not a file (/d)
DELETE /d/k?prevValue=1 -> 412 at 2: 101 Compare failed ([1 != 2])
DELETE /d?prevValue=1 -> 403 at 2: 102 Not a file (/d)
DELETE /d/k?prevValue=2 -> 200 at 3: compareAndDelete /d/k 1.3 was /d/k=2 1.2~
DELETE /d/k?prevValue=2 -> 404 at 3: 100 Key not found (/d/k)
DELETE /d?recursive=true -> 200 at 4: delete /d/ 1.4 was /d/ 1.1`},
	{"events", `
PUT /w/k?value=1&ttl=1 -> 201 at 1: set /w/k=1 1.1~
GET /w?wait=true&recursive=true&waitIndex=1 -> 200: set /w/k=1 1.1~
GET /w/k?wait=true&waitIndex=2 -> 200: expire /w/k 1.2 was /w/k=1 1.1
GET /w/k -> 404 at 2: 100 Key not found (/w/k)
PUT /w/k?value=2 -> 201 at 3: set /w/k=2 3.3
PUT /x/k?value=2 -> 201 at 4: set /x/k=2 4.4
GET /w/k?wait=true&waitIndex=2 -> 200: expire /w/k 1.2 was /w/k=1 1.1
GET /x?wait=true&recursive=true&waitIndex=2 -> 200: set /x/k=2 4.4
GET /w?wait=true&waitIndex=3 -> 200: delete /w/ 1.5 was /w/ 1.1 | DELETE /w?recursive=true
GET /w?wait=true&recursive=true&waitIndex=6 -> 200: set /w/a=1 6.6 | PUT /w/a?value=1`},
}

// play asks one request of a case after the other. One with a "|" may wait for what the
// request after it changes.
func (s *serverV2) play(t *testing.T, script string) {
	s.first = 0
	s.ask(t.Context(), "GET /")
	for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
		request, want, _ := strings.Cut(line, " -> ")
		want, later, waits := strings.Cut(want, " | ")
		method, args, indexed := strings.Cut(request, "waitIndex=")
		if n, err := strconv.ParseUint(args, 10, 64); indexed && err == nil {
			request = fmt.Sprint(method, "waitIndex=", n+s.first)
		}
		answer := make(chan string, 1)
		go func() { answer <- s.ask(t.Context(), request) }()
		if waits {
			s.ask(t.Context(), later)
		}
		got := <-answer
		if want = strings.ReplaceAll(want, "IDX", fmt.Sprint(s.first+1)); got != want {
			t.Errorf("%s\n got %s\nwant %s", request, got, want)
		}
	}
}

// casesV2 runs each case on a server of its own. What does not serve the API says so.
func casesV2(t *testing.T, on func(t *testing.T, v2 bool, do func(*testing.T, *serverV2))) {
	for _, c := range scriptsV2 {
		t.Run(c.name, func(t *testing.T) {
			on(t, true, func(t *testing.T, s *serverV2) { s.play(t, c.script) })
		})
	}
	t.Run("off", func(t *testing.T) {
		on(t, false, func(t *testing.T, s *serverV2) {
			if got := s.ask(t.Context(), "GET /a"); got != `404 "404 page not found\n"` {
				t.Errorf("without --enable-v2: %s", got)
			}
		})
	})
}

func TestV2Real(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.WithV2() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			casesV2(t, func(t *testing.T, on bool, do func(*testing.T, *serverV2)) {
				c := etcdtest.Start(t, 1, etcdtest.Options{Version: v, V2: on})
				do(t, &serverV2{url: c.Endpoints()[0], transport: &http.Transport{DisableKeepAlives: true}})
			})
		})
	}
}

func TestV2Simulated(t *testing.T) {
	t.Parallel()
	casesV2(t, func(t *testing.T, on bool, do func(*testing.T, *serverV2)) {
		synctest.Test(t, func(t *testing.T) {
			n := &Network{V2: on}
			c := n.Form("3.5.35", "a")
			defer c.Processes()[0].PowerOff()
			do(t, &serverV2{url: ClientURL("a"), transport: n.Run("test").Web(ClientURL("a"))})
		})
	})
}
