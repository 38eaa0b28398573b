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

// urlsByName is the type of members: peer URLs by name, always a set, so that
// a member with one URL is written as one with two.
func urlsByName() types.MapType {
	return types.MapType{ElemType: types.SetType{ElemType: types.StringType}}
}

func newInitialCluster() function.Function {
	return pure{
		name: "initial_cluster",
		definition: function.Definition{
			Summary: "The members of a cluster as ETCD_INITIAL_CLUSTER wants them",
			MarkdownDescription: "Writes members as `ETCD_INITIAL_CLUSTER` and `--initial-cluster` want them: `name=url` pairs, sorted, with commas between them. " +
				"It is an error if there is no member, if a name cannot stand in such a list, if a member has no URL, if a URL is none that a peer can dial, or if two " +
				"members share one. URLs keep their spelling, because the IDs of founders are computed from it; a slash at the end, which etcd refuses, is left out.",
			Parameters: []function.Parameter{
				function.MapParameter{
					Name:        "members",
					ElementType: types.SetType{ElemType: types.StringType},
					MarkdownDescription: "Peer URLs by name of the member. Each value is a set or a list, also of a single URL: " +
						"`{ a = [\"https://10.0.1.10:2380\"] }`, as the `members` of [`etcd_initial_cluster`](../resources/initial_cluster.md).",
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
	founders := map[string][]string{}
	for name, urls := range members {
		founders[name] = nil
		for _, u := range urls {
			if u.IsNull() {
				return nil, errors.New(text.NullPeerURL(name).Detail)
			}
			founders[name] = append(founders[name], u.ValueString())
		}
	}
	return membership.InitialClusterOf(founders)
}

func newParseInitialCluster() function.Function {
	return pure{
		name: "parse_initial_cluster",
		definition: function.Definition{
			Summary: "The members in a text such as ETCD_INITIAL_CLUSTER",
			MarkdownDescription: "Reads what `initial_cluster` writes, and what stands in `ETCD_INITIAL_CLUSTER` on a machine or is printed by `etcdctl member add`: " +
				"peer URLs by name of the member, as they stand in the text. It is an error if an entry is not `name=url`, if a URL is none that a peer can dial, " +
				"or if one stands in the list twice.",
			Parameters: []function.Parameter{
				function.StringParameter{
					Name:                "text",
					MarkdownDescription: "`name=url` pairs with commas between them; a member with several URLs is there once for each.",
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
