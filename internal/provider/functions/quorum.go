// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

type quorum struct{}

func newQuorum() function.Function { return quorum{} }

// Metadata implements [function.Function].
func (quorum) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "quorum"
}

// Definition implements [function.Function].
func (quorum) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "How many voters of a cluster must be alive",
		MarkdownDescription: "Returns how many of `voters` must be alive for the cluster to go on: more than half. The rest, `voters - quorum(voters)`, may fail. " +
			"Learners do not count.",
		Parameters: []function.Parameter{
			function.Int64Parameter{Name: "voters", MarkdownDescription: "Number of voting members, 1 or more."},
		},
		Return: function.Int64Return{},
	}
}

// Run implements [function.Function].
func (quorum) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var voters types.Int64
	if resp.Error = req.Arguments.Get(ctx, &voters); resp.Error != nil {
		return
	}
	switch n := voters.ValueInt64(); {
	case voters.IsUnknown():
		resp.Error = resp.Result.Set(ctx, types.Int64Unknown())
	case n < 1:
		resp.Error = function.NewArgumentFuncError(0, text.NoVoters(n).Detail)
	default:
		resp.Error = resp.Result.Set(ctx, membership.Quorum(n))
	}
}

type memberID struct{}

func newMemberID() function.Function { return memberID{} }

// Metadata implements [function.Function].
func (memberID) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "member_id"
}

// Definition implements [function.Function].
func (memberID) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The ID that etcd gives a founding member",
		MarkdownDescription: "Computes the ID of a member that founds a cluster, in hexadecimal as etcdctl prints it, from its peer URLs and the cluster token. " +
			"The ID of a member that joins later also depends on the second in which it was announced, so nobody can compute it beforehand. " +
			"The spelling of the URLs counts: give them as the member is given them.",
		Parameters: []function.Parameter{
			function.SetParameter{Name: "peer_urls", ElementType: types.StringType, MarkdownDescription: "Peer URLs that the member advertises."},
			function.StringParameter{
				Name: "token",
				MarkdownDescription: "What the founders have as `ETCD_INITIAL_CLUSTER_TOKEN` (etcd's default is `etcd-cluster`), or the discovery token or v2 discovery URL " +
					"with which they find each other.",
			},
		},
		Return: function.StringReturn{},
	}
}

// Run implements [function.Function].
func (memberID) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var peerURLs types.Set
	var token types.String
	if resp.Error = req.Arguments.Get(ctx, &peerURLs, &token); resp.Error != nil {
		return
	}
	ok, ferr := known(ctx, peerURLs)
	if resp.Error = ferr; ferr != nil {
		return
	}
	if !ok || token.IsUnknown() {
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
		return
	}
	var values []types.String
	if resp.Error = function.FuncErrorFromDiags(ctx, peerURLs.ElementsAs(ctx, &values, false)); resp.Error != nil {
		return
	}
	var urls []string
	for _, v := range values {
		urls = append(urls, v.ValueString())
	}
	id, err := membership.FounderID(urls, token.ValueString())
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, id.String())
}
