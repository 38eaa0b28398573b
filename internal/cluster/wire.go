// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// This file validates the answers of endpoints: a member list, a status or a
// list of keys must pass here before it is used. Package connection limits the
// size of messages.

// Limits of a member list.
const (
	maxMembers = 99
	maxURLs    = 8
)

// listFrom returns the member list in an answer, with normalized URLs. An
// invalid entry refuses the whole list: a part of it would be another list.
func listFrom(resp *pb.MemberListResponse) (memberList, error) {
	if n := len(resp.Members); n > maxMembers {
		return memberList{}, fmt.Errorf("it lists %d members; expected at most %d", n, maxMembers)
	}
	out := memberList{
		cluster: membership.ClusterID(resp.Header.GetClusterId()),
		from:    membership.MemberID(resp.Header.GetMemberId()),
	}
	for _, listed := range resp.Members {
		m, err := memberFrom(listed)
		if err != nil {
			return memberList{}, fmt.Errorf("it lists member %s: %w", membership.MemberID(listed.GetID()), err)
		}
		out.members = append(out.members, m)
	}
	slices.SortFunc(out.members, func(a, b membership.Member) int { return cmp.Compare(a.ID, b.ID) })
	for i, m := range out.members {
		if m.ID == 0 || i > 0 && m.ID == out.members[i-1].ID {
			return memberList{}, fmt.Errorf("it lists member %s twice, or without an ID", m.ID)
		}
	}
	return out, nil
}

// memberFrom returns one member of a list.
func memberFrom(listed *pb.Member) (membership.Member, error) {
	m := membership.Member{ID: membership.MemberID(listed.GetID()), Name: listed.GetName(), Learner: listed.GetIsLearner()}
	if err := connection.PlainName(m.Name); err != nil {
		return m, fmt.Errorf("its name %s: %w", connection.Quote(m.Name), err)
	}
	if len(listed.PeerURLs) == 0 {
		return m, errors.New("it has no peer URL")
	}
	var err error
	if m.PeerURLs, err = urlsFrom(listed.PeerURLs); err != nil {
		return m, fmt.Errorf("a peer URL: %w", err)
	}
	if m.ClientURLs, err = urlsFrom(listed.ClientURLs); err != nil {
		return m, fmt.Errorf("a client URL: %w", err)
	}
	return m, nil
}

func urlsFrom(listed []string) (out []string, err error) {
	if n := len(listed); n > maxURLs {
		return nil, fmt.Errorf("there are %d; expected at most %d", n, maxURLs)
	}
	for _, raw := range listed {
		u, err := membership.ListedURL(raw)
		if err != nil {
			return nil, fmt.Errorf("%s is not a URL that etcd advertises", connection.Quote(raw))
		}
		out = append(out, u)
	}
	return out, nil
}

// checkStatus returns an error if the status cannot come from an etcd server.
func checkStatus(s *clientv3.StatusResponse) error {
	for _, version := range []string{s.Version, (*pb.StatusResponse)(s).GetDowngradeInfo().GetTargetVersion()} {
		if err := connection.PlainName(version); err != nil {
			return fmt.Errorf("its version %s: %w", connection.Quote(version), err)
		}
	}
	return nil
}

// under returns the keys that begin with prefix. It fails if there are more
// keys than the provider ever stores there.
func under(ctx context.Context, kv clientv3.KV, prefix string) ([]*mvccpb.KeyValue, error) {
	resp, err := kv.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(connection.MaxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(resp.Kvs) > connection.MaxKeys {
		return nil, fmt.Errorf("more than %d keys begin with %s", connection.MaxKeys, connection.Quote(prefix))
	}
	for _, at := range resp.Kvs {
		if !strings.HasPrefix(string(at.Key), prefix) {
			return nil, fmt.Errorf("asked for keys that begin with %s, it answers with %s", connection.Quote(prefix), connection.Quote(string(at.Key)))
		}
	}
	return resp.Kvs, nil
}

// format is the number of the format of records and turns. It grows with every
// change that an older version must not misread.
const format = 1

// Malformed means that a key under the metadata prefix does not hold what this
// version of the provider writes: another program or a newer version wrote it.
// Waiting does not help. The meaning of such a key is not known, so it stops
// everything that depends on it, and the provider does not change or delete it.
type Malformed struct {
	// Kind is the expected content of the key, Key the whole key.
	Kind, Key string
	// Value is the beginning of its value, quoted, in ASCII.
	Value string
	// Format is the number of its format, 0 if it has none. Newer is true if
	// that is later than the format of this version.
	Format int
	Newer  bool
	// Err is the reason why it is malformed.
	Err error

	// hint contains the readable fields of a record; legible is false if the
	// member ID cannot be read.
	hint    Record
	legible bool
}

// Error implements error.
func (m *Malformed) Error() string {
	return fmt.Sprintf("the %s %s is not what this version writes: %v (it holds %s)", m.Kind, strconv.QuoteToASCII(m.Key), m.Err, m.Value)
}

// Unwrap returns the reason.
func (m *Malformed) Unwrap() error { return m.Err }

// MayClaim reports whether the record may say that its owner owns the member
// with that ID.
func (m *Malformed) MayClaim(id membership.MemberID) bool {
	return !m.legible || id != 0 && m.hint.ID() == id
}

// SpeaksOf reports whether the record describes a member with that name and
// those peer URLs, as far as it can be read.
func (m *Malformed) SpeaksOf(name string, peerURLs []string) bool {
	return m.hint.Name == name && membership.SameURLs(m.hint.PeerURLs, peerURLs)
}

// NotDeleted means that a key under the metadata prefix could not be deleted,
// or that the answer was lost.
type NotDeleted struct {
	// Key is the whole key, empty if the cluster is not known.
	Key string
	Err error
}

// Error implements error.
func (n *NotDeleted) Error() string { return "cannot delete " + n.Key + ": " + n.Err.Error() }

// Unwrap returns the reason.
func (n *NotDeleted) Unwrap() error { return n.Err }

// malformed returns the error for the value at a key.
func malformed(kind, key string, value []byte, err error) *Malformed {
	m := &Malformed{Kind: kind, Key: key, Value: connection.Quote(string(value)), Err: errors.New(connection.Cut(err.Error()))}
	var hint struct {
		Format int `json:"format"`
		Record
	}
	err = json.Unmarshal(value, &hint) // an error leaves out what it is about
	m.Format, m.Newer, m.hint = hint.Format, hint.Format > format, hint.Record
	object := err == nil && bytes.HasPrefix(bytes.TrimSpace(value), []byte("{"))
	m.legible = object && (hint.MemberID == "" || hint.ID() != 0)
	return m
}

// strictly decodes a value: one JSON object in the format that this version writes, with
// no fields other than those of into.
func strictly(value []byte, into any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(value, &fields); err != nil {
		return err
	}
	of := 0
	_ = json.Unmarshal(fields["format"], &of) // 0 if it is not a number
	if of != format {
		return fmt.Errorf("its format is %d, this version writes %d", of, format)
	}
	delete(fields, "format")
	rest, _ := json.Marshal(fields) // what was decoded can be encoded
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// plain returns an error if s is not fit for display, as all our texts are.
func plain(what, s string) error {
	if err := connection.PlainName(s); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
