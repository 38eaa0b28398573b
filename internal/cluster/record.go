// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

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

// ErrRecordChanged means that the record was changed since it was read: another
// Terraform run works on the same member.
var ErrRecordChanged = errors.New("the ownership record was changed by another run")

// Records stores the ownership records of one cluster in the cluster itself, at
// <metadata prefix><cluster ID>/members/<owner>.
type Records interface {
	// Get returns the record of an owner; ok is false if there is none. The
	// error is a [*Malformed] if the key holds something else.
	Get(ctx context.Context, owner string) (r Record, ok bool, err error)
	// Put writes the record in place of the given records of other owners, if
	// none of them has changed since it was read, and returns the record as
	// stored. Otherwise the error is [ErrRecordChanged]. A wait puts an
	// unchanged record to send a small write through the cluster.
	Put(ctx context.Context, r Record, instead ...Record) (Record, error)
	// List returns all records, sorted by owner, and the malformed ones.
	List(ctx context.Context) ([]Record, []*Malformed, error)
	// Owners returns the owners whose records say that they own the member with
	// the ID. The error is a [*Malformed] if a malformed record may say so.
	Owners(ctx context.Context, id membership.MemberID) ([]string, error)
	// Delete deletes the record of an owner, whatever its value. The error is a
	// [*NotDeleted].
	Delete(ctx context.Context, owner string) error
}

type records struct{ metadata }

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

// parse reads a record. The error is a [*Malformed].
func (s records) parse(kv *mvccpb.KeyValue) (Record, error) {
	var r stored
	err := read(kindRecord, kv, &r, &r.Format, func() error { return r.check(strings.TrimPrefix(string(kv.Key), s.prefix)) })
	if err != nil {
		return Record{}, err
	}
	r.revision = kv.ModRevision
	return r.Record, nil
}

func (s records) Get(ctx context.Context, owner string) (Record, bool, error) {
	var at []*mvccpb.KeyValue
	err := s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Get(ctx, s.key(owner))
		if err == nil {
			at = resp.Kvs
		}
		return err
	})
	if err != nil || len(at) == 0 {
		return Record{}, false, err
	}
	r, err := s.parse(at[0])
	return r, err == nil, err
}

func (s records) Put(ctx context.Context, r Record, instead ...Record) (Record, error) {
	if err := r.check(r.Owner); err != nil {
		return r, err
	}
	value, err := json.Marshal(stored{format, r})
	if err != nil {
		return r, err
	}
	unchanged := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(s.key(r.Owner)), "=", r.revision)}
	write := []clientv3.Op{clientv3.OpPut(s.key(r.Owner), string(value))}
	for _, other := range instead {
		unchanged = append(unchanged, clientv3.Compare(clientv3.ModRevision(s.key(other.Owner)), "=", other.revision))
		write = append(write, clientv3.OpDelete(s.key(other.Owner)))
	}
	err = s.each(ctx, func(ctx context.Context, kv *clientv3.Client) error {
		resp, err := kv.Txn(ctx).
			If(unchanged...).
			Then(write...).
			Else(clientv3.OpGet(s.key(r.Owner))).
			Commit()
		if err != nil {
			return err
		}
		if resp.Succeeded {
			r.revision = resp.Header.Revision
			return nil
		}
		// A write whose answer was lost, and that was sent again through
		// another endpoint, finds its own value.
		if kvs := elsewhere(resp); len(kvs) == 1 && string(kvs[0].Value) == string(value) {
			r.revision = kvs[0].ModRevision
			return nil
		}
		return ErrRecordChanged
	})
	return r, err
}

func (s records) List(ctx context.Context) ([]Record, []*Malformed, error) {
	kvs, err := s.list(ctx)
	var out []Record
	var unread []*Malformed
	for _, kv := range kvs {
		r, err := s.parse(kv)
		if bad, ok := errors.AsType[*Malformed](err); ok {
			unread = append(unread, bad)
			continue
		}
		out = append(out, r)
	}
	return out, unread, err
}

func (s records) Owners(ctx context.Context, id membership.MemberID) ([]string, error) {
	all, unread, err := s.List(ctx)
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
