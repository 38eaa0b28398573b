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

	"github.com/cockroachdb/datadriven"
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

// playV2 plays the requests of testdata/v2.txt. "begin" counts the indexes anew, from an
// empty store. A request with a "|" may wait for what the request after it changes.
func playV2(t *testing.T, s *serverV2) {
	datadriven.RunTest(t, "testdata/v2.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "begin" {
			for _, key := range []string{"a", "t", "k", "d", "w", "x"} {
				s.ask(t.Context(), "DELETE /"+key+"?recursive=true")
			}
			s.first = 0
			s.ask(t.Context(), "GET /")
			return ""
		}
		var out []string
		for line := range strings.Lines(d.Input) {
			request, later, waits := strings.Cut(strings.TrimSpace(line), " | ")
			method, args, indexed := strings.Cut(request, "waitIndex=")
			if n, err := strconv.ParseUint(args, 10, 64); indexed && err == nil {
				request = fmt.Sprint(method, "waitIndex=", n+s.first)
			}
			answer := make(chan string, 1)
			go func() { answer <- s.ask(t.Context(), request) }()
			if waits {
				s.ask(t.Context(), later)
			}
			out = append(out, strings.ReplaceAll(<-answer, fmt.Sprint("!= ", s.first+1, "]"), "!= IDX]"))
		}
		return strings.Join(append(out, ""), "\n")
	})
}

// withoutV2 asks a server that does not serve the API.
func withoutV2(t *testing.T, s *serverV2) {
	if got := s.ask(t.Context(), "GET /a"); got != `404 "404 page not found\n"` {
		t.Errorf("without --enable-v2: %s", got)
	}
}

func TestV2Real(t *testing.T) {
	t.Parallel()
	for _, v := range etcdtest.WithV2() {
		for on, play := range map[bool]func(*testing.T, *serverV2){true: playV2, false: withoutV2} {
			t.Run(fmt.Sprint(v, "/", on), func(t *testing.T) {
				t.Parallel()
				c := etcdtest.Start(t, 1, etcdtest.Options{Version: v, V2: on})
				play(t, &serverV2{url: c.Endpoints()[0], transport: &http.Transport{DisableKeepAlives: true}})
			})
		}
	}
}

func TestV2Simulated(t *testing.T) {
	t.Parallel()
	for on, play := range map[bool]func(*testing.T, *serverV2){true: playV2, false: withoutV2} {
		synctest.Test(t, func(t *testing.T) {
			n := &Network{V2: on}
			c := n.Form("3.5.35", "a")
			defer c.Processes()[0].PowerOff()
			play(t, &serverV2{url: ClientURL("a"), transport: n.Run("test").Web(ClientURL("a"))})
		})
	}
}
