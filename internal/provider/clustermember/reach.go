// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package clustermember

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// usable are the endpoints that can be used. One that a state has must not block the
// removal of the member.
func usable(endpoints []string) []string {
	return slices.DeleteFunc(slices.Clone(endpoints), func(e string) bool {
		_, err := connection.ParseEndpoint(e, false)
		return err != nil
	})
}

// endpoints are the client URLs of the cluster that arguments give: those of the node
// come in addition to the provider's.
func (r *Resource) endpoints(m model) []string {
	out := usable(attribute.Texts(m.Endpoints))
	if start, known := m.start(); known {
		out = append(out, usable(start.Endpoints)...)
		out = append(out, r.Backend.Settings.Endpoints...)
	}
	return out
}

// trustedKey is the key of the URLs to whose hosts the credentials may go. The state also
// holds the URLs that the member advertises, and a refresh or a destroy does not get the
// configuration.
const trustedKey = "named"

// given are the peer URLs that the resource itself gives.
func (m model) given() []string {
	if m.sameURLs {
		return nil
	}
	return m.peers()
}

// trust stores the URLs of an applied plan, and client URLs that the provider's arguments
// name now: a plan that removes a member often removes it from endpoints too.
func (r *Resource) trust(ctx context.Context, to private.Writer, plan model, client types.Set, diags *diag.Diagnostics) {
	private.Keep(ctx, to, trustedKey, append(plan.given(), r.Backend.Settings.NamedOf(attribute.Texts(client))...), diags)
}

// trusted returns the context for the member of which [Resource.trust] has stored URLs. There
// are none for a resource that was imported and has not been changed since.
func trusted(ctx context.Context, from private.Reader, diags *diag.Diagnostics) context.Context {
	return connection.TrustHosts(ctx, private.Kept[[]string](ctx, from, trustedKey, diags)...)
}

// byProvider reports whether nothing but the provider's endpoints says which cluster the
// member is of.
func (m model) byProvider() bool { return m.Config.IsNull() && m.Endpoints.IsNull() }

// reach returns the cluster of a member: at the endpoints that arguments give, and at the
// client URLs at which the member was reached, which are not trusted more for that.
func (r *Resource) reach(m model, diags *diag.Diagnostics) (*backend.Cluster, error) {
	id, _ := membership.ParseClusterID(m.ClusterID.ValueString()) // 0 if it is not known
	known := usable(attribute.Texts(m.ClientURLs))
	c, err := r.Backend.Of(id, r.endpoints(m), diags)
	switch {
	case err == nil:
		c.Cluster.AddFallbackEndpoints(known)
	case errors.Is(err, cluster.ErrNoEndpoints) && len(known) > 0:
		return r.Backend.Where(known), nil
	}
	return c, err
}

func (m model) ids() (membership.MemberID, membership.ClusterID, error) {
	id, err := membership.ParseMemberID(m.ID.ValueString())
	at, err2 := membership.ParseClusterID(m.ClusterID.ValueString())
	return id, at, errors.Join(err, err2)
}

// act does something to the cluster of a member, and reports an error. It reports whether that
// was done.
func (r *Resource) act(m model, action reconfigure.Action, diags *diag.Diagnostics, do func(*backend.Cluster) error) bool {
	c, err := r.reach(m, diags)
	if err == nil {
		err = do(c)
	}
	if err != nil {
		report.Error(diags, text.Explain(action, m.Name.ValueString(), err))
	}
	return err == nil
}

// ensure joins or promotes the member and sets the fields of the model. In place of lost voters
// it promotes a standby: if one must be removed first and nothing removes it, the standby stays
// a learner with a warning, and the rest of the apply continues.
func (r *Resource) ensure(ctx context.Context, m *model, timeout time.Duration, action reconfigure.Action, req reconfigure.JoinRequest, lost *lostVoters, diags *diag.Diagnostics) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.act(*m, action, diags, func(c *backend.Cluster) (err error) {
		var joined reconfigure.Joined
		if lost == nil {
			joined, err = c.Join(ctx, req)
		} else {
			joined, err = c.Failover(ctx, req, lost.Lost)
		}
		if held, ok := errors.AsType[*reconfigure.HeldUp](err); ok {
			report.Warn(diags, text.FailoverHeldUp(req.Name, held))
			return nil
		}
		if err == nil {
			c.WarnUntrusted(joined.Snapshot, diags)
			report.Done(diags, action, req.Name, joined.Outcome)
			m.fromJoined(ctx, joined, diags)
		}
		return err
	})
}

// refresh updates the model. present is false if a confirmed list does not have the
// member. Whatever else happens, the state stays as it is.
func (r *Resource) refresh(ctx context.Context, m *model, diags *diag.Diagnostics) (present bool) {
	name := m.Name.ValueString()
	id, at, err := m.ids()
	switch {
	case r.Backend.Unknown:
		return true
	case err != nil:
		report.Warn(diags, text.BadID(name, err))
		return true
	}
	c, err := r.reach(*m, diags)
	if err != nil {
		report.Warn(diags, text.NotRefreshed(err))
		return true
	}
	snap, seen := c.Refresh(ctx, at, true, diags)
	if !seen {
		return true
	}
	c.WarnUntrusted(snap, diags)
	for _, left := range c.Unfinished(ctx, snap) {
		if c.FirstTime("unfinished " + left.ID.String()) {
			// Nothing of it is in a state, and its block may have gone.
			report.Warn(diags, text.New("Member "+left.ID.String()+" has not started",
				"An apply has added %s, and its process has never started. It may hold the only place of a learner. If another run is adding it, let that run end. "+
					"If the configuration has it, apply again to go on. If no configuration has it, remove it:\n\n  etcdctl member remove %s",
				text.Member(snap, left.ID), left.ID))
		}
	}
	listed, ok := snap.Member(id)
	if !ok && snap.Linearizable {
		// The list of one member suffices for display only.
		if snap, err = c.Confirmed(ctx, at, reconfigure.ActionRead, name); err != nil {
			report.Warn(diags, text.New("Cannot confirm that member "+name+" is gone",
				"The member list of one member does not have it, and nothing was dropped from the state on the word of one.%s", text.Cause(err)))
			return true
		}
		if listed, ok = snap.Member(id); !ok {
			return false
		}
	}
	switch {
	case !ok: // a list that a quorum does not confirm may be out of date
		return true
	case m.Name.IsNull() && listed.Name != "":
		m.Name = types.StringValue(listed.Name) // imported before it had a name
	case listed.Name != "" && listed.Name != name:
		report.Warn(diags, text.New("Member "+name+" bears another name",
			"The process of member %s now calls itself %s (ETCD_NAME); the state says %s. The member is the same, because its ID is. Start the process with its former name again; "+
				"or, to keep the new one, remove the member from the state (terraform state rm) and import it by its ID.", listed.ID, listed.Name, name))
	}
	m.fromMember(listed, snap.Answer(id))
	return true
}

// leave removes the member. A member that is removed permanently can be forgotten if its
// cluster is lost; half of a replacement cannot, unless etcd_cluster gives the cluster up.
func (r *Resource) leave(ctx context.Context, m model, owner string, plan kept, timeout time.Duration, diags *diag.Diagnostics) {
	name, removal, urls := m.Name.ValueString(), plan.Removal, attribute.Texts(m.ClientURLs)
	id, at, err := m.ids()
	if err != nil {
		report.Error(diags, text.BadID(name, err))
		return
	}
	it := membership.Member{ID: id, Name: name, ClientURLs: urls}
	c, err := r.reach(m, diags)
	if i := slices.IndexFunc(plan.Lost, func(g membership.GivingUp) bool { return g.Cluster == at }); i >= 0 {
		lost := plan.Lost[i]
		lost.Known = append(lost.Known, it)
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		r.Backend.GiveUp(ctx, c, lost, true, diags)
		return
	}
	var left reconfigure.Removed
	if err == nil {
		left, err = c.Remove(ctx, reconfigure.RemoveRequest{
			Owner: owner, KeepRecord: owner == m.nodeID(), ID: id, Cluster: at, Name: name, PeerURLs: m.peers(), ClientURLs: urls,
			Replacement: !removal, Permanent: removal, Shared: m.role == roleLearner, Timeout: timeout,
		})
	} else if removal { // no address to ask
		left.Forgotten = err
		err = r.Backend.CheckLost(at, it, err)
	}
	if err != nil {
		report.Error(diags, text.Explain(reconfigure.ActionRemove, name, err))
		return
	}
	report.Done(diags, reconfigure.ActionRemove, name, left.Outcome)
	switch {
	case left.LastVoter:
		report.Warn(diags, text.New("Member "+name+" was the last voter",
			"%s (%s) is the only voter left, so no other member can lead, and etcd cannot remove it. It was removed from the state only; the cluster ends with its machine.", name, id))
	case left.Forgotten != nil:
		report.Warn(diags, text.New("Member "+name+" was forgotten, not removed",
			"%s (%s) was removed from the state only, because its cluster is lost: ETCD_CLUSTER_LOST states which members are gone. The cluster could not decide, and nothing was changed in it. "+
				"If the cluster comes back, the member is still in its list.%s", name, id, text.Cause(left.Forgotten)))
	}
}

// lostVoters are the lost voters that were observed; none if Evidence is empty.
type lostVoters struct {
	Lost     []membership.MemberID `json:"lost,omitempty"`
	Evidence string                `json:"evidence,omitempty"`
}

// lost observes from Terraform and from the leader, for as long as an election may
// take, which voters a standby could stand in for.
func (r *Resource) lost(ctx context.Context, m model, diags *diag.Diagnostics) (seen lostVoters) {
	standby := m.failover.ValueBool() && m.Role.ValueString() == string(roleLearner)
	if !standby || r.Backend.Unknown {
		return lostVoters{}
	}
	_, id, bad := m.ids()
	c, err := r.reach(m, diags)
	if err != nil || bad != nil {
		return lostVoters{}
	}
	c.WatchLoss(ctx, m.Name.ValueString(), func() (membership.Loss, time.Duration) {
		snap, err := c.CachedSnapshot(ctx, id)
		if err != nil {
			return membership.Unreachable, 0 // the refresh reports it
		}
		f := membership.JudgeFailover(snap, cluster.SeenByLeader(ctx, c.Cluster, snap, snap.Down()))
		switch {
		case len(f.Lost) > 0:
			seen = lostVoters{f.Lost, text.FailoverEvidence(snap, f)}
			return membership.Vanished, 0
		case f.Unsettled:
			return membership.Unsettled, 0
		}
		return membership.Present, 0
	})
	return seen
}
