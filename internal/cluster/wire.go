// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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

func urlsFrom(listed []string) ([]string, error) {
	if n := len(listed); n > maxURLs {
		return nil, fmt.Errorf("there are %d; expected at most %d", n, maxURLs)
	}
	var out []string
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

// elsewhere returns what a transaction read because its comparison failed, nil
// if it read nothing.
func elsewhere(resp *clientv3.TxnResponse) []*mvccpb.KeyValue {
	if len(resp.Responses) == 0 {
		return nil
	}
	return resp.Responses[0].GetResponseRange().GetKvs()
}
