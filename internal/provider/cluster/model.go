// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// model is the resource in Terraform's form: configuration, plan or state.
type model struct {
	Members                 types.Map    `tfsdk:"members"`
	Discovery               types.Object `tfsdk:"discovery"`
	Restore                 types.Object `tfsdk:"restore"`
	Version                 types.String `tfsdk:"version"`
	Revision                types.Map    `tfsdk:"revision"`
	Rebuild                 types.Map    `tfsdk:"rebuild"`
	ReplaceUnreachableAfter types.String `tfsdk:"replace_unreachable_after"`
	Snapshot                types.String `tfsdk:"snapshot"`
	Window                  types.String `tfsdk:"bootstrap_window"`

	ID        types.String `tfsdk:"id"`
	Node      types.Map    `tfsdk:"node"`
	Status    types.Map    `tfsdk:"status"`
	Endpoints types.List   `tfsdk:"endpoints"`
	ClusterID types.String `tfsdk:"cluster_id"`
	Complete  types.Bool   `tfsdk:"complete"`
	Pending   types.List   `tfsdk:"pending"`
	Reason    types.String `tfsdk:"reason"`
}

// member is an element of members.
type member struct {
	Address    types.String `tfsdk:"address"`
	PeerURLs   types.Set    `tfsdk:"peer_urls"`
	ClientURLs types.Set    `tfsdk:"client_urls"`
	Learner    types.Bool   `tfsdk:"learner"`
}

// unknownURL stands for URLs that are not known at plan: they differ from all others.
const unknownURL = "(known after apply)"

// isUnknown reports whether URLs are not known at plan.
func isUnknown(urls []string) bool { return slices.Contains(urls, unknownURL) }

// urls returns the URLs of a member. They are nil if only the machine knows them.
func (m member) urls() (peer, client []string) {
	if m.Address.IsUnknown() || attribute.SomeUnknown(m.PeerURLs) || attribute.SomeUnknown(m.ClientURLs) {
		return []string{unknownURL}, []string{unknownURL}
	}
	peer, client = membership.NormalURLs(attribute.Texts(m.PeerURLs)), membership.NormalURLs(attribute.Texts(m.ClientURLs))
	if !m.Address.IsNull() {
		peer = []string{} // not nil, also for an address that the validator refuses
		if url, err := membership.URLAt("https", m.Address.ValueString(), membership.PeerPort); err == nil {
			peer = []string{url}
		}
	}
	if len(client) == 0 {
		for _, p := range peer {
			if url, err := membership.WithPort(p, membership.ClientPort); err == nil && !slices.Contains(client, url) {
				client = append(client, url)
			}
		}
	}
	return peer, client
}

// wants returns what the configuration says of each node. initial are the members that form
// the cluster, sorted: all that are not learners. known is false if the names, the version,
// the revision or rebuild are not known.
func (m model) wants(ctx context.Context, diags *diag.Diagnostics) (want map[string]membership.NodeValues, initial []string, known bool) {
	revision, rebuild := attribute.TextsByKey(m.Revision), attribute.TextsByKey(m.Rebuild)
	if m.Members.IsUnknown() {
		return nil, nil, false
	}
	var members map[string]member
	diags.Append(m.Members.ElementsAs(ctx, &members, false)...)
	want = map[string]membership.NodeValues{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		peer, client := members[name].urls()
		want[name] = membership.NodeValues{PeerURLs: peer, ClientURLs: client, Version: m.Version.ValueString(), Revision: revision, Rebuild: rebuild[name]}
		if !members[name].Learner.ValueBool() {
			initial = append(initial, name)
		}
	}
	return want, initial, !m.Version.IsUnknown() && !attribute.SomeUnknown(m.Revision) && !attribute.SomeUnknown(m.Rebuild)
}

// knownURLs returns all URLs that are known, in order.
func knownURLs(want map[string]membership.NodeValues) (peer, client []string) {
	for _, w := range want {
		if !isUnknown(w.PeerURLs) {
			peer, client = append(peer, w.PeerURLs...), append(client, w.ClientURLs...)
		}
	}
	slices.Sort(peer)
	slices.Sort(client)
	return peer, client
}

// nodes returns the nodes in the state, by name.
func (m model) nodes(ctx context.Context, diags *diag.Diagnostics) map[string]node.Node {
	out := map[string]node.Node{}
	if attribute.IsGiven(m.Node) {
		diags.Append(m.Node.ElementsAs(ctx, &out, false)...)
	}
	return out
}

// inState returns the nodes in the form of package membership, in order of name.
func (m model) inState(ctx context.Context, diags *diag.Diagnostics) (out []membership.Node) {
	nodes := m.nodes(ctx, diags)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		out = append(out, built(name, nodes[name], diags))
	}
	return out
}

// built is a node that is built, in the form of package membership.
func built(name string, n node.Node, diags *diag.Diagnostics) membership.Node {
	s := startOf(n, diags)
	return membership.Node{
		ID: n.ID.ValueString(), Name: name, Replaces: s.Replaces, Imported: s.Imported,
		NodeValues: membership.NodeValues{
			PeerURLs: slices.Sorted(slices.Values(attribute.Texts(n.PeerURLs))), ClientURLs: clientURLs(n), Version: n.Version.ValueString(),
			Revision: attribute.TextsByKey(n.Revision), Rebuild: s.Rebuild,
		},
	}
}

// startOf reads the start of a node in the state.
func startOf(n node.Node, diags *diag.Diagnostics) node.Start {
	s, err := node.StartOf(n.Start)
	if err != nil {
		report.Error(diags, text.New("Cannot read the state of node "+n.Name.ValueString(), "Its start is not what etcd_cluster writes: %s. Restore the state from a backup.", err.Error()))
	}
	return s
}

// clientURLs returns the client URLs of a node that is built, nil if only the machine
// knows them.
func clientURLs(n node.Node) []string {
	if urls := attribute.TextsByKey(n.Environment)[clientURLsVariable]; urls != "" {
		return strings.Split(urls, ",")
	}
	return nil
}

func listOf(texts []string) types.List {
	return types.ListValueMust(types.StringType, attribute.ValuesOf(texts))
}

// mapOf returns texts as a map, and null for nil.
func mapOf(texts map[string]string) types.Map {
	m, _ := types.MapValueFrom(context.Background(), types.StringType, texts) // texts always fit
	return m
}

// planned is a node that the plan builds, as far as it is known.
func planned(name string, v membership.NodeValues) node.Node {
	n := node.Node{
		ID: types.StringUnknown(), Name: types.StringValue(name), PeerURLs: attribute.SetOf(v.PeerURLs),
		Version: attribute.TextOf(v.Version), Revision: mapOf(v.Revision), Environment: types.MapUnknown(types.StringType),
		JoinScriptBase64Gzip: types.StringUnknown(), Start: types.StringUnknown(),
	}
	if isUnknown(v.PeerURLs) {
		n.PeerURLs = types.SetUnknown(types.StringType)
	}
	return n
}

// setNodes stores the nodes and their client URLs, which a node that is only planned does
// not have.
func (m *model) setNodes(ctx context.Context, nodes map[string]node.Node, urls []string, diags *diag.Diagnostics) {
	var d diag.Diagnostics
	m.Node, d = types.MapValueFrom(ctx, types.ObjectType{AttrTypes: node.Types}, nodes)
	diags.Append(d...)
	m.Endpoints = listOf(slices.Sorted(slices.Values(urls)))
	if isUnknown(urls) {
		m.Endpoints = types.ListUnknown(types.StringType)
	}
}

// clientURLs are the client URLs of the nodes in the state.
func (m model) clientURLs() []string { return attribute.Texts(m.Endpoints) }

// identity identifies a cluster. The ID is "" until a cluster that forms by discovery
// has responded, because Terraform requires an identity from the creation on.
type identity struct {
	ClusterID types.String `tfsdk:"cluster_id"`
}

// IdentitySchema implements [resource.ResourceWithIdentity].
func (r *Resource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"cluster_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The cluster's ID in hexadecimal."},
	}}
}

// store sets the state and the identity.
func (m model) store(ctx context.Context, state *tfsdk.State, id *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	diags.Append(state.Set(ctx, &m)...)
	if id != nil {
		diags.Append(id.Set(ctx, m.identity())...)
	}
}

func (m model) identity() identity {
	return identity{ClusterID: types.StringValue(m.ClusterID.ValueString())}
}
