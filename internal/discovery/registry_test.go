// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// The life of a token, with lost answers and registries that are silent, is tested with the
// provider, in package simulated.

// simulatedRegistry is a registry at a simulated discovery cluster, and what others do there.
type simulatedRegistry struct {
	*testing.T
	Registry
	n        *etcdsim.Network
	protocol string
}

func registries(t *testing.T, test func(r *simulatedRegistry)) {
	t.Parallel()
	for _, protocol := range []string{"v2", "v3"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &simulatedRegistry{T: t, n: &etcdsim.Network{V2: true}, protocol: protocol}
				r.n.Form("3.5.35", "a")
				r.Registry = r.at(&connection.Pool{World: r.n.Run("run")}, etcdsim.ClientURL("a"))
				test(r)
			})
		})
	}
}

func (r *simulatedRegistry) at(pool *connection.Pool, endpoints ...string) Registry {
	r.Cleanup(func() { _ = pool.Close() })
	return Open(settings(endpoints...), pool, Location{Protocol: r.protocol, Prefix: DefaultPrefix})
}

// put writes a key below the prefix. Members of v3 register below members/.
func (r *simulatedRegistry) put(key, value string) {
	r.Helper()
	if r.protocol == "v2" {
		r.v2(http.MethodPut, key+"?value="+url.QueryEscape(value))
		return
	}
	if token, id, ok := strings.Cut(key, "/"); ok && !strings.HasPrefix(id, "_") {
		key = token + "/members/" + id
	}
	_, err := r.v3().Put(r.Context(), DefaultPrefix+"/"+key, value)
	must.Succeed(r, err)
}

func (r *simulatedRegistry) v3() *clientv3.Client {
	return r.n.Run("etcdctl").Client(etcdsim.ClientURL("a"), etcdsim.ClientURL("a"))
}

func (r *simulatedRegistry) v2(method, key string) string {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, etcdsim.ClientURL("a")+"/v2/keys"+DefaultPrefix+"/"+key, http.NoBody)
	must.Succeed(r, err)
	resp, err := r.n.Run("curl").Web(etcdsim.ClientURL("a")).RoundTrip(req)
	must.Succeed(r, err)
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// has reports whether a key is there.
func (r *simulatedRegistry) has(key string) bool {
	r.Helper()
	if r.protocol == "v2" {
		return !strings.Contains(r.v2(http.MethodGet, key), `"errorCode":100`)
	}
	if token, id, ok := strings.Cut(key, "/"); ok && !strings.HasPrefix(id, "_") {
		key = token + "/members/" + id
	}
	got, err := r.v3().Get(r.Context(), DefaultPrefix+"/"+key)
	must.Succeed(r, err)
	return len(got.Kvs) > 0
}

// A token is never overwritten, not even with the same size. Its neighbour is not touched.
func TestCreate(t *testing.T) {
	registries(t, func(r *simulatedRegistry) {
		if place := mustCreate(r.T, r, token3, 3); place != (Location{Protocol: r.protocol, Prefix: DefaultPrefix, Token: token3}) {
			r.Errorf("place: got %+v", place)
		}
		mustCreate(r.T, r, token3+"0", 1)
		for _, size := range []int{5, 3} {
			_, err := r.Create(r.Context(), token3, size)
			if exists, ok := errors.AsType[*ExistsError](err); !ok || exists.Size != 3 {
				r.Errorf("create again for %d: got %v, want that it exists for 3", size, err)
			}
		}
		if got := mustStatus(r.T, r, token3); got.Size != 3 || len(got.Members) != 0 || got.Complete() {
			r.Errorf("status: got %+v", got)
		}
		if err := r.Delete(r.Context(), token3); err != nil {
			r.Errorf("delete: %v", err)
		}
		wantError(r.T, r.Delete(r.Context(), token3), ErrNotFound)
		_, err := r.Status(r.Context(), token3)
		wantError(r.T, err, ErrNotFound)
		time.Sleep(24 * time.Hour) // members may wait for long
		if got := mustStatus(r.T, r, token3+"0"); got.Size != 1 {
			r.Errorf("the neighbour: got %+v", got)
		}
	})
}

// One of two creations at once makes the token.
func TestTwoAtOnce(t *testing.T) {
	registries(t, func(r *simulatedRegistry) {
		results := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.Create(context.WithoutCancel(r.Context()), token3, 3)
				results <- err
			}()
		}
		first, second := <-results, <-results
		if first != nil {
			first, second = second, first
		}
		if first != nil || !is[*ExistsError](second) {
			r.Errorf("got %v and %v, want one success and one that it exists", first, second)
		}
	})
}

// Registrations count in the order in which they were made, and up to the size.
func TestStatusGoesByCreation(t *testing.T) {
	registries(t, func(r *simulatedRegistry) {
		mustCreate(r.T, r, token3, 2)
		for _, registration := range [][2]string{
			{"ff", "first=http://10.0.0.1:2380"}, {"00zz", "not-an-id=http://10.0.0.9:2380"}, {"dd/ee", "deeper=http://10.0.0.8:2380"},
			{"ee", "no-url"}, {"aa", "second=http://10.0.0.2:2380,second=http://10.0.1.2:2380"}, {"01", "too-late=http://10.0.0.3:2380"},
		} {
			if r.protocol == "v3" && strings.Contains(registration[0], "/") {
				continue // the id is what follows the last slash
			}
			r.put(token3+"/"+registration[0], registration[1])
		}
		want := []Member{
			{ID: 0xff, Name: "first", PeerURLs: []string{"http://10.0.0.1:2380"}},
			{ID: 0xaa, Name: "second", PeerURLs: []string{"http://10.0.0.2:2380", "http://10.0.1.2:2380"}},
		}
		if got := mustStatus(r.T, r, token3); !reflect.DeepEqual(got, Status{Size: 2, Members: want}) || !got.Complete() {
			r.Errorf("got %+v, want %+v, complete", got, want)
		}
		for _, value := range []string{"0", "-1", "abc", " 3", "3\n"} {
			r.put(token3+"/_config/size", value)
			s, err := r.Status(r.Context(), token3)
			if bad, ok := errors.AsType[*BadSizeError](err); !ok || bad.Value != value || len(s.Members) != 3 {
				r.Errorf("size %q: got %v with %d members, want a bad size with 3", value, err, len(s.Members))
			}
			_, err = r.Create(r.Context(), token3, 3)
			wantType[*ExistsError](r.T, err)
		}
	})
}

// A token is not created among the data of another program, and keys that appear below it
// later are not deleted, however many registrations are.
func TestOthersKeysStay(t *testing.T) {
	registries(t, func(r *simulatedRegistry) {
		theirs := []string{"pods/a", "pods/sub/b", "pods0"}
		if r.protocol == "v2" {
			theirs = append(theirs, "hidden/_x", "file")
		}
		for _, key := range theirs {
			r.put(key, "theirs")
		}
		for _, token := range map[string][]string{"v2": {"pods", "hidden", "file"}, "v3": {"pods"}}[r.protocol] {
			_, err := r.Create(r.Context(), token, 3)
			wantType[*OthersError](r.T, err)
			if !strings.Contains(err.Error(), DefaultPrefix+"/"+token) {
				r.Errorf("%v does not name what is below %s", err, token)
			}
			wantType[*OthersError](r.T, r.Delete(r.Context(), token))
		}
		mustCreate(r.T, r, token3, 300)
		var ours []string
		for i := range 250 { // more than one transaction can delete
			ours = append(ours, fmt.Sprintf("%s/%x", token3, 0xfffffffffffff000+uint64(i)))
		}
		left := []string{token3 + "/_config/other", token3 + "/00ff", token3 + "/FF", token3 + "/zz", token3 + "/ff/deeper"}
		for _, key := range slices.Concat(ours, left) {
			r.put(key, "m=http://10.0.0.1:2380")
		}
		r.put(token3+"/a", "hexadecimal by chance")
		others, ok := errors.AsType[*OthersError](r.Delete(r.Context(), token3))
		if want := map[string]int{"v2": 5, "v3": 6}[r.protocol]; !ok || len(others.Keys) != min(want, maxNamed) || others.more != max(want-maxNamed, 0) {
			r.Errorf("got %v", others)
		}
		for _, key := range slices.Concat(theirs, left, []string{token3 + "/a"}) {
			if !r.has(key) {
				r.Errorf("%s is gone", key)
			}
		}
		if slices.ContainsFunc(ours, r.has) || r.has(token3+"/_config/size") {
			r.Error("the token is still there")
		}
	})
}

// A server without the v2 API has no token of it. Another endpoint is asked.
func TestUnreachable(t *testing.T) {
	registries(t, func(r *simulatedRegistry) {
		r.n.Form("3.6.16", "never")
		gone, never, a := etcdsim.ClientURL("gone"), etcdsim.ClientURL("never"), etcdsim.ClientURL("a")
		pool := &connection.Pool{World: r.n.Run("other")}
		if r.protocol == "v2" {
			_, err := r.at(pool, gone, never).Create(r.Context(), token3, 3)
			if want := "no endpoint answered; " + gone + ": connection refused; " + never + ": " + connection.ErrNoV2.Error(); err == nil || err.Error() != want || is[*UnsureError](err) {
				r.Errorf("got %v, want %s", err, want)
			}
		}
		at := r.at(pool, gone)
		_, err := at.Status(r.Context(), token3)
		wantType[*connection.Unreachable](r.T, err)
		wantType[*connection.Unreachable](r.T, at.Delete(r.Context(), token3))
		mustCreate(r.T, r.at(pool, gone, a), token3, 3)
		mustStatus(r.T, r.at(pool, gone, a), token3)
	})
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token3 = "3e86b59982e49066c5d813af1c2e2579"
)

// settings returns settings for the endpoints without TLS.
func settings(endpoints ...string) connection.Settings {
	return connection.Settings{
		Endpoints:      endpoints,
		DialTimeout:    2 * time.Second,
		RequestTimeout: 3 * time.Second,
	}
}

func mustCreate(t *testing.T, r Registry, token string, size int) Location {
	t.Helper()
	place, err := r.Create(etcdtest.WaitContext(t), token, size)
	if err != nil {
		t.Fatalf("create %s for %d: %v", token, size, err)
	}
	return place
}

func mustStatus(t *testing.T, r Registry, token string) Status {
	t.Helper()
	s, err := r.Status(etcdtest.WaitContext(t), token)
	if err != nil {
		t.Fatalf("status of %s: %v", token, err)
	}
	return s
}

// open returns a registry with its own connections.
func open(t *testing.T, s connection.Settings, protocol string) Registry {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	return Open(s, pool, Location{Protocol: protocol, Prefix: DefaultPrefix})
}

func wantType[E error](t *testing.T, got error) {
	t.Helper()
	if !is[E](got) {
		t.Fatalf("got error %v, want a %T", got, *new(E))
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

// Test that no delete in the product affects more than one key: none uses a
// range, a prefix or a whole directory. Created keys are deleted individually,
// here and elsewhere (claims, ownership records, turns).
func TestNoDeleteTakesMoreThanOneKey(t *testing.T) {
	deletes := 0
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Delete" && f.Sel.Name != "OpDelete" {
				return true
			}
			deletes++
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && slices.Contains([]string{"WithPrefix", "WithRange", "WithFromKey", "Recursive"}, id.Name) {
						t.Errorf("%s: a delete with %s", name, id.Name)
					}
					return true
				})
			}
			return true
		})
		return nil
	})
	if err != nil || deletes < 8 {
		t.Errorf("%d deletes found, %v", deletes, err)
	}
}

// is reports whether err's tree contains an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
