// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/memberurl"
)

type model struct {
	ID                      types.String  `tfsdk:"id"`
	Name                    types.String  `tfsdk:"name"`
	PeerURLs                types.Set     `tfsdk:"peer_urls"`
	ClientURLs              types.Set     `tfsdk:"client_urls"`
	ListenPeerURLs          types.Set     `tfsdk:"listen_peer_urls"`
	ListenClientURLs        types.Set     `tfsdk:"listen_client_urls"`
	Bootstrap               types.Object  `tfsdk:"bootstrap"`
	JoinPeerURLs            types.Set     `tfsdk:"join_peer_urls"`
	TriggersReplace         types.Dynamic `tfsdk:"triggers_replace"`
	ReplaceUnreachableAfter types.String  `tfsdk:"replace_unreachable_after"`

	Founder        types.Bool   `tfsdk:"founder"`
	Environment    types.Map    `tfsdk:"environment"`
	InitialCluster types.String `tfsdk:"initial_cluster"`
	JoinScript     types.String `tfsdk:"join_script"`
	Status         types.String `tfsdk:"status"`
}

// The values of status.
const (
	statusPending   = "pending"   // not in the cluster yet
	statusAnnounced = "announced" // in the list, never started
	statusMember    = "member"    // in the list, has run
	statusRemoved   = "removed"   // was a member, and is not in the list
	// Was a member, and somebody else removed it: it cannot come back.
	statusRetired = "retired"
	// A member that does not answer, in one view or without the time for it set.
	statusUnreachable = "unreachable"
	// A member that has been silent in both views for the time that is set.
	statusFailed = "failed"
	statusStale  = "stale" // the frozen environment cannot start any more
)

// ID is the ID of a configuration: it says how its member comes into the
// cluster, so that etcd_member knows without asking, and is unique.
type ID string

// The roles in an ID, each followed by the number of founders while the cluster
// is not formed ("founder3-…"), and by random digits. An awaiting member joins a cluster that is being formed
// in the same run: it waits for it instead of failing.
const (
	roleFounder  = "founder"
	roleJoiner   = "joiner"
	roleAwaiting = "awaiting"
)

func newID(p plan) (ID, error) {
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	role := p.role
	if n := p.size(); n > 0 {
		role += strconv.Itoa(n)
	}
	return ID(role + "-" + hex.EncodeToString(b)), nil
}

// parse returns the role and the number of founders, 0 where none is given.
func (id ID) parse() (role string, founders int) {
	word, _, _ := strings.Cut(string(id), "-")
	role = strings.TrimRight(word, "0123456789")
	founders, _ = strconv.Atoi(word[len(role):]) // 0 for none
	return role, founders
}

// Bootstrap returns how the member comes into the cluster. A text that is no
// ID of ours is taken for a joiner's.
func (id ID) Bootstrap() membership.Bootstrap {
	if role, _ := id.parse(); role == roleFounder {
		return membership.Founder
	}
	return membership.Joiner
}

// AwaitsCluster reports whether the cluster was still to be formed when the
// configuration was made.
func (id ID) AwaitsCluster() bool {
	role, _ := id.parse()
	return role == roleFounder || role == roleAwaiting
}

// Founders returns how many members were to form the cluster together; 0 where
// it was there already, or their number was not known.
func (id ID) Founders() int {
	if !id.AwaitsCluster() {
		return 0
	}
	_, founders := id.parse()
	return founders
}

func texts(ctx context.Context, set types.Set) ([]string, diag.Diagnostics) {
	var out []string
	if set.IsNull() || set.IsUnknown() {
		return nil, nil
	}
	diags := set.ElementsAs(ctx, &out, false)
	return out, diags
}

func (m model) urls(ctx context.Context) (urls, diag.Diagnostics) {
	var u urls
	var diags diag.Diagnostics
	for _, f := range []struct {
		to   *[]string
		from types.Set
	}{
		{&u.peer, m.PeerURLs}, {&u.client, m.ClientURLs},
		{&u.listenPeer, m.ListenPeerURLs}, {&u.listenClient, m.ListenClientURLs},
	} {
		values, d := texts(ctx, f.from)
		diags.Append(d...)
		*f.to = memberurl.ForEtcd(values)
	}
	return u, diags
}
