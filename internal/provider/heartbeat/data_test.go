// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package heartbeat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// output returns an output value of the state.
func (b *bench) output(t *testing.T, name string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b.Run("output", "-json", name).MustSucceed().Stdout, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// beat sends heartbeats as name, with a short interval, until it is stopped.
func (b *bench) beat(t *testing.T, name string) *claim.Claim {
	t.Helper()
	c, err := claim.Start(context.Background(), b.store, clock.System{}, claim.Options{
		Key: "/running/" + name, Value: "value of " + name, TTL: 20 * time.Second, Interval: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop(context.Background()) })
	return c
}

// Live, missing and unexpected names, and the events during the watch, on both
// APIs.
func TestAccHeartbeats(t *testing.T) {
	for _, c := range []struct {
		api     string
		version etcdtest.Version
	}{{"v2", etcdtest.V35}, {"v3", etcdtest.V35}, {"v3", etcdtest.V36}, {"v3", etcdtest.V37}} {
		if !etcdtest.Runs(c.version) {
			continue
		}
		t.Run(c.api+" on "+string(c.version), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.version, c.api, fmt.Sprintf(`
				data "etcd_heartbeats" "all" {
				  api      = %q
				  expected = ["web1", "web2", "web3"]
				  watch    = "4s"
				}
				data "etcd_heartbeats" "now" {
				  api = %q
				}
				data "etcd_heartbeats" "nobody" {
				  api      = %q
				  prefix   = "/running/else"
				  expected = ["web1"]
				}
				output "all" { value = data.etcd_heartbeats.all }
				output "now" { value = data.etcd_heartbeats.now }
				output "nobody" { value = data.etcd_heartbeats.nobody }
			`, c.api, c.api, c.api))
			web1, stranger := b.beat(t, "web1"), b.beat(t, "stranger")
			run := b.Start("apply")
			// A process starts and dies repeatedly, so that every watch of the
			// Terraform run sees both.
			etcdtest.Eventually(t, "the run ends", func() error {
				if !run.Ended() {
					_, _ = b.store.Create(context.Background(), "/running/web2", "short", time.Second)
					return errors.New("it has not ended")
				}
				return nil
			})
			run.Wait().MustSucceed().MustBeQuiet()
			all, ok := b.output(t, "all").(map[string]any)
			if !ok {
				t.Fatalf("%v", b.output(t, "all"))
			}
			alive, _ := all["alive"].(map[string]any)
			delete(alive, "web2") // may be alive or not
			for name, v := range alive {
				e, _ := v.(map[string]any)
				if left, ok := e["ttl_left"].(float64); !ok || left < 15 || left > 20 || e["value"] != "value of "+name {
					t.Errorf("%s: %v", name, v)
				}
			}
			if len(alive) != 2 || alive["web1"] == nil || alive["stranger"] == nil {
				t.Errorf("alive: %v", alive)
			}
			if !reflect.DeepEqual(all["unexpected"], []any{"stranger"}) || !strings.Contains(fmt.Sprint(all["missing"]), "web3") || strings.Contains(fmt.Sprint(all["missing"]), "web1") {
				t.Errorf("missing %v, unexpected %v", all["missing"], all["unexpected"])
			}
			kinds := map[string]int{}
			events, _ := all["events"].([]any)
			for _, v := range events {
				e, _ := v.(map[string]any)
				kinds[fmt.Sprintf("%s %s %s", e["name"], e["kind"], e["value"])]++
			}
			if kinds["web1 beat value of web1"] < 5 || kinds["stranger beat value of stranger"] < 5 || kinds["web2 started short"] == 0 || kinds["web2 missed short"] == 0 {
				t.Errorf("events: %v", kinds)
			}
			if now, _ := b.output(t, "now").(map[string]any); fmt.Sprint(now["missing"], now["unexpected"], now["events"]) != "[] [] []" || !strings.Contains(fmt.Sprint(now["alive"]), "web1:map[") {
				t.Errorf("now: %v", now)
			}
			if nobody, _ := b.output(t, "nobody").(map[string]any); fmt.Sprint(nobody["missing"], nobody["alive"]) != "[web1] map[]" {
				t.Errorf("nobody: %v", nobody)
			}
			for _, c := range []*claim.Claim{web1, stranger} {
				if err := c.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The example for check blocks: a server that misses its beat is a warning at
// plan and at apply, a server that beats is not.
func TestAccHeartbeatsInACheck(t *testing.T) {
	t.Parallel()
	b := newBench(t, etcdtest.V37, "v3", `
check "web_servers_beat" {
  data "etcd_heartbeats" "web" {
    expected = ["web1", "web2"]
  }

  assert {
    condition     = length(data.etcd_heartbeats.web.missing) == 0
    error_message = "No beat from ${join(", ", data.etcd_heartbeats.web.missing)}."
  }
}
`)
	b.beat(t, "web1")
	web2, err := b.store.Create(context.Background(), "/running/web2", "last beat", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	b.Apply().MustSucceed().MustBeQuiet()
	// From now on it does not beat.
	if err := b.store.Delete(context.Background(), web2); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Create(context.Background(), "/running/web2", "last beat", time.Second); err != nil {
		t.Fatal(err)
	}
	etcdtest.Eventually(t, "web2 misses its beat", func() error {
		if got := b.seen(); !slices.Contains(got, "web2 missed") {
			return fmt.Errorf("%q", got)
		}
		return nil
	})
	plan := b.Plan()
	for what, o := range map[string]*acctest.Outcome{"plan": plan.Outcome, "apply": b.Apply().MustSucceed()} {
		warnings := o.Warnings()
		if len(warnings) != 1 || warnings[0].Summary != "Check block assertion failed" || warnings[0].Detail != "No beat from web2." {
			t.Errorf("%s: %v", what, warnings)
		}
	}
	// A cluster that does not respond is a warning there, too.
	b.configure("http://127.0.0.1:1", b.Read("main.tf")[strings.Index(b.Read("main.tf"), "check"):])
	warnings := b.Apply().MustSucceed().Warnings()
	found := false
	for _, w := range warnings {
		found = found || w.Summary == "Cannot see who beats under /running" &&
			w.Detail == "The cluster does not answer. Nothing was changed. Check that its machines run and can be reached from here.\n\nThe endpoints answered:\n  - http://127.0.0.1:1: connection refused"
	}
	if !found {
		t.Errorf("without a cluster: %v", warnings)
	}
}

func TestAccHeartbeatBadInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, etcdtest.V36, "v3", "")
	endpoint := cut(b.Read("main.tf"), `endpoints = ["`, `"`)
	for _, test := range []struct{ config, summary, detail string }{
		{`ephemeral "etcd_heartbeat" "x" { name = "" }`, "Invalid name of a heartbeat", `name = "" is empty. It becomes the last part of a key, such as /running/web1.`},
		{`ephemeral "etcd_heartbeat" "x" { name = "a/b" }`, "Invalid name of a heartbeat", `name = "a/b" contains a slash. It becomes the last part of a key, such as /running/web1.`},
		{`ephemeral "etcd_heartbeat" "x" { name = "_a" }`, "Invalid name of a heartbeat", `name = "_a" begins with an underscore, which hides a key on the v2 API. It becomes the last part of a key, such as /running/web1.`},
		{"ephemeral \"etcd_heartbeat\" \"x\" {\n name = \"a\"\n value = \"\"\n}", "Invalid Attribute Value Length", "Attribute value string length must be at least 1, got: 0"},
		{"ephemeral \"etcd_heartbeat\" \"x\" {\n name = \"a\"\n ttl = \"1500ms\"\n}", "Time to live too short", `ttl = "1500ms" is less than 2s, the least that etcd keeps a claim for. Several beats must fit into it.`},
		{"ephemeral \"etcd_heartbeat\" \"x\" {\n name = \"a\"\n ttl = \"soon\"\n}", "Invalid duration", `ttl is "soon", which is not a duration of more than zero. Expected a number with a unit, such as 500ms, 90s, 5m or 1h30m.`},
		{"ephemeral \"etcd_heartbeat\" \"x\" {\n name = \"a\"\n ttl = \"10s\"\n interval = \"6s\"\n}", "Interval too long", `interval = "6s" is more than half of ttl (10s): one beat that comes late would be one too many. Leave interval out to have a third of ttl.`},
		{"ephemeral \"etcd_heartbeat\" \"x\" {\n name = \"a\"\n api = \"v4\"\n}", "Invalid Attribute Value Match", `Attribute api value must be one of: ["v3" "v2"], got: "v4"`},
		{"ephemeral \"etcd_heartbeat\" \"x\" {\n name = \"a\"\n prefix = \"running\"\n}", "Invalid prefix of heartbeats", `prefix = "running" does not begin with "/". It is an absolute key without a slash at its end, such as /running.`},
		{`data "etcd_heartbeats" "x" { prefix = "/" }`, "Invalid prefix of heartbeats", `prefix = "/" is the root of the key space. It is an absolute key without a slash at its end, such as /running.`},
		{`data "etcd_heartbeats" "x" { prefix = "/running/" }`, "Invalid prefix of heartbeats", `prefix = "/running/" ends with "/". It is an absolute key without a slash at its end, such as /running.`},
		{`data "etcd_heartbeats" "x" { api = "v2" }`, "Cannot see who beats under /running", "Nothing was changed. Set api = \"v3\", or give the endpoints of servers with the v2 API.\n\n" +
			"The endpoints answered:\n  - " + endpoint + ": does not serve the v2 API; etcd 3.4 and 3.5 do with --enable-v2, 3.6 and later never"},
	} {
		b.configure(endpoint, test.config)
		got := b.Plan().MustSay(test.summary)
		if got.Detail != test.detail {
			t.Errorf("%s:\ngot  %s\nwant %s", test.config, got.Detail, test.detail)
		}
	}
}
