// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// RecordState is the state of a member's addition.
type RecordState string

const (
	// Intended: the member is about to be added, or was added and the answer
	// never arrived.
	Intended RecordState = "intended"
	// Added: the member with the ID in the record belongs to the owner.
	Added RecordState = "announced"
	// Removed: Terraform removed the owner's member; its node still exists, and may be
	// added again.
	Removed RecordState = "removed"
)

// Record is the ownership record: which owner added which member. It is written
// before the member is added, so that a crash in between loses nothing.
// Adoption and the backstop rely on it, never on names or URLs alone.
type Record struct {
	// Owner is the ID of the member's node, or "name:" and its name if
	// it has none. It is the last part of the record's key.
	Owner string `json:"owner"`
	// Name and PeerURLs are those with which the member is added.
	Name     string   `json:"name"`
	PeerURLs []string `json:"peer_urls"`
	// MemberID is empty while the state is Intended.
	MemberID string      `json:"member_id,omitempty"`
	State    RecordState `json:"state"`
	// Started is true once the member has run on its machine.
	Started bool `json:"started,omitempty"`
	// Awaited is true if the Terraform run that adds the member also waits for
	// its start, so that no state contains the member before that.
	Awaited bool `json:"awaited,omitempty"`

	// Machine is the ID of the machine that runs the member, if it is known.
	Machine string `json:"machine,omitempty"`

	// revision is the record's modification revision, 0 for a new record.
	revision int64
}

// ID returns the member's ID, 0 if none is recorded.
func (r Record) ID() membership.MemberID {
	id, _ := membership.ParseMemberID(r.MemberID)
	return id
}

// Ownership returns what the record says of a member: nothing, if it was not read.
func (r Record) Ownership() membership.Ownership {
	return membership.Ownership{Recorded: r.Owner != "", ID: r.ID(), PeerURLs: r.PeerURLs, Removed: r.State == Removed}
}

// recordKind stores a [Record] at members/<owner>.
var recordKind = kind[Record]{
	what: "ownership record", at: "members/",
	name: func(r Record) string { return r.Owner },
	read: func(r *Record, owner string, kv *mvccpb.KeyValue) error {
		r.revision = kv.ModRevision
		return r.check(owner)
	},
	revision: func(r Record) int64 { return r.revision },
}

// check returns an error if the provider cannot have written the record.
func (r Record) check(owner string) error {
	bad := cmp.Or(plain("the name", r.Name), plain("the machine", r.Machine))
	badOwner := connection.Plain(r.Owner) // a name, possibly with a prefix
	_, badURLs := urlsFrom(r.PeerURLs)
	switch added := r.State == Added || r.State == Removed; {
	case bad != nil:
		return bad
	case badOwner != nil:
		return fmt.Errorf("the owner: %w", badOwner)
	case badURLs != nil:
		return fmt.Errorf("its peer URLs: %w", badURLs)
	case r.Owner != owner:
		return fmt.Errorf("its owner is %s", connection.Quote(r.Owner))
	case !added && r.State != Intended:
		return fmt.Errorf("the state %s is unknown", connection.Quote(string(r.State)))
	case !added && r.MemberID != "":
		return errors.New("a member that is yet to be added has an ID")
	case added && r.ID() == 0:
		return fmt.Errorf("%s is not a member ID", connection.Quote(r.MemberID))
	}
	return nil
}

// Owners returns the owners whose records say that they own the member with the ID. The
// error is a [*Malformed] if a malformed record may say so.
func Owners(ctx context.Context, records Store[Record], id membership.MemberID) (out []string, err error) {
	all, unread, err := records.List(ctx)
	for _, bad := range unread {
		if bad.MayClaim(id) {
			return nil, bad
		}
	}
	for _, r := range all {
		if r.ID() == id && r.State == Added {
			out = append(out, r.Owner)
		}
	}
	return out, err
}

// turnKind stores a replacement in progress at turns/<name>.
var turnKind = kind[membership.Turn]{
	what: "record of a replacement", at: "turns/",
	name:   func(t membership.Turn) string { return t.Name },
	author: func(t *membership.Turn) (*string, *time.Time) { return &t.By, &t.Since },
	read: func(t *membership.Turn, name string, kv *mvccpb.KeyValue) error {
		t.Name, t.Key = name, string(kv.Key)
		if t.Voters < 1 {
			return fmt.Errorf("%d voters", t.Voters)
		}
		return plain("the name", name)
	},
}

// urlChangeKind stores the last change of peer URLs of a member at peer_urls/<member ID>,
// until it is proven.
var urlChangeKind = kind[membership.URLChange]{
	what: "record of a change of peer URLs", at: "peer_urls/",
	name:   func(c membership.URLChange) string { return c.ID.String() },
	author: func(c *membership.URLChange) (*string, *time.Time) { return &c.By, &c.Since },
	read: func(c *membership.URLChange, name string, kv *mvccpb.KeyValue) error {
		var badID, badURL, badBefore error
		c.ID, badID = membership.ParseMemberID(name)
		c.PeerURLs, badURL = urlsFrom(c.PeerURLs)
		c.Before, badBefore = urlsFrom(c.Before)
		c.Revision = kv.ModRevision
		return cmp.Or(badID, badURL, badBefore, plain("the start time", c.Start))
	},
}

// ObjectRecord says which etcd_cluster changes the nodes of the cluster. The cluster has
// one, without a name, at cluster.
type ObjectRecord struct {
	// Object is the id of the etcd_cluster. It is "" if there is no record.
	Object string `json:"object"`
	// By wrote the record at the time Since. Both are for display.
	By    string    `json:"by"`
	Since time.Time `json:"since"`
}

// objectKind stores an [ObjectRecord].
var objectKind = kind[ObjectRecord]{
	what: "record of the etcd_cluster", at: "cluster",
	name:   func(ObjectRecord) string { return "" },
	author: func(r *ObjectRecord) (*string, *time.Time) { return &r.By, &r.Since },
	read:   func(r *ObjectRecord, _ string, _ *mvccpb.KeyValue) error { return plain("the object", r.Object) },
}
