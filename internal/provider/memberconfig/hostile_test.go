// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// decided creates the configuration of a new member d, through the endpoints of s.
func decided(t *testing.T, s connection.Settings) (model, *text.Message) {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	s.DialTimeout, s.RequestTimeout = time.Second, 3*time.Second
	c, err := (&backend.Backend{Run: backend.NewRun(), Pool: pool, Settings: s}).Cluster(nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx := etcdtest.WaitContext(t)
	set := func(values ...string) types.Set {
		out, _ := types.SetValueFrom(ctx, types.StringType, values)
		return out
	}
	m := model{
		Name: types.StringValue("d"), PeerURLs: set("http://10.0.0.4:2380"), ClientURLs: set("http://10.0.0.4:2379"),
		ListenPeerURLs: types.SetNull(types.StringType), ListenClientURLs: types.SetNull(types.StringType), JoinPeerURLs: types.SetNull(types.StringType),
		Bootstrap: types.ObjectNull(bootstrap.AttrTypes()),
	}
	var diags diag.Diagnostics
	m.fromCluster(ctx, backend.NewRun(), c, &diags)
	for _, d := range diags {
		return m, &text.Message{Summary: d.Summary(), Detail: d.Detail()}
	}
	return m, nil
}

// A lying member of three does not affect the settings of a new machine, and
// the word of the only reachable member is not enough to create anything.
func TestNothingIsRenderedOnOneWord(t *testing.T) {
	t.Parallel()
	b := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	liar := etcdtest.NewLiar(t, "127.0.0.10", etcdtest.Lies{})
	b.Advertise(t, b.Member("c"), liar.URL)
	lies := etcdtest.Truth(t, b.Member("c"))
	for _, m := range lies.Members.Members {
		if m.Name == "c" {
			m.PeerURLs = []string{"http://127.0.0.66:2380"}
		}
	}
	liar.Tell(lies)
	m, words := decided(t, connection.Settings{Endpoints: b.Endpoints()[:2]})
	if words != nil {
		t.Fatalf("it is refused: %v", words)
	}
	env := m.Environment.String()
	if strings.Contains(env, "127.0.0.66") || !strings.Contains(m.InitialCluster.ValueString(), "c="+b.Member("c").PeerURL()) {
		t.Errorf("the environment is %s, the initial cluster %s", env, m.InitialCluster)
	}

	lies.Members.Members[0].PeerURLs = []string{"http://a:2380\nbootcmd: [reboot]"}
	liar.Tell(lies)
	if m, words = decided(t, connection.Settings{Endpoints: b.Endpoints()[:2]}); words != nil || strings.Contains(m.Environment.String(), "bootcmd") {
		t.Errorf("%v: %s", words, m.Environment)
	}

	alone := connection.Settings{Endpoints: b.Endpoints()[:1], AddressMap: map[string]string{}}
	for _, e := range append(b.Endpoints()[1:], liar.URL) {
		alone.AddressMap[e] = b.Endpoints()[0]
	}
	if m, words = decided(t, alone); words == nil || words.Summary != "Cannot configure member d" || !strings.Contains(words.Detail, "address_map") {
		t.Errorf("through one address: %v, %s", words, m.Environment)
	}
}
