// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// Client returns a client of these nodes, or of all nodes if none are named. It
// is closed when the test ends.
func (f *Fleet) Client(names ...string) *clientv3.Client {
	f.TB.Helper()
	cfg := f.clientConfig(names...)
	var client *clientv3.Client
	// A login fails while the leadership changes.
	etcdtest.Eventually(f.TB, fmt.Sprintf("client of %v", cfg.Endpoints), func() (err error) {
		client, err = clientv3.New(cfg)
		return err
	})
	f.TB.Cleanup(func() { _ = client.Close() })
	return client
}

// clientConfig is the configuration of [Fleet.Client].
func (f *Fleet) clientConfig(names ...string) clientv3.Config {
	f.TB.Helper()
	if len(names) == 0 {
		for name := range f.Nodes {
			names = append(names, name)
		}
	}
	var endpoints []string
	for _, name := range names {
		endpoints = append(endpoints, f.Nodes[name].dial())
	}
	slices.Sort(endpoints)
	cfg := clientv3.Config{Endpoints: endpoints, DialTimeout: 2 * time.Second, Logger: zap.NewNop()}
	if t := f.Options.TLS; t != nil {
		cfg.TLS = t.ClientConfig(t.Client("root"))
	}
	if f.authEnabled {
		cfg.Username, cfg.Password = "root", f.Options.Password
		cfg.DialTimeout = 30 * time.Second // for the login, which waits for a member that restarts
	}
	return cfg
}

// Members returns the member list by a linearizable read, which may have to wait
// for an election.
func (f *Fleet) Members() []*etcdserverpb.Member {
	f.TB.Helper()
	var resp *clientv3.MemberListResponse
	etcdtest.Eventually(f.TB, "member list", func() (err error) {
		resp, err = f.Client().MemberList(etcdtest.WaitContext(f.TB))
		return err
	})
	return resp.Members
}

// MustVote fails the test unless exactly the nodes are listed and all of them are voters,
// and waits until each one answers a linearizable read.
func (f *Fleet) MustVote() {
	f.TB.Helper()
	var got []string
	members := f.Members()
	for _, m := range members {
		if !m.IsLearner {
			got = append(got, m.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, f.names()) || len(members) != len(got) {
		f.TB.Fatalf("the voters are %v of %d members, want %v", got, len(members), f.names())
	}
	for _, name := range got {
		f.MustServe(name)
	}
}

// Writer starts a writer to the cluster, which begins with the nodes that there are and
// follows the members.
func (f *Fleet) Writer(interval time.Duration) *etcdtest.Writer {
	f.TB.Helper()
	return etcdtest.NewWriter(f.TB, f.clientConfig(), interval)
}

// MustNotPause stops the writer. It fails the test if no write was acknowledged for much
// longer than elections take on a busy machine, which may follow one another, or if an
// acknowledged write is lost. A quorum that is lost does not come back by itself.
func (f *Fleet) MustNotPause(w *etcdtest.Writer) {
	f.TB.Helper()
	w.Stop()
	if gap := w.LongestGap(time.Time{}); gap.Duration() > 30*time.Second {
		n, err := w.Failures()
		f.TB.Errorf("writes paused: %v (%d failed, the last with: %v)", gap, n, err)
	}
	lost, err := w.Lost(etcdtest.WaitContext(f.TB), f.Client())
	if err != nil || len(lost) > 0 {
		f.TB.Errorf("acknowledged and lost: %d writes; %v", len(lost), err)
	}
}

// expireLock expires a lock whose holder was killed: it revokes the lease,
// which would expire by itself 20 s after the last heartbeat.
func (f *Fleet) expireLock() {
	f.TB.Helper()
	ctx, client := etcdtest.WaitContext(f.TB), f.Client()
	lock, err := client.Get(ctx, "/_terraform/etcd/"+f.ClusterID()+"/lock")
	if err == nil && len(lock.Kvs) > 0 {
		_, err = client.Revoke(ctx, clientv3.LeaseID(lock.Kvs[0].Lease))
	}
	must.Succeed(f.TB, err)
}

// MustServe waits until a member answers a linearizable read.
func (f *Fleet) MustServe(name string) {
	f.TB.Helper()
	client := f.Client(name)
	etcdtest.Eventually(f.TB, name+" serves", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err := client.Get(ctx, "acctest")
		return err
	})
}

// MemberIDs returns the members' IDs by name.
func (f *Fleet) MemberIDs() map[string]uint64 {
	f.TB.Helper()
	out := map[string]uint64{}
	for _, m := range f.Members() {
		out[m.Name] = m.ID
	}
	return out
}

// MustHaveReplaced fails the test unless exactly the IDs of these members have
// changed.
func (f *Fleet) MustHaveReplaced(before map[string]uint64, names ...string) {
	f.TB.Helper()
	for name, id := range f.MemberIDs() {
		if (before[name] != id) != slices.Contains(names, name) {
			f.TB.Errorf("%s was %x and is %x; only %v were to be replaced", name, before[name], id, names)
		}
	}
}

// ClusterID returns the ID of the cluster in hexadecimal.
func (f *Fleet) ClusterID() string {
	f.TB.Helper()
	list, err := f.Client().MemberList(etcdtest.WaitContext(f.TB))
	must.Succeed(f.TB, err)
	return fmt.Sprintf("%x", list.Header.ClusterId)
}
