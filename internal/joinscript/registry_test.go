// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package joinscript

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	tokens "github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// registry is a discovery cluster on a real etcd. With v2 it serves both protocols.
type registry struct {
	process  *etcdtest.Process
	protocol string
	client   *clientv3.Client
}

func newRegistry(t *testing.T, protocol string, v etcdtest.Version) *registry {
	t.Helper()
	c := etcdtest.Start(t, 1, etcdtest.Options{Names: []string{"registry"}, Version: v, V2: protocol == "v2"})
	return &registry{process: c.Members()[0], protocol: protocol, client: c.Client(t)}
}

// prefix is where v3 has the tokens.
const prefix = "/_etcd/registry/"

// env is the environment of an initial member with a token.
func (g *registry) env(token string) map[string]string {
	if g.protocol == "v3" {
		return map[string]string{"ETCD_DISCOVERY_TOKEN": token, "ETCD_DISCOVERY_ENDPOINTS": g.process.ClientURL()}
	}
	return map[string]string{"ETCD_DISCOVERY": g.process.ClientURL() + "/v2/keys/" + token, "ETCD_DISCOVERY_FALLBACK": "exit"}
}

// provided is the registry as the provider makes tokens in it and reads them.
func (g *registry) provided(t *testing.T) tokens.Registry {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	at := tokens.Location{Protocol: g.protocol, Prefix: map[string]string{"v2": "/", "v3": prefix}[g.protocol]}
	return tokens.Open(connection.Settings{Endpoints: []string{g.process.ClientURL()}}, pool, at)
}

// set makes a token anew, without a size if that is empty. The order of the
// registrations is not that of their keys.
func (g *registry) set(t *testing.T, token, size string, members ...string) {
	t.Helper()
	put := func(key, value string) {
		_, err := g.client.Put(t.Context(), prefix+token+"/"+key, value)
		must.Succeed(t, err)
		g.v2(t, http.MethodPut, "/"+token+"/"+strings.TrimPrefix(key, "members/"), value)
	}
	_, err := g.client.Delete(t.Context(), prefix+token+"/", clientv3.WithPrefix())
	must.Succeed(t, err)
	g.v2(t, http.MethodDelete, "/"+token+"?recursive=true", "")
	if size != "" {
		put("_config/size", size)
	}
	for i, member := range members {
		put(fmt.Sprintf("members/%x", 99-i), member)
	}
}

// v2 changes a key of v2, which exists or does not.
func (g *registry) v2(t *testing.T, method, key, value string) {
	t.Helper()
	if g.protocol != "v2" {
		return
	}
	request, err := http.NewRequestWithContext(etcdtest.WaitContext(t), method, g.process.ClientURL()+"/v2/keys"+key, strings.NewReader(url.Values{"value": {value}}.Encode()))
	must.Succeed(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	must.Succeed(t, err)
	_ = response.Body.Close()
	if response.StatusCode >= 300 && response.StatusCode != http.StatusNotFound {
		t.Fatalf("the registry answers %s", response.Status)
	}
}

// members are the registrations of v3, as KEY VALUE, in the order of the keys.
func (g *registry) members(t *testing.T, token string) (out []string) {
	t.Helper()
	got, err := g.client.Get(etcdtest.WaitContext(t), prefix+token+"/members/", clientv3.WithPrefix())
	must.Succeed(t, err)
	for _, kv := range got.Kvs {
		out = append(out, string(kv.Key)+" "+string(kv.Value))
	}
	return out
}

// differs returns how the registrations of T differ from those before, with one more if
// there are URLs: "NAME=URL,NAME=URL", under the ID that etcd computes.
func (g *registry) differs(t *testing.T, before []string, registered string) string {
	t.Helper()
	want := slices.Clone(before)
	if registered != "" {
		var urls []string
		for entry := range strings.SplitSeq(registered, ",") {
			_, url, _ := strings.Cut(entry, "=")
			urls = append(urls, url)
		}
		want = append(want, fmt.Sprintf("%sT/members/%x %s", prefix, uint64(membership.ComputeMemberID(urls, "T")), registered))
	}
	slices.Sort(want)
	if got := g.members(t, "T"); !slices.Equal(got, want) {
		return fmt.Sprintf("%q, want %q", got, want)
	}
	return ""
}

// entry is one member as a peer port lists it. The tests with etcd get real
// answers.
type entry struct {
	ID         uint64   `json:"id"`
	PeerURLs   []string `json:"peerURLs"`
	Name       string   `json:"name,omitempty"`
	ClientURLs []string `json:"clientURLs,omitempty"`
	IsLearner  bool     `json:"isLearner,omitempty"`
}

// peer simulates a member's peer port, for states that are hard to create with
// a real etcd.
type peer struct {
	url   string
	asked atomic.Int32
	steps atomic.Pointer[[]step]
}

// step is how a peer answers until it was asked so many times, and the last one always.
type step struct {
	until  int32
	answer http.HandlerFunc
}

func newPeer(t *testing.T, steps ...step) *peer {
	t.Helper()
	p := &peer{}
	p.steps.Store(&steps)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, steps := p.asked.Add(1), *p.steps.Load()
		i := slices.IndexFunc(steps, func(one step) bool { return n <= one.until })
		if i < 0 {
			i = len(steps) - 1
		}
		steps[i].answer(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// own is the peer URL of the member for which the script runs. Nothing listens
// there or at dead.
const (
	own  = "http://127.0.0.1:1"
	dead = "http://127.0.0.1:2"
)

// full returns a URL whose host drops connection requests because the queue of
// its port is full.
func full(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	err = errors.Join(err, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0))
	name, named := syscall.Getsockname(fd)
	bound, ok := name.(*syscall.SockaddrInet4)
	if err != nil || !ok {
		t.Fatal(err, named)
	}
	address := fmt.Sprintf("127.0.0.1:%d", bound.Port)
	for range 16 {
		c, err := net.DialTimeout("tcp", address, 200*time.Millisecond)
		if err != nil {
			if !strings.Contains(err.Error(), "timeout") {
				t.Fatal(err)
			}
			return "http://" + address
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("the port takes every connection")
	return ""
}
