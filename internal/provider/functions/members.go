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

// urlsByName returns the type of members: peer URLs by name, always as a set,
// so that a member with one URL is written like a member with two.
func urlsByName() types.MapType {
	return types.MapType{ElemType: types.SetType{ElemType: types.StringType}}
}

func newInitialCluster() function.Function {
	return pure{
		name: "initial_cluster",
		definition: function.Definition{
			Summary: "Members in the format of ETCD_INITIAL_CLUSTER",
			MarkdownDescription: "Returns members in the format of `ETCD_INITIAL_CLUSTER` and `--initial-cluster`: sorted `name=url` pairs, separated by commas. It fails without members, for a name " +
				"that is not allowed in such a list, for a member without a URL, for a URL that a peer cannot dial, and for a URL that two members share. The spelling of the URLs is " +
				"kept, because etcd computes the IDs of initial members from it. A trailing slash, which etcd refuses, is removed.",
			Parameters: []function.Parameter{
				function.MapParameter{
					Name:                "members",
					ElementType:         types.SetType{ElemType: types.StringType},
					MarkdownDescription: "Peer URLs by name of the member. Each value is a set or a list, also of a single URL: `{ a = [\"https://10.0.1.10:2380\"] }`.",
				},
			},
			Return: function.StringReturn{},
		},
		run: initialCluster,
	}
}

func initialCluster(ctx context.Context, arguments function.ArgumentsData) (any, error) {
	var members map[string][]types.String
	if err := arguments.Get(ctx, &members); err != nil {
		return nil, err
	}
	urlsOf := map[string][]string{}
	for name, urls := range members {
		urlsOf[name] = nil
		for _, u := range urls {
			if u.IsNull() {
				return nil, errors.New(text.NullPeerURL(name).Detail)
			}
			urlsOf[name] = append(urlsOf[name], u.ValueString())
		}
	}
	return membership.InitialClusterOf(urlsOf)
}

func newParseInitialCluster() function.Function {
	return pure{
		name: "parse_initial_cluster",
		definition: function.Definition{
			Summary: "Members in a text such as ETCD_INITIAL_CLUSTER",
			MarkdownDescription: "Returns the peer URLs in a text such as `ETCD_INITIAL_CLUSTER` by the name of the member. `initial_cluster` and `etcdctl member add` write such texts. It fails for " +
				"an entry that is not `name=url`, for a URL that a peer cannot dial, and for a URL that occurs twice.",
			Parameters: []function.Parameter{
				function.StringParameter{
					Name:                "text",
					MarkdownDescription: "`name=url` pairs, separated by commas. A member with several URLs has one pair for each.",
				},
			},
			Return: function.MapReturn{ElementType: types.SetType{ElemType: types.StringType}},
		},
		run: parseInitialCluster,
	}
}

func parseInitialCluster(ctx context.Context, arguments function.ArgumentsData) (any, error) {
	var words string
	if err := arguments.Get(ctx, &words); err != nil {
		return nil, err
	}
	return membership.ParseInitialCluster(words)
}

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
