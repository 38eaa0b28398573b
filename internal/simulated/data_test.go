// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// shows fails the test unless an attribute of the data source contains the words.
func (w *world) shows(v tftypes.Value, path, words string) {
	w.Helper()
	if got := driver.Attribute(v, strings.Split(path, ".")...); !strings.Contains(got, words) {
		w.Errorf("%s is %s, want %s", path, got, words)
	}
}

// What the data source shows of a cluster, and what it costs. How an observation becomes
// attributes is tested in package clusterdata, and what servers answer in package cluster.
func TestClusterData(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(w *world)
		asked   int // each member
		shows   map[string]string
	}{
		"all is well": {func(*world) {}, 1, map[string]string{
			"reachable": `"true"`, "healthy": `"true"`, "failure_tolerance": `"1"`, "members.1.name": "b", "members.1.alive": `"true"`, "advice": "<>",
		}},
		"a dead member": {func(w *world) { w.members["c"].PowerOff() }, 1, map[string]string{
			"healthy": `"false"`, "failure_tolerance": `"0"`, "members.2.alive": `"false"`, "members.2.version": "", "voter_endpoints.2": "c.example",
			"advice.0": "does not answer", "advice.1": "No further voter may fail",
		}},
		"a frozen member": {func(w *world) { w.members["c"].Freeze() }, 1, map[string]string{"healthy": `"false"`, "advice.0": "does not answer"}},
		"a learner": {func(w *world) { w.startLearner("l") }, 1, map[string]string{
			"healthy": `"true"`, "members.3.role": "learner", "voters": `"3"`, "advice": "<>",
		}},
		"a learner that does not move": {func(w *world) {
			w.startLearner("l")
			w.members["l"].Stall()
			for range 1200 {
				_, err := w.client("a").Put(w.Context(), "k", "v")
				w.must(err)
			}
		}, 2, map[string]string{"members.3.alive": `"true"`, "advice.0": "entries behind the leader and does not move"}},
		"no quorum": {func(w *world) { w.members["b"].PowerOff(); w.members["c"].PowerOff() }, 1, map[string]string{
			"reachable": `"true"`, "healthy": `"false"`, "survivor.name": "a",
		}},
		"nobody answers": {func(w *world) {
			for _, p := range w.members {
				p.PowerOff()
			}
		}, 0, map[string]string{"reachable": `"false"`, "members": "<>", "advice.0": "The cluster could not be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, "a b c", func(w *world) {
				c.happens(w)
				w.rest(10 * time.Second)
				asked, before := 0, w.network.Before
				w.network.Before = func(ctx context.Context, call etcdsim.Call) error {
					if _, is := call.Request.(*pb.StatusRequest); is && !call.Late && call.Address == etcdsim.ClientURL("a") {
						asked++
					}
					return before(ctx, call)
				}
				begin := time.Now()
				v, r := w.read(driver.Values{"endpoints": w.provider("a b c")["endpoints"], "request_timeout": "2s"}, "etcd_cluster", driver.Values{})
				w.ok(r)
				if took := time.Since(begin); took > 4*time.Second || c.asked > 0 && asked != c.asked {
					t.Errorf("it took %v, and a was asked %d times", took, asked)
				}
				for path, words := range c.shows {
					w.shows(v, path, words)
				}
			})
		})
	}
}

// Where the data source is not read, and what it says then.
func TestClusterDataOfNoCluster(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "a", func(w *world) {
		here := w.provider("a")["endpoints"]
		for says, c := range map[string][2]driver.Values{
			"Add a depends_on with the resource that they come from":              {{"endpoints": driver.Unknown{}}, {}},
			"Neither the provider block nor this block says where the cluster is": {{}, {}},
			"Attribute endpoints list must contain at least 1 elements":           {{}, {"endpoints": []any{}}},
			`endpoints: "ftp://h" has the scheme "ftp"`:                           {{}, {"endpoints": []any{"ftp://h"}}},
		} {
			_, r := w.read(c[0], "etcd_cluster", c[1])
			w.fails(fmt.Sprint(c), r, says)
		}
		v, r := w.read(driver.Values{}, "etcd_cluster", driver.Values{"endpoints": here})
		w.ok(r)
		w.shows(v, "healthy", `"true"`)
	})
}
