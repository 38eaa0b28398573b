// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"encoding/hex"
	"io"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

type model struct {
	ID                      types.String  `tfsdk:"id"`
	Name                    types.String  `tfsdk:"name"`
	Address                 types.String  `tfsdk:"address"`
	Scheme                  types.String  `tfsdk:"scheme"`
	PeerURLs                types.Set     `tfsdk:"peer_urls"`
	ClientURLs              types.Set     `tfsdk:"client_urls"`
	ListenPeerURLs          types.Set     `tfsdk:"listen_peer_urls"`
	ListenClientURLs        types.Set     `tfsdk:"listen_client_urls"`
	Bootstrap               types.Object  `tfsdk:"bootstrap"`
	JoinPeerURLs            types.Set     `tfsdk:"join_peer_urls"`
	TriggersReplace         types.Dynamic `tfsdk:"triggers_replace"`
	ReplaceUnreachableAfter types.String  `tfsdk:"replace_unreachable_after"`

	Founder              types.Bool   `tfsdk:"founder"`
	Founders             types.Int64  `tfsdk:"founders"`
	Environment          types.Map    `tfsdk:"environment"`
	InitialCluster       types.String `tfsdk:"initial_cluster"`
	JoinScriptBase64Gzip types.String `tfsdk:"join_script_base64gzip"`
	UserDataFormat       types.Int64  `tfsdk:"user_data_format"`
	Status               types.String `tfsdk:"status"`
}

// The values of status.
const (
	statusPending   = "pending"   // not in the cluster yet
	statusAnnounced = "announced" // in the list, never started
	statusMember    = "member"    // in the list, has run
	statusRemoved   = "removed"   // was a member, and is not in the list
	// Was a member that was removed outside Terraform and cannot return.
	statusRetired = "retired"
	// A member that does not respond in one view, or for which no time is set.
	statusUnreachable = "unreachable"
	// A member that has been silent in both views for the configured time.
	statusFailed = "failed"
	statusStale  = "stale" // the frozen environment can no longer be used to start
)

// role is the way in which a member enters its cluster.
type role uint8

const (
	roleJoiner   role = iota // the cluster exists
	roleFounder              // it forms the cluster, with the other initial members
	roleAwaiting             // it waits for a cluster that the same apply forms, and joins it
)

// isID matches the IDs that [newID] creates.
var isID = regexp.MustCompile(`^config-[0-9a-f]{16}$`)

func newID(random io.Reader) (string, error) {
	b := make([]byte, 8)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", err
	}
	return "config-" + hex.EncodeToString(b), nil
}

func (m model) urls() urls {
	of := func(set types.Set) []string { return attribute.NormalURLs(attribute.Texts(set)) }
	return urls{of(m.PeerURLs), of(m.ClientURLs), of(m.ListenPeerURLs), of(m.ListenClientURLs)}
}
