// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

const (
	infra1 membership.MemberID = 0x8e9e05c52164694c + iota
	infra2
	infra3
)

func TestMaintenance(t *testing.T) {
	s := seen(ok, ok, silent)
	refused := func(c membership.Code, f membership.Facts) error {
		return &reconfigure.Refusal{Decision: membership.Decision{Code: c, Facts: f}, Snapshot: s}
	}
	about := func(id membership.MemberID) membership.Facts { return membership.Facts{Subject: id} }
	others := func(ids ...membership.MemberID) membership.Facts {
		return membership.Facts{Subject: infra1, Others: ids}
	}
	stopped := func(action string, err error, done, left []membership.MemberID) error {
		return &reconfigure.Unfinished{Action: reconfigure.Action(action), Member: infra2, Done: done, Remaining: left, Snapshot: s, Err: err}
	}
	const (
		who1 = "infra1 (8e9e05c52164694c)"
		who2 = "infra2 (8e9e05c52164694d)"
		who3 = "infra3 (8e9e05c52164694e)"
		down = who3 + " does not answer (https://10.0.1.13:2379: connection refused)."
	)
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no member": {refused(membership.NotMember, about(0x9)), "The cluster has no member 9."},
		"learner, served": {
			refused(membership.LearnerUnserved, about(infra2)),
			who2 + " is a learner, and etcd lets none be defragmented while it runs. Nothing was changed. Leave it out of members; or stop it, and defragment its data directory (etcdutl defrag).",
		},
		"no directory": {&reconfigure.NoDirectory{Path: "backup"}, "There is no directory backup on the machine that runs Terraform. Make it first, or choose another path."},
		"not alive":    {refused(membership.NotAlive, about(infra3)), down + " Bring it back, or choose another member."},
		"lagging": {
			refused(membership.Lagging, membership.Facts{Subject: infra2, Lag: 5000, MaxLag: 1000}),
			who2 + " is 5000 entries behind the leader; 1000 are allowed. Try again when it has caught up.",
		},
		"others down": {
			refused(membership.OthersNotActive, others(infra3)),
			"A member does not answer while it is defragmented, so every other one must be healthy. " + down + " Bring back what is down, or remove it from the cluster first.",
		},
		"interrupts": {
			refused(membership.Interrupts, membership.Facts{Subject: infra1, Voters: 2, Quorum: 2, Alive: 1}),
			"While " + who1 + " is defragmented it does not answer: 1 of 2 voters would be left; quorum is 2, so the cluster would stop for that time. Add members first; or, if that is acceptable now, set allow_interruption = true.",
		},
		"list moved": {
			refused(membership.ListMoved, about(0)),
			"The member list could not be confirmed, or changed while the members were asked: another process is changing this cluster. Wait until it has finished, then try again.",
		},
		"failed first": {
			stopped("defragment", context.DeadlineExceeded, nil, []membership.MemberID{infra1}),
			who2 + " failed: no answer in time. No member was defragmented before it, infra1 was not touched. It may be at it still: look at its log, and see that it serves again, before you try once more.",
		},
		"failed last": {
			stopped("defragment", errors.New("rpc error"), []membership.MemberID{infra1, infra3}, nil),
			who2 + " failed: rpc error. infra1 and infra3 were before it, it was the last. It may be at it still: look at its log, and see that it serves again, before you try once more.",
		},
		"half a snapshot": {
			stopped("save", &reconfigure.BadSnapshot{Size: 1000}, nil, nil),
			"What " + who2 + " sent is no whole snapshot: 1000 bytes were received, which is no whole database with a hash behind it. No file was made. Try again, or from another member.",
		},
		"another hash": {
			stopped("save", &reconfigure.BadSnapshot{Size: 1024, Got: "aa", Want: "bb"}, nil, nil),
			"What " + who2 + " sent is no whole snapshot: the database has the hash aa, and bb is what stands behind it. No file was made. Try again, or from another member.",
		},
		"disk full": {
			stopped("save", &fs.PathError{Op: "write", Path: "/x", Err: errors.New("no space left on device")}, nil, nil),
			"The data of " + who2 + " could not be saved: write /x: no space left on device. No file was made.",
		},
		"there meanwhile": {
			stopped("save", &fs.PathError{Op: "link", Path: "/x", Err: fs.ErrExist}, nil, nil),
			"/x is there already, and was left alone. Choose another path, such as one with the time in it; or set overwrite = true. If a restore needs the file, move it to another place first: overwrite replaces it.",
		},
		"lock lost": {
			&reconfigure.LockLost{Lost: &claim.LostError{Key: "/lock"}},
			"This run lost the lock on membership changes, which it held: /lock was lost, it is gone. It stopped before its next step. Invoke it again.",
		},
		"permission":  {cluster.ErrPermission, "The cluster denied it: permission denied. Nothing was changed.\n\n" + grantRoot},
		"interrupted": {context.Canceled, "It was interrupted."},
		"other":       {errors.New("some other thing"), "Some other thing."},
	} {
		got := Maintenance("do it", tt.err)
		if got.Summary != "Cannot do it" || got.Detail != tt.want {
			t.Errorf("%s: %s\n got %s\nwant %s", name, got.Summary, got.Detail, tt.want)
		}
	}

	two := seen(ok, ok)
	two.Members[1].Name = "infra1"
	for _, tt := range []struct {
		got, want Message
	}{
		{MaintenanceMember("to", "x", nil, s), Message{"No such member", `to = "x" is neither the name nor the ID of a member. The cluster has ` + who1 + ", " + who2 + " and " + who3 + "."}},
		{MaintenanceMember("to", "infra1", two.Find("infra1"), two), Message{"Several members of one name", `to = "infra1" is the name of ` + who1 + " and infra1 (8e9e05c52164694d). Give the ID of the one that is meant."}},
		{snapshotFile("Cannot save", &fs.PathError{Path: "/b/etcd.db", Err: fs.ErrExist}), Message{
			"Cannot save", "/b/etcd.db is there already, and was left alone. Choose another path, such as one with the time in it; or set overwrite = true. If a restore needs the file, move it to another place first: overwrite replaces it.",
		}},
		{UnknownProvider("list members"), Message{
			"Cannot list members", "The provider's configuration holds values that are not known yet, so there is no cluster to ask. Apply what they come from first.",
		}},
		{ListUnconfirmed, Message{
			"The list may be behind",
			`It is what those who answer have, and no quorum has confirmed it: members may have been added or removed since. Check the cluster (data "etcd_cluster") before anything is imported.`,
		}},
		{SnapshotStale(membership.Warning{Code: membership.NoLeader, Facts: membership.Facts{Voters: 3, Quorum: 2}}, infra1, s), Message{
			"The snapshot may be behind",
			"It is of " + who1 + " alone, with no quorum behind it. A quorum of the voters (2 of 3) must name one leader and serve reads. infra1 (8e9e05c52164694c) names infra1 in term 7; " +
				"infra2 (8e9e05c52164694d) names infra1 in term 7; infra3 (8e9e05c52164694e) does not answer (https://10.0.1.13:2379: connection refused). " +
				"An election takes a second or two. If this lasts, look at the network between the members.",
		}},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %+v\nwant %+v", tt.got, tt.want)
		}
	}

	for _, tt := range []struct {
		step reconfigure.Step
		want string
	}{
		{reconfigure.Step{Kind: reconfigure.StepDefragment, Remaining: 2}, "Defragmenting " + who1 + ", 2 left after it."},
		{reconfigure.Step{Kind: reconfigure.StepDefragmented, Took: 1500 * time.Millisecond}, "Defragmented " + who1 + " in 1.5s."},
		{reconfigure.Step{Kind: reconfigure.StepDefragmented, Took: time.Second, Bytes: 500, Total: 1536}, "Defragmented " + who1 + " in 1s: its database went from 1.5 KiB to 500 B."},
		{reconfigure.Step{Kind: reconfigure.StepLeaveOut}, "Leaving out " + who1 + ": it is a learner, and etcd lets none be defragmented while it runs."},
	} {
		tt.step.Member, tt.step.Snapshot = infra1, s
		if got := Progress(tt.step); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
