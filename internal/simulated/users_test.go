// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// secure makes the users of the guide "Network and security", each with a password that
// follows from its name, and lets nobody in without a login from then on.
func (w *world) secure() {
	w.Helper()
	text, err := os.ReadFile("../../templates/guides/network-and-security.md")
	w.must(err)
	_, section, _ := strings.Cut(string(text), "\n## Permissions\n")
	section, _, _ = strings.Cut(section, "\n### ")
	done := 0
	for line := range strings.Lines("etcdctl user add root\netcdctl user grant-role root root\n" + section) {
		if strings.HasPrefix(line, "etcdctl ") {
			w.etcdctl(line)
			done++
		}
	}
	if done < 20 {
		w.Fatalf("the guide has %d commands", done)
	}
	_, err = w.client("a").AuthEnable(w.Context())
	w.must(err)
}

// etcdctl runs a command of root that concerns users.
func (w *world) etcdctl(line string) {
	w.Helper()
	c, f, err := w.client("a"), strings.Fields(line), error(nil)
	switch f[1] + " " + f[2] {
	case "user add":
		_, err = c.UserAdd(w.Context(), f[3], f[3]+"-pw")
	case "user grant-role":
		_, err = c.UserGrantRole(w.Context(), f[3], f[4])
	case "role add":
		_, err = c.RoleAdd(w.Context(), f[3])
	case "role grant-permission":
		kind, bad := clientv3.StrToPermissionType(f[5])
		w.must(bad)
		_, err = c.RoleGrantPermission(w.Context(), f[3], f[6], clientv3.GetPrefixRangeEnd(f[6]), kind)
	default:
		w.Fatalf("%q is no known command", line)
	}
	w.must(err)
}

// as are the arguments of a provider block that logs in.
func (w *world) as(names, user string) driver.Values {
	v := w.provider(names)
	v["username"], v["password"] = user, user+"-pw"
	return v
}

const (
	needsRoot = "The user needs the role root. etcd has no lesser role for this. NAME is the user:\n\n  etcdctl user grant-role NAME root"
	grants    = "\n\n  etcdctl role grant-permission ROLE --prefix=true "
)

// Each feature works for the user that the guide makes for it. For a user with fewer
// permissions the error says what is missing.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]func(w *world){
		"membership": func(w *world) {
			learner := member("d")
			learner.Type, learner.Values["wait_until"] = "etcd_learner", "announced"
			ws := driver.New(w, nil, learner)
			up := func(user string, opts ...driver.Option) driver.Result {
				ws.Provider = w.as("a b c", user)
				_, r := ws.Up(w.Context(), w.start(user), opts...)
				return r
			}
			w.fails("add", up("planner"), "Cannot add member d", "permission denied", needsRoot)
			w.expect("members", w.list(), "a b c")
			w.ok(up("terraform"))
			plan, r := ws.Plan(w.Context(), w.start("planner"))
			w.ok(r)
			w.expect("plan", plan.Actions(), "[]")
			for _, user := range []string{"planner", "viewer"} {
				w.fails("remove", up(user, driver.Destroy), "Cannot remove member d", "permission denied", needsRoot)
			}
			w.expect("members", w.list(), "(http://d.example:2380) a b c")
			w.ok(up("terraform", driver.Destroy))
			w.expect("members", w.list(), "a b c")
		},
		"sight": func(w *world) {
			v, r := w.read(w.as("a b c", "viewer"), "etcd_cluster", nil)
			w.ok(r)
			w.expect("what a user without a role sees", driver.Attribute(v, "healthy")+" "+driver.Attribute(v, "failure_tolerance"), `tftypes.Bool<"true"> tftypes.Number<"1">`)
			w.expect("warnings", len(r.Diagnostics), 0)
			cluster := clusterOf("a b c", "one")[:1]
			delete(cluster[0].Values, "revision")
			ws := driver.New(w, w.as("a b c", "planner"), cluster...)
			w.ok(ws.Import(w.Context(), w.start("import"), thisCluster, w.clusterID()))
			_, r = ws.Up(w.Context(), w.start("import"))
			w.ok(r)
			plan, r := ws.Plan(w.Context(), w.start("plan"))
			w.ok(r)
			w.expect("plan", plan.Actions(), "[]")
		},
		"tokens": func(w *world) {
			ws := driver.New(w, nil, driver.Resource{Type: "etcd_discovery_token", Name: "this", Values: driver.Values{"size": 3}})
			up := func(user string, opts ...driver.Option) driver.Result {
				ws.Provider = w.as("a b c", user)
				_, r := ws.Up(w.Context(), w.start(user), opts...)
				return r
			}
			w.fails("create", up("auditor"), "Cannot create the token", "permission denied", grants+"readwrite /_etcd/registry/")
			w.ok(up("discovery"))
			token := driver.Attribute(ws.State("etcd_discovery_token.this").Value, "token")
			_, r := w.read(w.as("a b c", "auditor"), "etcd_discovery_token", driver.Values{"token": token})
			w.ok(r)
			_, r = w.read(w.as("a b c", "viewer"), "etcd_discovery_token", driver.Values{"token": "another"})
			w.fails("read", r, "Cannot read the token", "permission denied", grants+"read /_etcd/registry/")
			w.ok(up("discovery", driver.Destroy))
		},
		"heartbeats": func(w *world) {
			beat, watch := driver.Values{"name": "deploy"}, driver.Values{"watch": "100ms"}
			r := w.open(w.as("a b c", "deployer"), "etcd_heartbeat", beat)
			w.ok(r)
			w.expect("warnings", len(r.Diagnostics), 0)
			w.fails("beat", w.open(w.as("a b c", "watcher"), "etcd_heartbeat", beat), "Cannot start the heartbeat of deploy", grants+"readwrite /running/")
			_, r = w.read(w.as("a b c", "watcher"), "etcd_heartbeats", watch)
			w.ok(r)
			w.expect("warnings", len(r.Diagnostics), 0)
			_, r = w.read(w.as("a b c", "viewer"), "etcd_heartbeats", watch)
			w.fails("watch", r, "Cannot see who beats under /running", grants+"read /running/")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, "a b c", func(w *world) {
				w.secure()
				do(w)
			})
		})
	}
}

// The logins of a run end with the processes of the members. The run logs in again, and
// waits for a machine that boots late.
func TestLoginsEnd(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		s := newSite(w)
		s.apply("form", "a b c", "one", "a b c")
		s.rest(time.Hour)
		w.secure()
		s.ws.Provider = w.as("a b c d", "terraform")
		s.fleet.broken["d"] = true
		go func() {
			clock := w.schedule.Clock("restarts")
			for _, name := range []string{"a", "b", "c"} {
				if clock.Sleep(w.Context(), time.Minute) != nil {
					return
				}
				s.fleet.stop(name)
				s.fleet.start(name)
			}
			if clock.Sleep(w.Context(), time.Minute) == nil {
				s.fleet.start("d")
			}
		}()
		logins := 0
		before := w.network.Before
		w.network.Before = func(ctx context.Context, c etcdsim.Call) error {
			if strings.HasSuffix(c.Method, "/Authenticate") {
				logins++
			}
			return before(ctx, c)
		}
		s.apply("grow", "a b c d", "one", "a b c d")
		if logins < 6 { // one for each member in each life of its process
			t.Errorf("%d logins", logins)
		}
		s.empty("grown")
	})
}
