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
	// Announced: the member with the ID in the record belongs to the owner.
	Announced RecordState = "announced"
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
	id, err := membership.ParseMemberID(r.MemberID)
	if err != nil {
		return 0
	}
	return id
}

// recordKind stores a [Record] at members/<owner>.
var recordKind = kind[Record]{
	what: "ownership record", at: "members/",
	form: func(r Record) (string, any) { return r.Owner, stored{format, r} },
	read: func(owner string, kv *mvccpb.KeyValue) (Record, error) {
		var r stored
		if err := strictly(kv.Value, &r, &r.Format); err != nil {
			return Record{}, err
		}
		r.revision = kv.ModRevision
		return r.Record, r.check(owner)
	},
	revision: func(r Record) int64 { return r.revision },
}

// stored is the stored form of a [Record].
type stored struct {
	Format int `json:"format"`
	Record
}

// check returns an error if the provider cannot have written the record.
func (r Record) check(owner string) error {
	errs := []error{plain("the name", r.Name), plain("the machine", r.Machine)}
	if err := connection.Plain(r.Owner); err != nil { // a name, possibly with a prefix
		errs = append(errs, fmt.Errorf("the owner: %w", err))
	}
	if _, err := urlsFrom(r.PeerURLs); err != nil {
		errs = append(errs, fmt.Errorf("its peer URLs: %w", err))
	}
	if r.Owner != owner {
		errs = append(errs, fmt.Errorf("its owner is %s", connection.Quote(r.Owner)))
	}
	switch r.State {
	case Intended:
		if r.MemberID != "" {
			errs = append(errs, errors.New("a member that is yet to be added has an ID"))
		}
	case Announced, Removed:
		if r.ID() == 0 {
			errs = append(errs, fmt.Errorf("%s is not a member ID", connection.Quote(r.MemberID)))
		}
	default:
		errs = append(errs, fmt.Errorf("the state %s is unknown", connection.Quote(string(r.State))))
	}
	return cmp.Or(errs...)
}

// Owners returns the owners whose records say that they own the member with the ID. The
// error is a [*Malformed] if a malformed record may say so.
func Owners(ctx context.Context, records Records, id membership.MemberID) ([]string, error) {
	all, unread, err := records.List(ctx)
	for _, bad := range unread {
		if bad.MayClaim(id) {
			return nil, bad
		}
	}
	var out []string
	for _, r := range all {
		if r.ID() == id && r.State == Announced {
			out = append(out, r.Owner)
		}
	}
	return out, err
}

// turnKind stores a replacement in progress at turns/<name>.
var turnKind = kind[membership.Turn]{
	what: "record of a replacement", at: "turns/",
	form: func(t membership.Turn) (string, any) {
		by, since := displayed(t.By, t.Since)
		return t.Name, turn{format, t.Voters, since, by}
	},
	read: func(name string, kv *mvccpb.KeyValue) (membership.Turn, error) {
		var t turn
		err := strictly(kv.Value, &t, &t.Format)
		if err == nil && t.Voters < 1 {
			err = fmt.Errorf("%d voters", t.Voters)
		}
		err = cmp.Or(err, plain("the name", name), plain("the author", t.By))
		return membership.Turn{Name: name, Voters: t.Voters, Since: t.Since, By: t.By, Key: string(kv.Key)}, err
	},
}

// turn is the stored form of a [membership.Turn].
type turn struct {
	Format int       `json:"format"`
	Voters int       `json:"voters"`
	Since  time.Time `json:"since"`
	By     string    `json:"by"`
}

// urlChangeKind stores the last change of peer URLs of a member at peer_urls/<member ID>,
// until it is proven.
var urlChangeKind = kind[membership.URLChange]{
	what: "record of a change of peer URLs", at: "peer_urls/",
	form: func(c membership.URLChange) (string, any) {
		by, since := displayed(c.By, c.Since)
		return c.ID.String(), urlChange{format, c.PeerURLs, c.Before, c.Start, since, by}
	},
	read: func(name string, kv *mvccpb.KeyValue) (membership.URLChange, error) {
		var c urlChange
		err := strictly(kv.Value, &c, &c.Format)
		id, badID := membership.ParseMemberID(name)
		urls, badURL := urlsFrom(c.PeerURLs)
		before, badBefore := urlsFrom(c.Before)
		err = cmp.Or(err, badID, badURL, badBefore, plain("the author", c.By), plain("the start time", c.Start))
		return membership.URLChange{ID: id, PeerURLs: urls, Before: before, Start: c.Start, Since: c.Since, By: c.By, Revision: kv.ModRevision}, err
	},
}

// urlChange is the stored form of a [membership.URLChange].
type urlChange struct {
	Format   int       `json:"format"`
	PeerURLs []string  `json:"peer_urls"`
	Before   []string  `json:"before,omitempty"`
	Start    string    `json:"start,omitempty"`
	Since    time.Time `json:"since"`
	By       string    `json:"by"`
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
	form: func(r ObjectRecord) (string, any) {
		r.By, r.Since = displayed(r.By, r.Since)
		return "", storedObject{format, r}
	},
	read: func(_ string, kv *mvccpb.KeyValue) (ObjectRecord, error) {
		var r storedObject
		err := strictly(kv.Value, &r, &r.Format)
		return r.ObjectRecord, cmp.Or(err, plain("the object", r.Object), plain("the author", r.By))
	},
}

// storedObject is the stored form of an [ObjectRecord].
type storedObject struct {
	Format int `json:"format"`
	ObjectRecord
}
