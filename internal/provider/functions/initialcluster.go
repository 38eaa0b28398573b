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

// urlsByName is the type of members: peer URLs by name, always a set, so that
// a member with one URL is written as one with two.
func urlsByName() types.MapType {
	return types.MapType{ElemType: types.SetType{ElemType: types.StringType}}
}

type initialCluster struct{}

func newInitialCluster() function.Function { return initialCluster{} }

// Metadata implements [function.Function].
func (initialCluster) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "initial_cluster"
}

// Definition implements [function.Function].
func (initialCluster) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
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
	}
}

// Run implements [function.Function].
func (initialCluster) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var members types.Map
	if resp.Error = req.Arguments.Get(ctx, &members); resp.Error != nil {
		return
	}
	ok, ferr := known(ctx, members)
	if resp.Error = ferr; ferr != nil {
		return
	}
	if !ok {
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
		return
	}
	var sets map[string]types.Set
	if resp.Error = function.FuncErrorFromDiags(ctx, members.ElementsAs(ctx, &sets, false)); resp.Error != nil {
		return
	}
	founders := map[string][]string{}
	for name, set := range sets {
		var urls []types.String
		if resp.Error = function.FuncErrorFromDiags(ctx, set.ElementsAs(ctx, &urls, false)); resp.Error != nil {
			return
		}
		founders[name] = nil
		for _, u := range urls {
			if u.IsNull() {
				resp.Error = function.NewArgumentFuncError(0, text.NullPeerURL(name).Detail)
				return
			}
			founders[name] = append(founders[name], u.ValueString())
		}
	}
	words, err := membership.InitialClusterOf(founders)
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, words)
}

type parseInitialCluster struct{}

func newParseInitialCluster() function.Function { return parseInitialCluster{} }

// Metadata implements [function.Function].
func (parseInitialCluster) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "parse_initial_cluster"
}

// Definition implements [function.Function].
func (parseInitialCluster) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
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
	}
}

// Run implements [function.Function].
func (parseInitialCluster) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var words types.String
	if resp.Error = req.Arguments.Get(ctx, &words); resp.Error != nil {
		return
	}
	if words.IsUnknown() {
		resp.Error = resp.Result.Set(ctx, types.MapUnknown(urlsByName().ElemType))
		return
	}
	members, err := membership.ParseInitialCluster(words.ValueString())
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, members)
}
