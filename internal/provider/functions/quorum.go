// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

func newQuorum() function.Function {
	return pure{
		name: "quorum",
		definition: function.Definition{
			Summary:             "Number of voting members that must be alive",
			MarkdownDescription: "Returns the number of `voters` that must be alive for the cluster to work: more than half. The others, `voters - quorum(voters)`, can fail. Learners do not count.",
			Parameters: []function.Parameter{
				function.Int64Parameter{Name: "voters", MarkdownDescription: "Number of voting members, 1 or more."},
			},
			Return: function.Int64Return{},
		},
		run: quorum,
	}
}

func quorum(ctx context.Context, arguments function.ArgumentsData) (any, error) {
	var voters int64
	if err := arguments.Get(ctx, &voters); err != nil {
		return nil, err
	}
	if voters < 1 {
		return nil, errors.New(text.NoVoters(voters).Detail)
	}
	return membership.Quorum(voters), nil
}

func newMemberID() function.Function {
	return pure{
		name: "member_id",
		definition: function.Definition{
			Summary: "ID that etcd gives an initial member",
			MarkdownDescription: "Returns the ID of an initial member, in hexadecimal as etcdctl prints it, computed from its peer URLs and the cluster token. Use the same spelling of the URLs as " +
				"the member. The ID of a member that joins later also depends on the second in which it is added, so it cannot be computed in advance.",
			Parameters: []function.Parameter{
				function.SetParameter{Name: "peer_urls", ElementType: types.StringType, MarkdownDescription: "Peer URLs that the member advertises."},
				function.StringParameter{
					Name:                "token",
					MarkdownDescription: "Value of `ETCD_INITIAL_CLUSTER_TOKEN` of the initial members (etcd's default is `etcd-cluster`), or the discovery token or v2 discovery URL.",
				},
			},
			Return: function.StringReturn{},
		},
		run: memberID,
	}
}

func memberID(ctx context.Context, arguments function.ArgumentsData) (any, error) {
	var peerURLs []types.String
	var token string
	if err := arguments.Get(ctx, &peerURLs, &token); err != nil {
		return nil, err
	}
	var urls []string
	for _, u := range peerURLs {
		urls = append(urls, u.ValueString())
	}
	id, err := membership.InitialMemberID(urls, token)
	return id.String(), err
}
