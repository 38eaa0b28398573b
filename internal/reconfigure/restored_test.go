// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// A cluster that was restored from a backup has another ID than the original.
// The lock, the turns and the records in the backup stop no operation and count
// for no member.
func TestABackupOfAnotherCluster(t *testing.T) {
	t.Parallel()
	b := start(t, 3, etcdtest.Options{})
	ctx := etcdtest.WaitContext(t)
	before := b.id(t) + 1
	d := b.NewJoiner(t, "d")
	client := b.Client(t)
	_, err1 := client.Put(ctx, membership.MetadataPrefix+before.String()+"/lock", `{"who":"bob@ops2"}`)
	_, err2 := b.engine.Cluster.Turns(before).Put(ctx, membership.Turn{Name: "gone", Voters: 4, Since: time.Now(), By: "bob@ops2"})
	_, err3 := b.engine.Cluster.Records(before).Put(ctx, cluster.Record{
		Owner: "name:d", Name: "d", PeerURLs: []string{d.PeerURL()}, State: cluster.Announced, MemberID: "2a",
	})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	d.Supervise(100 * time.Millisecond)
	r := request(d, reconfigure.Voting)
	if _, err := b.engine.Join(etcdtest.WaitContext(t), r); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Leave(etcdtest.WaitContext(t), b.replace(t, "infra1")); err != nil {
		t.Fatal(err)
	}

}
