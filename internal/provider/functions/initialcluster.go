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
