// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// nodeVariable holds the ID of the node. The script ignores it. It makes the user data
// of a rebuilt node another one, so that its machine is replaced.
const nodeVariable = "ETCD_JOIN_NODE"

// clientURLsVariable has the client URLs of the node. The node has no attribute for them,
// which would be three lines of each plan that builds it.
const clientURLsVariable = "ETCD_ADVERTISE_CLIENT_URLS"

// nodePrefix begins the ID of each node.
const nodePrefix = "node-"

// builder builds nodes during an apply, when all their values are known.
type builder struct {
	formation
	run    *backend.Run
	now    time.Time
	window time.Duration
	// peers and endpoints are the peer URLs and client URLs of all nodes, by name.
	peers, endpoints map[string][]string
	// others are the peer URLs of the members that the cluster lists.
	others []string
	// imported are the IDs of nodes that exist, by name, "" for a new ID. It is nil if their
	// machines have the user data of the node.
	imported map[string]string
	// members is the number of initial members, 0 if the cluster is known to exist.
	members int
}

// build returns the node of a name. The first initial member may form a static cluster
// without an answer of its peers.
func (b builder) build(ctx context.Context, name string, v membership.NodeValues, replaces []string, diags *diag.Diagnostics) node.Node {
	initial := slices.Contains(b.initial, name)
	id := cmp.Or(b.imported[name], nodePrefix+b.run.ID())
	peers := slices.DeleteFunc(slices.Clone(b.others), func(u string) bool { return slices.Contains(v.PeerURLs, u) })
	for other, urls := range b.peers {
		if other != name {
			peers = union(peers, urls)
		}
	}
	slices.Sort(peers)
	endpoints := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(b.endpoints))...)))
	start := node.Start{
		NodeID: id, Format: userdata.Format, Initial: initial, InitialMembers: b.members, ClusterID: b.clusterID,
		Endpoints: endpoints, Peers: peers, Replaces: replaces, Imported: b.imported != nil, Rebuild: v.Rebuild,
	}
	variables := map[string]string{}
	maps.Copy(variables, b.variables)
	if !initial {
		variables = toAsk(b.variables)
	}
	if initial && name == b.initial[0] && b.discovery == nil {
		end := b.now.Add(b.window)
		start.WindowEnd = end.UTC().Format(time.RFC3339)
		variables[joinscript.WindowVariable] = fmt.Sprintf("%d-%d", b.now.Unix(), end.Unix())
	}
	variables[nodeVariable] = id
	n := planned(name, v)
	n.ID, n.JoinScriptBase64Gzip = types.StringValue(id), types.StringValue(b.script(initial).Base64Gzip)
	n.Environment, n.Start = environment.Map(ctx, environmentOf(name, v, initial, variables, peers), diags), start.Text()
	return n
}

func (b builder) script(initial bool) joinscript.Variant {
	switch {
	case b.discovery != nil:
		return joinscript.Discovery()
	case initial && b.restores:
		return joinscript.Restore()
	}
	return joinscript.Static()
}

// environmentOf returns the ETCD_* variables of a member's process. variables are those
// of the formation, peers the URLs that the join script asks; etcd ignores them.
func environmentOf(name string, v membership.NodeValues, initial bool, variables map[string]string, peers []string) map[string]string {
	env := map[string]string{"ETCD_NAME": name}
	set := func(key string, values []string) {
		if len(values) > 0 {
			env[key] = strings.Join(slices.Sorted(slices.Values(values)), ",")
		}
	}
	set("ETCD_INITIAL_ADVERTISE_PEER_URLS", v.PeerURLs)
	set("ETCD_LISTEN_PEER_URLS", toListen(v.PeerURLs))
	set(clientURLsVariable, v.ClientURLs)
	set("ETCD_LISTEN_CLIENT_URLS", toListen(v.ClientURLs))
	set("ETCD_JOIN_PEERS", peers)
	maps.Copy(env, variables)
	env["ETCD_INITIAL_CLUSTER_STATE"] = "existing"
	if initial {
		env["ETCD_INITIAL_CLUSTER_STATE"] = "new"
	}
	return env
}

// toAsk returns the variables with which the join script of a member that joins asks
// the discovery cluster. They have other names than etcd's own, because etcd would
// register there.
func toAsk(variables map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range variables {
		switch key {
		case "ETCD_DISCOVERY", "ETCD_DISCOVERY_TOKEN", "ETCD_DISCOVERY_ENDPOINTS":
			out[strings.Replace(key, "ETCD_", "ETCD_JOIN_", 1)] = value
		case "ETCD_DISCOVERY_CACERT", "ETCD_DISCOVERY_CERT", "ETCD_DISCOVERY_KEY", "ETCD_DISCOVERY_USER":
			out[key] = value // etcd ignores them without a token
		}
	}
	return out
}

// toListen returns the listen URLs that follow from advertised URLs. etcd binds to
// addresses only, so a host name becomes the wildcard address with the same port.
func toListen(advertised []string) (out []string) {
	for _, a := range advertised {
		u, err := url.Parse(a)
		if err != nil {
			continue
		}
		if host := u.Hostname(); net.ParseIP(host) == nil && host != "localhost" {
			u.Host = net.JoinHostPort("0.0.0.0", u.Port())
		}
		if s := u.Scheme + "://" + u.Host; !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// formation is who forms the cluster, and with which variables.
type formation struct {
	initial []string // sorted
	// variables are those with which an initial member forms the cluster. restores is
	// true if it restores a snapshot then.
	variables map[string]string
	restores  bool
	// clusterID is "" if it is not known, as for a discovery.
	clusterID string
	// discovery is nil for a static initial cluster.
	discovery *bootstrap.Bootstrap
}

// formationOf returns how the initial members form the cluster.
func (m model) formationOf(ctx context.Context, want map[string]membership.NodeValues, initial []string, token string, diags *diag.Diagnostics) formation {
	f := formation{initial: initial, discovery: attribute.As[bootstrap.Bootstrap](ctx, m.Discovery, diags)}
	if f.discovery != nil {
		f.variables = attribute.TextsByKey(f.discovery.Environment)
		return f
	}
	peers := map[string][]string{}
	for _, name := range initial {
		peers[name] = want[name].PeerURLs
	}
	together, err := membership.InitialClusterOf(peers)
	if err != nil {
		return f // none is initial, or the validator refuses it
	}
	f.variables = map[string]string{"ETCD_INITIAL_CLUSTER": together, "ETCD_INITIAL_CLUSTER_TOKEN": token}
	if restored := attribute.As[restore](ctx, m.Restore, diags); restored != nil {
		f.restores = true
		maps.Copy(f.variables, restored.variables())
	}
	_, id, _ := membership.InitialMemberIDs(peers, token) // it fails as InitialClusterOf does
	f.clusterID = id.String()
	return f
}

// checkFormation refuses members that do not fit their token, or of which none forms the
// cluster.
func (m model) checkFormation(ctx context.Context, want map[string]membership.NodeValues, initial int, diags *diag.Diagnostics) {
	clients := map[string][]string{}
	for name, w := range want {
		clients[name] = w.ClientURLs
	}
	boot := attribute.As[bootstrap.Bootstrap](ctx, m.Discovery, diags)
	switch {
	case initial == 0:
		report.ErrorOn(diags, "members", text.New("No member forms the cluster",
			"Every member has learner = true. Take learner out of the members that form the cluster. Prefer three or five."))
	case boot == nil:
		bootstrap.AdviseSize(initial, diags)
	case boot.Complete.ValueBool():
		report.ErrorOn(diags, "discovery", text.New("The token has formed a cluster",
			"All initial members of the discovery token have registered, so its cluster has formed or may have formed. A token serves one cluster. "+
				"These commands show the registrations as members:\n\n  terraform apply -refresh-only -target='etcd_discovery_token.this'\n  terraform state show 'etcd_discovery_token.this'\n\n"+
				"If the resource is tainted, keep it:\n\n  terraform untaint 'etcd_cluster.this'\n\nIf the state has lost the cluster, import it by its ID. "+
				"If no registered member ever served, see "+text.StartAgain+text.DestroyInstead))
	case attribute.IsGiven(boot.Size) && boot.Size.ValueInt64() != int64(initial):
		report.ErrorOn(diags, "members", text.New("The token is for another number of members",
			"The discovery token forms a cluster of %d, and members has %d that take part in the formation. Set size of the token to %[2]d, or learner = true for members that join later.",
			boot.Size.ValueInt64(), initial))
	default:
		boot.RefuseMembers(clients, diags)
	}
}

// formerKey is the key of the nodes before those that were rebuilt ([pack]), until a member
// has followed: see [membership.Node.Former].
const formerKey = "former"

var nodesType = types.MapType{ElemType: types.ObjectType{AttrTypes: node.Types}}

// keepFormer keeps the nodes before those that the plan rebuilds, and those that it may
// still take back. A node that no member followed is not one to return to.
func (p nodesPlan) keepFormer(ctx context.Context, keep private.Writer, stored health, diags *diag.Diagnostics) {
	former := p.unfollowed(stored)
	if _, unfollowed := former[p.Rebuilt]; p.Rebuilt != "" && !unfollowed {
		former[p.Rebuilt] = p.has[p.Rebuilt]
	}
	nodes, d := types.MapValueFrom(ctx, nodesType.ElemType, former)
	diags.Append(d...)
	private.Keep(ctx, keep, formerKey, pack(ctx, nodes, diags), diags)
}

// unfollowed returns the former nodes of the rebuilds that no member has followed.
func (p nodesPlan) unfollowed(stored health) map[string]node.Node {
	former := maps.Clone(p.former)
	maps.DeleteFunc(former, func(name string, _ node.Node) bool {
		followed := slices.ContainsFunc(stored.Members, func(e membership.NodeHealth) bool { return e.Recorded && e.Node == p.has[name].ID.ValueString() })
		return followed || slices.Contains(p.TakenBack, name)
	})
	return former
}

// savedKey is the key of the values of each node that were wanted when the last snapshot was
// stored, by name: those that may be rolled.
const savedKey = "saved"

// keepSaved keeps what is wanted now as saved, if an apply stores another snapshot. It
// compares texts and not times: the plan of the apply must give the same answer once the new
// snapshot is known.
func (m model) keepSaved(ctx context.Context, keep private.Writer, was types.String, want map[string]membership.NodeValues, diags *diag.Diagnostics) {
	if !m.Snapshot.Equal(was) {
		private.Keep(ctx, keep, savedKey, want, diags)
	}
}

// pack returns nodes as Terraform's protocol has them.
func pack(ctx context.Context, nodes types.Map, diags *diag.Diagnostics) []byte {
	value, err := nodes.ToTerraformValue(ctx)
	var dynamic tfprotov6.DynamicValue
	if err == nil {
		dynamic, err = tfprotov6.NewDynamicValue(nodesType.TerraformType(ctx), value)
	}
	if err != nil {
		diags.AddError("Cannot keep the nodes", err.Error())
	}
	return dynamic.MsgPack
}

// unpack returns the nodes of [pack], by name. Nothing packed is no node.
func unpack(ctx context.Context, packed []byte, diags *diag.Diagnostics) map[string]node.Node {
	if len(packed) == 0 {
		return map[string]node.Node{}
	}
	value, err := tfprotov6.DynamicValue{MsgPack: packed}.Unmarshal(nodesType.TerraformType(ctx))
	var nodes attr.Value
	if err == nil {
		nodes, err = nodesType.ValueFromTerraform(ctx, value)
	}
	if err != nil {
		diags.AddError("Cannot read the nodes before", err.Error())
	}
	m, _ := nodes.(types.Map)
	return model{Node: m}.nodes(ctx, diags)
}
