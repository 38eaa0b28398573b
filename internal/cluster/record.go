// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"

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
