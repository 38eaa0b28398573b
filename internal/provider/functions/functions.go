// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package functions implements the provider's functions. They are pure: the
// same arguments give the same result, and they make no requests.
package functions

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// All returns the functions that the provider serves.
func All() (all []func() function.Function) {
	for _, f := range []function.Function{initialCluster, parseInitialCluster, environmentFile, quorum, memberID, cloudConfig, ignition} {
		all = append(all, func() function.Function { return f })
	}
	return all
}

// pure is a function whose result depends only on arguments that are all known.
type pure struct {
	name       string
	definition function.Definition
	// run returns the result. An error is about the first argument, unless it
	// is an error of the framework.
	run func(context.Context, function.ArgumentsData) (any, error)
}

// of returns the run of a function of one argument.
func of[A, R any](f func(A) (R, error)) func(context.Context, function.ArgumentsData) (any, error) {
	return func(ctx context.Context, arguments function.ArgumentsData) (any, error) {
		var argument A
		if err := arguments.Get(ctx, &argument); err != nil {
			return nil, err
		}
		return f(argument)
	}
}

// Metadata implements [function.Function].
func (p pure) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = p.name
}

// Definition implements [function.Function].
func (p pure) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = p.definition
}

// Run implements [function.Function]. The result is unknown until it is set.
func (p pure) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	for i := range p.definition.Parameters {
		var argument attr.Value
		if resp.Error = req.Arguments.GetArgument(ctx, i, &argument); resp.Error != nil {
			return
		}
		if attribute.SomeUnknown(argument) { // Terraform does not call it then; other callers may
			return
		}
	}
	result, err := p.run(ctx, req.Arguments)
	if err != nil {
		resp.Error = refused(err)
		return
	}
	resp.Error = resp.Result.Set(ctx, result)
}

// refused returns the error of a function. Unless it says otherwise, it is about the first argument.
func refused(err error) *function.FuncError {
	var own *function.FuncError
	var option *userdata.OptionError
	var format userdata.FormatError
	var entry *membership.EntryError
	var u *membership.URLError
	var worded text.Message
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &option):
		return badArgument(1, wrongOption(option))
	case errors.As(err, &format):
		return badArgument(0, text.New("Unknown user data format",
			"format of the node is %d, and this version of the provider does not know it. A later version has built the node. Use that version or a later one.", int(format)))
	case errors.As(err, &entry):
		return badArgument(0, text.InitialCluster(entry))
	case errors.As(err, &u):
		return badArgument(0, text.PeerURL(u))
	case !errors.As(err, &worded):
		worded.Detail = err.Error()
	}
	return badArgument(0, worded)
}

// badArgument returns an error about an argument. The CLI adds a full stop.
func badArgument(position int64, t text.Message) *function.FuncError {
	return function.NewArgumentFuncError(position, strings.TrimSuffix(t.Detail, "."))
}

// peerURLs is the type of the URLs of a member: always a set, so that a member with one
// URL is written like a member with two.
var peerURLs = types.SetType{ElemType: types.StringType}

var initialCluster = pure{
	name: "initial_cluster",
	definition: function.Definition{
		Summary: "Members in the format of ETCD_INITIAL_CLUSTER",
		MarkdownDescription: "Returns members in the format of `ETCD_INITIAL_CLUSTER` and `--initial-cluster`: sorted `name=url` pairs, separated by commas. It fails without members, for a name " +
			"that is not allowed in such a list, for a member without a URL, for a URL that a peer cannot dial, and for a URL that two members share. The spelling of the URLs is " +
			"kept, because etcd computes the IDs of initial members from it. A trailing slash, which etcd refuses, is removed.",
		Parameters: []function.Parameter{function.MapParameter{
			Name: "members", ElementType: peerURLs,
			MarkdownDescription: "Peer URLs by name of the member. Each value is a set or a list, also of a single URL: `{ a = [\"https://10.0.1.10:2380\"] }`.",
		}},
		Return: function.StringReturn{},
	},
	run: of(func(members map[string][]types.String) (string, error) {
		urlsOf := map[string][]string{}
		for name, urls := range members {
			urlsOf[name] = nil
			for _, u := range urls {
				if u.IsNull() {
					return "", text.New("Invalid peer URL", "Member %s has a peer URL that is null. Give a URL, or leave the member out.", name)
				}
				urlsOf[name] = append(urlsOf[name], u.ValueString())
			}
		}
		return membership.InitialClusterOf(urlsOf)
	}),
}

var parseInitialCluster = pure{
	name: "parse_initial_cluster",
	definition: function.Definition{
		Summary: "Members in a text such as ETCD_INITIAL_CLUSTER",
		MarkdownDescription: "Returns the peer URLs in a text such as `ETCD_INITIAL_CLUSTER` by the name of the member. `initial_cluster` and `etcdctl member add` write such texts. It fails for " +
			"an entry that is not `name=url`, for a URL that a peer cannot dial, and for a URL that occurs twice.",
		Parameters: []function.Parameter{function.StringParameter{
			Name: "text", MarkdownDescription: "`name=url` pairs, separated by commas. A member with several URLs has one pair for each.",
		}},
		Return: function.MapReturn{ElementType: peerURLs},
	},
	run: of(membership.ParseInitialCluster),
}

var quorum = pure{
	name: "quorum",
	definition: function.Definition{
		Summary:             "Number of voting members that must be alive",
		MarkdownDescription: "Returns the number of `voters` that must be alive for the cluster to work: more than half. The others, `voters - quorum(voters)`, can fail. Learners do not count.",
		Parameters: []function.Parameter{
			function.Int64Parameter{Name: "voters", MarkdownDescription: "Number of voting members, 1 or more."},
		},
		Return: function.Int64Return{},
	},
	run: of(func(voters int64) (int64, error) {
		if voters < 1 {
			return 0, text.New("Invalid number of voters", "A cluster has at least one voter; %d was given.", voters)
		}
		return membership.Quorum(voters), nil
	}),
}

var memberID = pure{
	name: "member_id",
	definition: function.Definition{
		Summary: "ID that etcd gives an initial member",
		MarkdownDescription: "Returns the ID of an initial member, in hexadecimal as etcdctl prints it, computed from its peer URLs and the cluster token. Use the same spelling of the URLs as " +
			"the member. The ID of a member that joins later also depends on the second in which it is added, so it cannot be computed in advance.",
		Parameters: []function.Parameter{
			function.SetParameter{Name: "peer_urls", ElementType: types.StringType, MarkdownDescription: "Peer URLs that the member advertises."},
			function.StringParameter{
				Name: "token", MarkdownDescription: "Value of `ETCD_INITIAL_CLUSTER_TOKEN` of the initial members (etcd's default is `etcd-cluster`), or the discovery token or v2 discovery URL.",
			},
		},
		Return: function.StringReturn{},
	},
	run: func(ctx context.Context, arguments function.ArgumentsData) (any, error) {
		var given []types.String
		var token string
		if err := arguments.Get(ctx, &given, &token); err != nil {
			return nil, err
		}
		var urls []string
		for _, u := range given {
			urls = append(urls, u.ValueString())
		}
		id, err := membership.InitialMemberID(urls, token)
		return id.String(), err
	},
}

var environmentFile = pure{
	name: "environment_file",
	definition: function.Definition{
		Summary: "Variables as a file for systemd and the shell",
		MarkdownDescription: "Returns variables as the content of a file, one per line and sorted by name. systemd's `EnvironmentFile=` and a POSIX shell (`set -a; . file`) both read exactly the " +
			"given values from it. Values are quoted only if they need it, so that `docker run --env-file` reads the others too. A variable with the value null is left out. " +
			"Values with control characters or line breaks (U+0085, U+2028 and U+2029 included) are refused. Allowed in names: letters, digits and `_`.",
		Parameters: []function.Parameter{function.MapParameter{
			Name: "variables", ElementType: types.StringType,
			MarkdownDescription: "Values by name, such as the `environment` of a node of an [`etcd_cluster`](../resources/cluster.md).",
		}},
		Return: function.StringReturn{},
	},
	run: of(func(values types.Map) (string, error) {
		variables := attribute.TextsByKey(values)
		if t := environment.Problem(variables); t != nil {
			return "", *t
		}
		return userdata.EnvironmentFile(variables), nil
	}),
}
