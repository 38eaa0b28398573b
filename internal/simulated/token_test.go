// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

const (
	mayNotReplace = "Cannot replace the discovery token"
	forgotten     = "(Discovery token forgotten, not removed)"
	vanished      = "(Discovery token removed from the discovery cluster)"
)

// byProtocol returns the first text for a service, and the second one for a discovery cluster.
func (k *tokenWorld) byProtocol(service, cluster string) string {
	if k.protocol == "service" {
		return service
	}
	return cluster
}

// replaced is what a replacement says: a service keeps the old token.
func (k *tokenWorld) replaced() string { return k.byProtocol("replace: "+forgotten, "replace") }

// A token is created once, read until all members have registered, and then kept: the
// registry may be gone, and no argument makes another token.
func TestToken(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		k.expect("create", k.up(k.of(3)), "create")
		id := k.id()
		k.expect("its size", k.size(id), "3")
		for name, want := range map[string]map[string]string{
			"v3":      {"ETCD_DISCOVERY_TOKEN": id, "ETCD_DISCOVERY_ENDPOINTS": etcdsim.ClientURL("r"), "ETCD_DISCOVERY": ""},
			"v2":      {"ETCD_DISCOVERY": etcdsim.ClientURL("r") + registryKeys + id, "ETCD_DISCOVERY_FALLBACK": "exit", "ETCD_DISCOVERY_TOKEN": ""},
			"service": {"ETCD_DISCOVERY": serviceURL + "/" + id, "ETCD_DISCOVERY_FALLBACK": "exit", "ETCD_DISCOVERY_TOKEN": ""},
		}[k.protocol] {
			k.expect(name, k.attr("environment", name), want)
			k.expect(name, k.attr("bootstrap", "environment", name), want)
		}
		k.expect("again", k.up(k.of(3)), "no-op")
		k.register("c", "a")
		k.expect("refresh", k.refresh(), "")
		k.complete(false)
		k.register("b", "late")
		k.expect("refresh", k.refresh(), "")
		k.complete(true)
		members := k.attr("members")
		if c, a := strings.Index(members, `"c"`), strings.Index(members, `"a"`); c < 0 || a < c || strings.Contains(members, "late") || !strings.Contains(members, etcdsim.PeerURL("c")) {
			t.Errorf("the members are not the first three, in order: %s", members)
		}
		k.forget(id)
		k.silence(true)
		calls := k.calls
		k.expect("silence", k.refresh(), "")
		for _, config := range []driver.Values{k.of(3), k.of(5), k.of(driver.Unknown{})} {
			k.plans(config, "no-op")
		}
		k.expect("members", k.attr("members"), members)
		k.expect("requests for a complete token", k.calls-calls, 0)
		k.silence(false)
		k.expect("destroy", k.destroy(), k.byProtocol(forgotten, ""))
		k.expect("the state", k.ws.Addresses(), "[]")
		k.expect("tokens of the service", k.service.Minted(), map[bool]int{true: 1}[k.protocol == "service"])
	})
}

// begun says what has become of a token for three members. A refresh follows, if read. The
// summaries are those of -replace and of an apply of the tainted token, "" if it is replaced.
var begun = map[string]struct {
	do               func(k *tokenWorld)
	read             bool
	replace, tainted string
	facts            []string
}{
	"none registered": {},
	"two registered":  {do: func(k *tokenWorld) { k.register("a", "b") }},
	"complete":        {do: all, read: true, replace: mayNotReplace, tainted: mayNotReplace, facts: []string{"Registered: a, b, c"}},
	"complete, and the state is behind": {
		do: all, replace: mayNotReplace, tainted: "The discovery token is complete", facts: []string{"Registered: a, b, c"},
	},
	"silent": {
		do: func(k *tokenWorld) { k.silence(true) }, read: true, replace: mayNotReplace, tainted: mayNotReplace, facts: []string{"gave no usable answer"},
	},
	"deleted": {
		do: func(k *tokenWorld) { k.forget(k.id()) }, read: true, replace: mayNotReplace, tainted: mayNotReplace, facts: []string{"does not have the token"},
	},
	"another registry": {do: (*tokenWorld).another, replace: mayNotReplace, tainted: mayNotReplace, facts: []string{"does not have the token"}},
	"resized after all had registered": {
		// Today the plan of a tainted token has lost the first size, and replaces it.
		do: func(k *tokenWorld) { all(k); k.put(k.id(), "size", "5") }, read: true,
		replace: mayNotReplace, facts: []string{"It was 3 before. Registered: a, b, c"},
	},
	"resized before":     {do: func(k *tokenWorld) { k.register("a", "b"); k.put(k.id(), "size", "5") }, read: true},
	"no number for size": {tainted: mayNotReplace, do: func(k *tokenWorld) { k.register("a", "b"); k.put(k.id(), "size", "x") }, read: true},
	"no number for size, after all had registered": {
		do: func(k *tokenWorld) { all(k); k.put(k.id(), "size", "x") }, replace: mayNotReplace, tainted: mayNotReplace, facts: []string{"It was 3 before"},
	},
}

func all(k *tokenWorld) { k.register("a", "b", "c") }

// Only the registry knows that a cluster has not formed, and only its answer about this token
// proves it. A token that is not known to be free is not replaced, and can be destroyed.
func TestTokenIsReplacedIfUnformed(t *testing.T) {
	for name, c := range begun {
		for taint, summary := range map[bool]string{false: c.replace, true: c.tainted} {
			t.Run(fmt.Sprint(name, ", tainted ", taint), func(t *testing.T) {
				tokens(t, func(k *tokenWorld) { k.change(c.do, c.read, taint, summary, c.facts) })
			})
		}
	}
}

func (k *tokenWorld) change(do func(*tokenWorld), read, taint bool, summary string, facts []string) {
	k.Helper()
	k.expect("create", k.up(k.of(3)), "create")
	id, opts := k.id(), []driver.Option{driver.Replace(tokenAddress)}
	if do != nil {
		do(k)
	}
	if read {
		k.refresh()
	}
	if taint {
		k.ws.Taint(tokenAddress)
		opts = nil
	}
	if summary == "" {
		if got := k.up(k.of(3), opts...); !strings.HasPrefix(got, "replace") || k.id() == id || k.size(k.id()) != "3" {
			k.Errorf("%s, and the token is %s with size %s", got, k.id(), k.size(k.id()))
		}
		k.expect("the old token", k.size(id) != "", k.protocol == "service")
		return
	}
	plan, got, r := k.plan(k.of(3), opts...)
	if taint && plan != nil {
		r = k.ws.Apply(k.Context(), k.start("apply"), plan)
		got = told(r)
	}
	k.expect("it", got, summary)
	k.fails("it", r, facts...)
	k.expect("the token in the state", k.id(), id)
	k.destroy()
	k.expect("the state", k.ws.Addresses(), "[]")
}

// A token that is completed after the plan stays, and another plan leaves it alone.
func TestTokenCompletedAfterThePlan(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		k.up(k.of(3))
		id := k.id()
		plan, action, _ := k.plan(k.of(5))
		k.expect("the plan", action, "replace")
		all(k)
		k.expect("the apply", told(k.ws.Apply(k.Context(), k.start("apply"), plan)), "The discovery token is complete")
		k.expect("the token", k.id()+k.size(id), id+"3")
		k.refresh()
		k.plans(k.of(5), "no-op")
	})
}

// What changes the size of a token, or deletes it, is seen by the next refresh.
func TestTokenChangedByHand(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		k.up(k.of(3))
		id := k.id()
		k.put(id, "size", "5")
		k.expect("another size", k.refresh(), "(The size of the discovery token was changed)")
		k.expect("another size", k.up(k.of(3)), k.replaced())
		k.put(k.id(), "size", "abc")
		k.expect("a bad size", k.refresh(), "(Discovery token has an invalid size)")
		k.expect("a bad size", k.up(k.of(3)), k.replaced())
		k.forget(k.id())
		for range 2 {
			k.expect("deleted", k.refresh(), k.byProtocol("(The discovery service cannot find the token)", vanished))
		}
		k.plans(k.of(3), "no-op")
		k.refused(k.of(5), mayNotReplace, []string{"does not have the token"})
		id = k.id()
		k.expect("destroy", k.destroy(), k.byProtocol(forgotten, ""))
		k.expect("create", k.up(k.of(3)), "create")
		k.expect("the same token", k.id() == id, false)
	})
}

// A destruction removes the keys of the token, and no others. It does not wait for a registry
// that is gone.
func TestTokenDestroy(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		for name, c := range map[string]struct {
			do       func()
			v3, v2   string
			leftover bool
		}{
			"two registered": {func() { k.register("a", "b") }, "(Removed an incomplete discovery token)", "(Removed an incomplete discovery token)", false},
			"deleted":        {func() { k.forget(k.id()) }, "", "", false},
			"silent":         {func() { k.silence(true) }, forgotten, forgotten, true},
			"other keys":     {func() { k.put(k.id(), "zz", "x") }, "(Keys were left below the discovery token)", "(Keys were left below the discovery token)", false},
		} {
			k.expect("create", k.up(k.of(3)), "create")
			id := k.id()
			c.do()
			k.expect(name, k.destroy(), k.byProtocol(forgotten, c.v3))
			k.expect(name+": the state", k.ws.Addresses(), "[]")
			k.silence(false)
			if k.protocol != "service" {
				k.expect(name+": the token is there", k.size(id) != "", c.leftover)
			}
		}
	})
}

// inToken finds the token that a request is about.
var inToken = regexp.MustCompile(`_etcd/registry/([0-9a-f]{32})`)

// writesToken reports whether a request creates a token.
func writesToken(c etcdsim.Call) bool {
	txn, ok := c.Request.(*pb.TxnRequest)
	return ok && len(txn.Compare) > 0 || strings.HasPrefix(c.Method, http.MethodPut) || strings.HasPrefix(c.Method, "GET /new?")
}

// A creation that fails leaves no state, and nothing in the registry.
func TestTokenIsNotCreated(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		before := k.network.Before
		// meet does something as soon as a token is looked for.
		meet := func(do func(id string)) func() {
			return func() {
				k.network.Before = func(ctx context.Context, c etcdsim.Call) error {
					err := before(ctx, c)
					if id := inToken.FindStringSubmatch(fmt.Sprint(c.Method, c.Request)); id != nil && strings.HasPrefix(c.Run, "apply") {
						k.network.Before = before
						do(id[1])
					}
					return err
				}
			}
		}
		const exists, noAnswer = "The discovery token exists already", "Cannot create the token"
		const noService = "The discovery service gave no usable answer"
		for name, c := range map[string]struct {
			do               func()
			service, cluster string
		}{
			"silent":            {func() { k.silence(true) }, noService, noAnswer},
			"another's keys":    {meet(func(id string) { k.put(id, "ff", "x") }), "", "The discovery token's place is not empty"},
			"the token exists":  {meet(func(id string) { k.put(id, "size", "3") }), "", exists},
			"it has a bad size": {meet(func(id string) { k.put(id, "size", "x") }), "", exists},
			"too many requests": {func() { k.service.Fail(http.StatusTooManyRequests) }, noService, ""},
			"out of order":      {func() { k.service.Fail(http.StatusInternalServerError) }, noService, ""},
		} {
			want := k.byProtocol(c.service, c.cluster)
			if want == "" {
				continue
			}
			calls := k.calls
			c.do()
			k.expect(name, k.up(k.of(3)), "create: "+want)
			k.expect(name+": the state", k.ws.Addresses(), "[]")
			if k.protocol == "service" && name != "silent" { // each answer would cost a token
				k.expect(name+": requests", k.calls-calls, 1)
			}
			k.silence(false)
			k.service.Fail(0)
			k.network.Before = before
		}
		k.ws.Provider = driver.Values{}
		k.expect("without endpoints", k.up(k.of(3)), "create"+k.byProtocol("", ": No discovery cluster to ask"))
	})
}

// If the answer to the creation is lost, the token stays in the state: the next refresh looks
// for it, and the next apply writes it if it is not there. No second one is made.
func TestTokenWithALostAnswer(t *testing.T) {
	for _, written := range []bool{true, false} {
		t.Run(fmt.Sprint("written ", written), func(t *testing.T) {
			tokens(t, func(k *tokenWorld) {
				k.lose(written, true)
				if k.protocol == "service" {
					k.expect("create", k.up(k.of(3)), "create: The discovery service gave no usable answer")
					k.expect("minted, and the state", fmt.Sprint(k.service.Minted(), k.ws.Addresses()), fmt.Sprint(b2i(written), " []"))
					return
				}
				k.expect("create", k.up(k.of(3)), "create: (Not known whether the token was written)")
				id := k.id()
				k.expect("refresh", k.refresh(), "(Discovery token not checked)")
				k.plans(k.of(3), "no-op")
				k.silence(false)
				k.expect("its size", k.size(id), map[bool]string{true: "3"}[written])
				k.expect("refresh", k.refresh(), "")
				want := "update: (The token was not written last time)"
				if written {
					want = "no-op"
				}
				k.expect("the next apply", k.up(k.of(3)), want)
				k.expect("the token", k.id()+k.size(id), id+"3")
				k.expect("refresh", k.refresh(), "")
				k.forget(id)
				k.expect("refresh", k.refresh(), vanished)
				k.expect("the token in the state", k.id(), id)

				// An answer that is lost for a moment is asked for again.
				k.ws.Forget(tokenAddress)
				k.lose(written, false)
				k.expect("create", k.up(k.of(3)), "create")
				k.expect("its size", k.size(k.id()), "3")
			})
		})
	}
}

func b2i(b bool) int { return map[bool]int{true: 1}[b] }

// lose loses the answer to the next creation of a token, and then all answers, if forever.
func (k *tokenWorld) lose(written, forever bool) {
	broken := map[bool]error{true: status.Error(codes.Unavailable, "connection lost"), false: io.ErrUnexpectedEOF}[k.protocol == "v3"]
	before := k.network.Before
	lost := func(c etcdsim.Call) error {
		k.network.Before, k.network.After = before, nil
		if forever {
			k.network.Cut("", c.Address)
		}
		return broken
	}
	k.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		if err := before(ctx, c); err != nil || written || !writesToken(c) {
			return err
		}
		return lost(c)
	}
	k.network.After = func(_ context.Context, c etcdsim.Call, _ proto.Message, err error) error {
		if err != nil || !written || !writesToken(c) {
			return err
		}
		return lost(c)
	}
}

// Two runs at once have a token each.
func TestTwoTokensAtOnce(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		var ids [2]string
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				ws := driver.New(t, k.ws.Provider, driver.Resource{Type: "etcd_discovery_token", Name: "this", Values: k.of(3 + 2*i)})
				_, r := ws.Up(k.Context(), k.start(fmt.Sprint("run", i)))
				k.expect("create", told(r), "")
				ids[i] = driver.Attribute(ws.State(tokenAddress).Value, "token")
			})
		}
		wg.Wait()
		k.expect("the sizes", k.size(ids[0])+k.size(ids[1]), "35")
	})
}

// A user without a permission learns which one is missing. Nothing is changed.
func TestTokenDenied(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		k := newToken(w, "v3")
		k.up(k.of(3))
		id, before := k.id(), k.network.Before
		k.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			if err := before(ctx, c); err != nil {
				return err
			}
			return rpctypes.ErrGRPCPermissionDenied
		}
		k.refused(k.of(5), mayNotReplace, []string{"permission denied"})
		k.expect("refresh", k.refresh(), "(Discovery token not checked)")
		k.expect("destroy", k.destroy(), "Cannot remove the token")
		k.expect("the token", k.id(), id)
		k.ws.Forget(tokenAddress)
		k.expect("create", k.up(k.of(3)), "create: Cannot create the token")
	})
}
