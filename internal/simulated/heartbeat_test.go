// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// beats is a cluster of r, s and t, and who beats as "deploy" in it.
type beats struct {
	*world
	api string
}

// beating runs a test for each API.
func beating(t *testing.T, f func(b *beats)) {
	t.Parallel()
	for _, api := range []string{"v2", "v3"} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, "", func(w *world) {
				w.network.V2, w.schedule.Twins = true, true // two watches may ask for one lease
				w.cluster = w.network.Form("3.5.35", "r", "s", "t")
				for _, p := range w.cluster.Processes() {
					w.members[p.Name] = p
				}
				w.rest(10 * time.Second)
				f(&beats{w, api})
			})
		})
	}
}

const (
	deploy  = "/running/deploy"
	lost    = "The heartbeat of deploy was lost"
	left    = "(The heartbeat of deploy was left to expire)"
	held    = "Another owner beats as deploy"
	failed  = "Cannot start the heartbeat of deploy"
	nothing = "Cannot see who beats under /running"
)

// owner is a run of Terraform with a heartbeat.
type owner struct {
	*caller
	value string
	says  []*tfprotov6.Diagnostic
	end   func() []*tfprotov6.Diagnostic
}

// start starts a heartbeat of 30 s, unless the values say otherwise.
func (b *beats) begin(run string, more driver.Values) *owner {
	b.Helper()
	c := b.call(run, b.provider("r s t"))
	values := driver.Values{"name": "deploy", "api": b.api}
	for name, v := range more {
		values[name] = v
	}
	v, diags, end := c.open("etcd_heartbeat", values)
	return &owner{c, driver.Attribute(v, "value"), diags, end}
}

// closes ends a heartbeat and its process.
func (o *owner) closes(want string, facts ...string) {
	o.Helper()
	diags := o.end()
	o.expect("the end", said(diags), want)
	for _, fact := range facts {
		if o.says = diags; !strings.Contains(o.detail(), fact) {
			o.Errorf("%q is not in %s", fact, o.detail())
		}
	}
	o.run.Close()
}

// detail is what was said first.
func (o *owner) detail() string {
	if len(o.says) == 0 {
		return ""
	}
	return o.says[0].Detail
}

// store is what holds claims, without the provider.
func (b *beats) store() (claim.Store, func()) {
	pool := &connection.Pool{World: b.network.Run("other")}
	s := connection.Settings{Endpoints: []string{etcdsim.ClientURL("s"), etcdsim.ClientURL("r")}, Clock: b.schedule.Clock("other")}
	if b.api == "v2" {
		return claim.NewV2(s, pool), func() { _ = pool.Close() }
	}
	return claim.NewV3(cluster.New(s, pool), s, pool), func() { _ = pool.Close() }
}

// holds is the value of the key, "" if there is none.
func (b *beats) holds() string {
	b.Helper()
	s, end := b.store()
	defer end()
	e, err := s.Get(b.Context(), deploy)
	b.must(err)
	if e == nil {
		return ""
	}
	return e.Value
}

// watch reads the data source for a time. The function waits for the result.
func (b *beats) watch(d time.Duration, endpoints string, more driver.Values) func() tftypes.Value {
	values := driver.Values{"api": b.api, "watch": d.String()}
	for name, v := range more {
		values[name] = v
	}
	done := make(chan tftypes.Value, 1)
	go func() {
		c := b.call("watch", b.provider(endpoints))
		v, diags := c.read("etcd_heartbeats", values)
		b.expect("the watch", said(diags), "")
		c.run.Close()
		done <- v
	}()
	b.rest(time.Second)
	return func() tftypes.Value { return <-done }
}

var event = regexp.MustCompile(`"kind":tftypes.String<"([a-z]+)">, "name":tftypes.String<"([a-z0-9]+)">`)

// events are those of a data source, with successive equal ones merged.
func events(v tftypes.Value) string {
	var out []string
	for _, m := range event.FindAllStringSubmatch(driver.Attribute(v, "events"), -1) {
		out = append(out, m[2]+" "+m[1])
	}
	return strings.Join(slices.Compact(out), ", ")
}

// A run beats while it lasts, however long, under a value of its own. Whichever way it ends,
// the key goes: at once if the provider lives, or else after its time to live.
func TestHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(o *owner)
		want string
	}{
		"closed":     {func(o *owner) { o.closes("") }, "stopped"},
		"not closed": {func(o *owner) { o.run.Close() }, "stopped"},
		"killed":     {func(o *owner) { o.each = func(run string) error { return errorOf(run == "run.1") } }, "missed"},
		"deleted":    {func(o *owner) { o.remove(); o.rest(time.Minute); o.closes(lost, "was lost: it expired") }, "stopped"},
		"cut off": {func(o *owner) {
			o.cut("run.1")
			o.rest(time.Minute)
			o.heal("run.1")
			o.closes(lost, "was not renewed")
		}, "missed"},
		"cut off, early": {func(o *owner) { o.cut("run.1"); o.closes(left) }, "missed"},
	} {
		t.Run(name, func(t *testing.T) {
			beating(t, func(b *beats) {
				watched := b.watch(10*time.Minute, "r s", nil)
				o := b.begin("run", nil)
				b.expect("the start", said(o.says), "")
				if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(o.value) {
					t.Errorf("the value is %q", o.value)
				}
				b.rest(2 * time.Minute)
				b.expect("the key", b.holds(), o.value)
				c.end(o)
				b.rest(time.Minute)
				b.expect("the key", b.holds(), "")
				b.expect("the events", events(watched()), "deploy started, deploy beat, deploy "+c.want)
				o.run.Close()
			})
		})
	}
}

func errorOf(is bool) error { return map[bool]error{true: errKilled}[is] }

// remove deletes the key by hand.
func (w *world) remove() {
	w.Helper()
	_, err := w.client("r").Delete(w.Context(), deploy)
	w.must(err)
	w.web(http.MethodDelete, etcdsim.ClientURL("r"), "/v2/keys"+deploy)
}

func (w *world) cut(run string) {
	for _, p := range w.cluster.Processes() {
		w.network.Cut(run, p.ClientURL)
	}
}

func (w *world) heal(run string) {
	for _, p := range w.cluster.Processes() {
		w.network.Heal(run, p.ClientURL)
	}
}

// One of two owners of a name gets it. The other one learns who has it, and for how long; it
// takes the name only if the configuration says so, and the first one reports the loss.
func TestHeartbeatOfAnotherOwner(t *testing.T) {
	beating(t, func(b *beats) {
		first := b.begin("first", driver.Values{"value": "one"})
		for _, value := range []string{"two", "one"} {
			b.rest(time.Minute)
			second := b.begin("second", driver.Values{"value": value})
			b.expect("the second one", said(second.says), held)
			if left := second.detail(); !regexp.MustCompile(`^/running/deploy holds "one" for another (2\d|30)s, unless`).MatchString(left) {
				t.Errorf("it says: %s", left)
			}
			second.run.Close()
		}
		b.expect("the key", b.holds(), "one")
		second := b.begin("second", driver.Values{"value": "two", "takeover": true})
		b.expect("the takeover", said(second.says), "")
		first.closes(lost, `held by "two" now`)
		b.rest(time.Minute)
		b.expect("the key", b.holds(), "two")
		second.closes("")

		// Without a time to live, the key stays.
		_, err := b.client("r").Put(b.Context(), deploy, "stale")
		b.must(err)
		b.web(http.MethodPut, etcdsim.ClientURL("r"), "/v2/keys"+deploy+"?value=stale")
		third := b.begin("third", nil)
		b.expect("a stale key", said(third.says), held)
		if detail := third.detail(); !strings.Contains(detail, "without a time to live") {
			t.Errorf("it says: %s", detail)
		}
		third.run.Close()
	})
}

// Of runs that start at once, one gets the name.
func TestHeartbeatsAtOnce(t *testing.T) {
	beating(t, func(b *beats) {
		var owners [4]*owner
		var wg sync.WaitGroup
		for i := range owners {
			wg.Go(func() { owners[i] = b.begin(fmt.Sprint("run", i), nil) })
		}
		wg.Wait()
		got := 0
		for _, o := range owners {
			if len(o.says) == 0 {
				got++
				b.expect("the key", b.holds(), o.value)
			} else {
				b.expect("the others", said(o.says), held)
			}
			o.run.Close()
		}
		b.expect("owners", got, 1)
	})
}

// The answer to a request that was carried out is lost: the provider finds its own claim
// through another endpoint, at the start and at a beat.
func TestHeartbeatWithLostAnswers(t *testing.T) {
	beating(t, func(b *beats) {
		gone := map[string]error{"v3": status.Error(codes.Unavailable, "connection lost"), "v2": io.ErrUnexpectedEOF}[b.api]
		loses, times := 1, 0
		b.network.After = func(_ context.Context, c etcdsim.Call, _ proto.Message, err error) error {
			_, txn := c.Request.(*pb.TxnRequest)
			if writes := txn || !strings.HasPrefix(c.Method, "GET") && c.Request == nil && !strings.HasPrefix(c.Method, "/"); err != nil || !writes || c.Run != "run.1" || loses == 0 {
				return err
			}
			loses--
			times++
			return gone
		}
		o := b.begin("run", nil)
		b.expect("the start", said(o.says), "")
		b.expect("the key", b.holds(), o.value)
		loses = 2
		b.rest(time.Minute)
		b.expect("the key", b.holds(), o.value)
		loses = 1
		o.closes("")
		b.expect("the key", b.holds(), "")
		b.expect("lost answers", times, 4)
	})
}

// Another cluster at the addresses does not have the claim. No beat writes it there.
func TestHeartbeatAtAnotherCluster(t *testing.T) {
	beating(t, func(b *beats) {
		o := b.begin("run", nil)
		other := b.network.Form("3.5.35", "x").Processes()[0]
		for _, name := range []string{"r", "s", "t"} {
			b.network.Answer(etcdsim.ClientURL(name), other)
		}
		b.rest(time.Minute)
		b.expect("the key", b.holds(), "")
		o.closes(lost, "was lost: it expired")
	})
}

// A cluster that does not answer, has no space, or does not serve the v2 API gives no claim. A
// claim is renewed and released in a cluster without space.
func TestHeartbeatIsNotStarted(t *testing.T) {
	beating(t, func(b *beats) {
		o := b.begin("run", nil)
		fails := func(why, fact string) {
			b.Helper()
			late := b.begin(why, driver.Values{"name": "late"})
			b.expect(why, said(late.says), strings.Replace(failed, "deploy", "late", 1))
			if !strings.Contains(late.detail(), fact) {
				t.Errorf("%s: %s", why, late.detail())
			}
			late.run.Close()
		}
		if b.api == "v3" {
			b.outOfSpace("r")
			fails("no space", "The alarm NOSPACE is raised")
			b.rest(2 * time.Minute)
		} else {
			b.network.V2 = false
			fails("no v2", `Set api = "v3"`)
			c := b.call("data", b.provider("r"))
			_, diags := c.read("etcd_heartbeats", driver.Values{"api": "v2"})
			b.expect("no v2", said(diags), nothing)
			c.run.Close()
			b.network.V2 = true
		}
		b.expect("the key", b.holds(), o.value)
		o.closes("")
		b.cut("")
		fails("silent", "The cluster does not answer")
		c := b.call("data", b.provider("r"))
		_, diags := c.read("etcd_heartbeats", driver.Values{"api": b.api})
		b.expect("silent", said(diags), nothing)
		c.run.Close()
		c = b.call("plan", driver.Values{"endpoints": driver.Unknown{}})
		calls := b.calls
		v, diags, end := c.open("etcd_heartbeat", driver.Values{"name": "deploy", "api": b.api})
		b.expect("unknown endpoints", said(diags)+said(end())+driver.Attribute(v, "key"), deploy)
		b.expect("requests", b.calls-calls, 0)
		c.run.Close()
	})
}

// The data source tells who is alive, missing and unexpected, and what happens while it watches,
// each event once: an endpoint that is frozen, and one that dies, hide nothing.
func TestHeartbeats(t *testing.T) {
	beating(t, func(b *beats) {
		store, end := b.store()
		defer end()
		create := func(name string, ttl time.Duration) claim.Entry {
			b.Helper()
			e, err := store.Create(b.Context(), "/running/"+name, "of "+name, ttl)
			b.must(err)
			return e
		}
		create("stranger", time.Hour)
		watched := b.watch(time.Minute, "t s r", driver.Values{"expected": []any{"web1", "web2", "web3"}})
		web1 := create("web1", time.Minute)
		b.members["t"].Freeze()
		create("web2", 2*time.Second)
		create("deep/down", time.Hour) // is no claim under this prefix
		b.rest(10 * time.Second)
		b.members["t"].Thaw()
		b.members["s"].PowerOff()
		b.rest(10 * time.Second)
		again, err := store.Beat(b.Context(), web1, time.Minute)
		b.must(err)
		web4 := create("web4", time.Minute)
		b.must(store.Delete(b.Context(), web4))
		v := watched()
		b.expect("the events", events(v), "web1 started, web2 started, web2 missed, web1 beat, web4 started, web4 stopped")
		b.expect("missing", driver.Attribute(v, "missing"), `tftypes.Set[tftypes.String]<tftypes.String<"web2">, tftypes.String<"web3">>`)
		b.expect("unexpected", driver.Attribute(v, "unexpected"), `tftypes.Set[tftypes.String]<tftypes.String<"stranger">>`)
		b.expect("alive", driver.Attribute(v, "alive", "web1", "value")+driver.Attribute(v, "alive", "stranger", "value"), "of web1of stranger")
		b.expect("time left", regexp.MustCompile(`"(2|1)\d"`).MatchString(driver.Attribute(v, "alive", "web1", "ttl_left")), true)
		b.must(store.Delete(b.Context(), again))
		c := b.call("now", b.provider("r"))
		defer c.run.Close()
		now, diags := c.read("etcd_heartbeats", driver.Values{"api": b.api})
		b.expect("now", said(diags)+events(now), "")
		for _, name := range []string{"missing", "unexpected"} {
			b.expect("without expected", driver.Attribute(now, name), "tftypes.Set[tftypes.String]<>")
		}
	})
}

// What can be known at plan is refused there.
func TestHeartbeatInput(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		c := w.call("run", driver.Values{"endpoints": []any{etcdsim.ClientURL("r")}})
		defer c.run.Close()
		for _, test := range []struct {
			values driver.Values
			want   string
		}{
			{driver.Values{"name": ""}, "Invalid name of a heartbeat"},
			{driver.Values{"name": "a/b"}, "Invalid name of a heartbeat"},
			{driver.Values{"name": "_a"}, "Invalid name of a heartbeat"},
			{driver.Values{"name": "a", "value": ""}, "Invalid Attribute Value Length"},
			{driver.Values{"name": "a", "ttl": "1500ms"}, "Time to live too short"},
			{driver.Values{"name": "a", "ttl": "soon"}, "Invalid duration"},
			{driver.Values{"name": "a", "ttl": "10s", "interval": "6s"}, "Interval too long"},
			{driver.Values{"name": "a", "api": "v4"}, "Invalid Attribute Value Match"},
			{driver.Values{"name": "a", "prefix": "running"}, "Invalid prefix of heartbeats"},
		} {
			_, diags, _ := c.open("etcd_heartbeat", test.values)
			w.expect(fmt.Sprint(test.values), said(diags), test.want)
		}
		for _, prefix := range []string{"/", "/running/"} {
			_, diags := c.read("etcd_heartbeats", driver.Values{"prefix": prefix})
			w.expect(prefix, said(diags), "Invalid prefix of heartbeats")
		}
	})
}
