// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	fwlist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// ImportState implements resource.ResourceWithImportState. The ID is a
// hexadecimal ID, a name, a peer URL or an identity.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fail := func(t text.Message) { report.Error(&resp.Diagnostics, t) }
	wanted, cluster := req.ID, ""
	if wanted == "" {
		id := attribute.Read[identity](ctx, req.Identity, &resp.Diagnostics)
		wanted, cluster = id.MemberID.ValueString(), id.ClusterID.ValueString()
	}
	if resp.Diagnostics.HasError() {
		return
	}
	c, snap := r.Backend.Observe(ctx, "import member "+wanted, nil, &resp.Diagnostics)
	if c == nil {
		return
	}
	if want, bad := membership.ParseClusterID(cluster); cluster != "" && (bad != nil || want != snap.ClusterID) {
		fail(text.Explain(reconfigure.ActionImport, wanted, reconfigure.NewOtherCluster(want, snap)))
		return
	}
	found := match(snap, wanted)
	switch {
	case len(found) != 1:
		fail(text.NotOne("Cannot import member "+wanted, wanted, found, snap))
		return
	case found[0].Learner && r.role != roleLearner:
		fail(text.New("Cannot import member "+wanted, "Member %s is a learner. Import it as an etcd_learner.%s", found[0].ID, text.AdoptLearner(found[0].ID)))
		return
	case !found[0].Learner && r.role == roleLearner:
		fail(text.New("Cannot import learner "+wanted, "Member %s is a voting member. Import it as an etcd_member.", found[0].ID))
		return
	}
	m := ofMember(ctx, r.role, snap, found[0], &resp.Diagnostics)
	m.store(ctx, &resp.State, resp.Identity, &resp.Diagnostics)
}

// ofMember returns the known attributes of a member that this provider did not create.
func ofMember(ctx context.Context, r role, snap membership.Snapshot, it membership.Member, diags *diag.Diagnostics) model {
	m := model{role: r, promote: types.BoolValue(false), failover: types.BoolValue(false), common: common{
		Name: attribute.TextOf(it.Name), Config: types.ObjectNull(node.ConfigTypes), MachineID: types.StringNull(),
		PeerURLs: attribute.SetOf(it.PeerURLs), Endpoints: types.ListNull(types.StringType),
		WaitUntil: types.StringNull(),
		Version:   types.StringNull(), InitialCluster: types.StringUnknown(),
		Timeouts: noTimeouts(),
	}}
	m.fromJoined(ctx, reconfigure.Joined{Member: it, Answer: snap.Answer(it.ID), Outcome: reconfigure.Outcome{Snapshot: snap}}, diags)
	return m
}

// match returns the members that match a text: by ID, else by name, else by
// peer URL.
func match(snap membership.Snapshot, words string) []membership.Member {
	if found := snap.Find(words); len(found) > 0 {
		return found
	}
	return slices.DeleteFunc(slices.Clone(snap.Members), func(m membership.Member) bool {
		return !slices.ContainsFunc(m.PeerURLs, func(u string) bool { return membership.SameURLs([]string{u}, []string{words}) })
	})
}

func noTimeouts() timeouts.Value {
	return timeouts.Value{Object: types.ObjectNull(map[string]attr.Type{
		"create": types.StringType, "update": types.StringType, "delete": types.StringType,
	})}
}

// List implements list "etcd_member" and list "etcd_learner": the existing
// members, to be imported.
type List struct{ *Resource }

// NewList returns list "etcd_member", which lists the voting members.
func NewList() fwlist.ListResource { return &List{newResource(roleVoter)} }

// NewLearnerList returns list "etcd_learner", which lists the learners.
func NewLearnerList() fwlist.ListResource { return &List{newResource(roleLearner)} }

// ListResourceConfigSchema implements [fwlist.ListResource].
func (l *List) ListResourceConfigSchema(_ context.Context, _ fwlist.ListResourceSchemaRequest, resp *fwlist.ListResourceSchemaResponse) {
	what := "Lists the voting members of a cluster, each with the identity for its import."
	if l.role == roleLearner {
		what = "Lists the learners of a cluster, each with the identity for its import."
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: what,
		Attributes:          map[string]schema.Attribute{"endpoints": attribute.OptionalEndpoints("Client URLs of the cluster. Default: the provider's `endpoints`.")},
	}
}

// List implements [fwlist.ListResource]. It sorts by name, with members that
// never started at the end. A cluster that does not respond is an error,
// because an empty list would mean that there are no members. Without a quorum
// it lists the members that the responding member returns, with a warning.
func (l *List) List(ctx context.Context, req fwlist.ListRequest, stream *fwlist.ListResultsStream) {
	var diags diag.Diagnostics
	var endpoints types.List
	diags.Append(req.Config.GetAttribute(ctx, path.Root("endpoints"), &endpoints)...)
	_, snap := l.Backend.Observe(ctx, "list members", attribute.Texts(endpoints), &diags)
	if diags.HasError() {
		stream.Results = fwlist.ListResultsStreamDiagnostics(diags)
		return
	}
	if !snap.Linearizable {
		report.Warn(&diags, text.New("The list may be behind",
			"It is what those who answer have, and no quorum has confirmed it: members may have been added or removed since. Check the cluster (data \"etcd_cluster\") before anything is imported."))
	}
	var results []fwlist.ListResult
	for _, it := range snap.ByName() {
		if it.Learner != (l.role == roleLearner) || req.Limit > 0 && int64(len(results)) == req.Limit {
			continue
		}
		m := ofMember(ctx, l.role, snap, it, &diags)
		results = append(results, backend.Listed(ctx, req, text.Member(snap, it.ID), m.identity(), m.stored()))
	}
	if len(results) > 0 {
		results[0].Diagnostics.Append(diags...)
	}
	stream.Results = slices.Values(results)
}

// ownAddress is this provider's address without the registry's host.
const ownAddress = "terraform-provider-etcd/etcd"

// MoveState implements resource.ResourceWithMoveState. An etcd_learner becomes an
// etcd_member, and the next update promotes it. An etcd_member becomes an etcd_learner;
// a voter then has promote = true, because a promotion cannot be undone.
func (r *Resource) MoveState(ctx context.Context) []resource.StateMover {
	before, last := roleLearner, waitCaughtUp
	if r.role == roleLearner {
		before, last = roleVoter, waitVoting
	}
	var source resource.SchemaResponse
	(&Resource{role: before}).Schema(ctx, resource.SchemaRequest{}, &source)
	return []resource.StateMover{{SourceSchema: &source.Schema, StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		if !movesFrom(before.typeName("etcd"), req) {
			return
		}
		from := before.model(ctx, req.SourceState, &resp.Diagnostics)
		m := model{
			common: from.common, role: r.role,
			promote: types.BoolValue(from.Role.ValueString() == string(roleVoter)), failover: types.BoolValue(false),
		}
		if m.WaitUntil.ValueString() == last {
			m.WaitUntil = types.StringNull() // the other resource has another last stage
		}
		if !resp.Diagnostics.HasError() {
			m.store(ctx, &resp.TargetState, resp.TargetIdentity, &resp.Diagnostics)
			// A resource that was moved before, but not updated since, keeps its original owner.
			if was := cmp.Or(keptOf(ctx, req.SourcePrivate, &resp.Diagnostics).Moved, from.owner()); was != m.owner() {
				private.Keep(ctx, resp.TargetPrivate, keptKey, kept{Moved: was}, &resp.Diagnostics)
			}
		}
	}}}
}

// movesFrom reports whether the state is that of the other resource of this
// provider, from any registry. OpenTofu before 1.11.12 and 1.12.4 names the
// provider by its type alone (opentofu/opentofu#4352).
func movesFrom(resourceType string, req resource.MoveStateRequest) bool {
	from := req.SourceProviderAddress
	return req.SourceState != nil && req.SourceTypeName == resourceType &&
		(from == "etcd" || from == ownAddress || strings.HasSuffix(from, "/"+ownAddress))
}
