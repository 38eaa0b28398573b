// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/syncmap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// Cluster is a cluster that the resources of a provider share.
type Cluster struct {
	*reconfigure.Engine
	backend *Backend
	// settings are the connection settings of the cluster.
	settings connection.Settings
	// latest holds the latest observation, for each set of hosts that are trusted because of the
	// resource that is observed ([connection.Settings.Trust]). A caller takes it out while it
	// uses or renews it.
	latest syncmap.Map[string, chan *look]
}

// HasUser reports whether the provider logs in as a user of the cluster, which then has
// authentication.
func (c *Cluster) HasUser() bool { return c.settings.Username != "" }

// Cluster returns the cluster at the given endpoints, or at the provider's own if there
// are none. The error is [cluster.ErrNoEndpoints], or an [*membership.URLError]
// for an endpoint that is not a URL. Cluster does not connect.
func (b *Backend) Cluster(endpoints []string) (*Cluster, error) {
	settings := b.Settings
	if len(endpoints) > 0 {
		parsed, err := connection.ParseEndpoints(endpoints, settings.TLS != nil)
		if err != nil {
			return nil, err
		}
		settings = settings.At(parsed)
	}
	if len(settings.Endpoints) == 0 {
		return nil, cluster.ErrNoEndpoints
	}
	return b.cluster(settings), nil
}

// Where is [Backend.Cluster] for URLs known only because members advertised
// them. Requests go to them, but that does not make their hosts trusted.
func (b *Backend) Where(learned []string) *Cluster { return b.cluster(b.Settings.Where(learned)) }

func (b *Backend) cluster(settings connection.Settings) *Cluster {
	return b.clusters.GetOrMake(fmt.Sprint(settings.Learned, settings.Endpoints), func() *Cluster {
		port := cluster.New(settings, b.Pool)
		return &Cluster{backend: b, settings: settings, Engine: &reconfigure.Engine{
			Cluster: port, Process: &b.state, Clock: settings.Time(), Self: b.Run.Self().Who, Lost: b.Lost, InUse: b.InUse, Changed: func() { b.changes.Add(1) },
			// It is stored in the cluster itself, next to the ownership records.
			Locker: &claim.Lock{Store: claim.NewV3(port, settings, b.Pool), Self: b.Run.Self(), Clock: settings.Time(), AtExit: b.Pool.BeforeClose},
		}}
	})
}

// Of is [Backend.At] for the cluster with an ID, 0 if it is not known. Resources of one
// cluster share it, and with it their observations, whichever endpoints each of them has.
func (b *Backend) Of(id membership.ClusterID, endpoints []string, diags *diag.Diagnostics) (*Cluster, error) {
	slices.Sort(endpoints)
	c, err := b.At(slices.Compact(endpoints), diags)
	if err != nil || id == 0 {
		return c, err
	}
	shared := b.byID.GetOrMake(id, func() *Cluster { return c })
	if shared != c {
		shared.Cluster.AddFallbackEndpoints(c.settings.Endpoints)
	}
	return shared, nil
}

// Claims returns the store of a provider's heartbeats, on the v2 API or on v3.
// It does not connect.
func (b *Backend) Claims(v2 bool) claim.Store {
	if v2 {
		return claim.NewV2(b.Settings, b.Pool)
	}
	return claim.NewV3(cluster.New(b.Settings, b.Pool), b.Settings, b.Pool)
}

// CheckLost is [reconfigure.CheckLost] for a member without an address to ask.
func (b *Backend) CheckLost(id membership.ClusterID, m membership.Member, cause error) error {
	b.state.Know(id, m)
	r := b.state.Request(membership.GiveUpRequest{Cluster: id}, b.Lost)
	return reconfigure.CheckLost(membership.Evidence{}, r, cause)
}

// GiveUp refuses a plan that gives up a cluster, unless the answers of every known address
// and the statement of the operator allow it. c is nil if no address is known. during is
// true if the apply asks that again. It does not change the cluster.
func (b *Backend) GiveUp(ctx context.Context, c *Cluster, g membership.GivingUp, during bool, diags *diag.Diagnostics) {
	b.state.Know(g.Cluster, g.Known...)
	var err error
	switch {
	case c == nil:
		err = reconfigure.CheckLost(membership.Evidence{}, b.state.Request(g.GiveUpRequest, b.Lost), nil)
	case during:
		err = c.GiveUp(c.alsoAt(ctx, g.At), g.GiveUpRequest)
	default:
		err = c.MayGiveUp(c.alsoAt(ctx, g.At), g.GiveUpRequest)
	}
	log.Debug(ctx, log.Membership, "giving up a cluster", "cluster", g.Cluster, "again", g.Again, "error", err)
	kept, refused := errors.AsType[*reconfigure.NotGivenUp](err)
	if refused && g.Again && kept.Decision.Code == membership.NotStated {
		return
	}
	if err != nil {
		report.Error(diags, text.NotGivenUp(err, g.Why))
	}
}

// CheckForgotten refuses the plan of a removal in a run that states that the cluster of the
// member is lost, if another cluster answers. All else is decided by its apply, when the
// cluster has not removed the member itself. An etcd_cluster that gives the cluster up asks for
// its members.
func (c *Cluster) CheckForgotten(ctx context.Context, id membership.ClusterID, diags *diag.Diagnostics) {
	asked := func(g membership.GivingUp) bool { return g.Cluster == id }
	if id == 0 || c.Lost.Cluster != id || slices.ContainsFunc(membership.GivenUp(c.backend.Table.Clusters()), asked) {
		return
	}
	kept, refused := errors.AsType[*reconfigure.NotGivenUp](c.MayGiveUp(ctx, membership.GiveUpRequest{Cluster: id}))
	if refused && kept.Decision.Code == membership.OtherServes {
		report.Error(diags, text.NotForgotten(kept))
	}
}

// alsoAt adds addresses that arguments of etcd_cluster name to those that are asked. The
// context is for requests, which get the credentials there.
func (c *Cluster) alsoAt(ctx context.Context, urls []string) context.Context {
	c.Cluster.AddFallbackEndpoints(urls)
	return connection.TrustHosts(ctx, urls...)
}

// FindMember returns the member that an argument gives by name or ID, 0 if the
// argument is empty. doing completes "Cannot ...".
func (c *Cluster) FindMember(ctx context.Context, doing, argument, name string, diags *diag.Diagnostics) membership.MemberID {
	if name == "" {
		return 0
	}
	snap, err := c.CachedSnapshot(ctx, 0)
	if err != nil {
		report.Error(diags, text.Maintenance(doing, err))
		return 0
	}
	found := snap.Find(name)
	if len(found) != 1 {
		report.Error(diags, text.NotOne("Invalid "+argument, name, found, snap))
		return 0
	}
	return found[0].ID
}

// WarnUntrusted warns once about the members that get no requests, because the
// credentials must not go to the URLs that they advertise, and how to change
// that. It uses only the provider's arguments, so that the list does not depend
// on which resource comes first.
func (c *Cluster) WarnUntrusted(snap membership.Snapshot, diags *diag.Diagnostics) {
	var urls []string
	for _, m := range snap.Members {
		urls = append(urls, m.ClientURLs...)
	}
	unnamed, plain := c.settings.Untrusted(urls)
	if len(unnamed)+len(plain) == 0 || !c.FirstTime("not asked in "+snap.ClusterID.String()) {
		return
	}
	report.Warn(diags, text.NotTrusted(unnamed, plain))
}

// Refresh returns the [Cluster.CachedSnapshot] of a refresh. seen is false if the cluster cannot be
// read, or is not the one that the state has, 0 if it is not known. One resource warns about
// that, the first one about servers that refuse the provider: it has the cause of what the
// others say. A cluster that has never answered may be silent.
func (c *Cluster) Refresh(ctx context.Context, has membership.ClusterID, answered bool, diags *diag.Diagnostics) (snap membership.Snapshot, seen bool) {
	snap, err := c.CachedSnapshot(ctx, has)
	switch {
	case err != nil:
		if (answered || cluster.TurnedAway(err)) && c.FirstTime("unreachable") {
			report.Warn(diags, text.NotRefreshed(err))
		}
	case has != 0 && snap.ClusterID != has:
		if c.FirstTime("other cluster than " + has.String()) {
			why := text.Explain(reconfigure.ActionRead, "", reconfigure.NewOtherCluster(has, snap)).Detail
			report.Warn(diags, text.New("The endpoints lead to another cluster", "The state was not refreshed. %s", text.Verbatim(why)))
		}
	default:
		return snap, true
	}
	return snap, false
}

// At is [Backend.Cluster] for the endpoints that a resource gives, if it gives any. It
// warns once if the password is sent to them unencrypted, as the provider does about
// its own.
func (b *Backend) At(endpoints []string, diags *diag.Diagnostics) (*Cluster, error) {
	c, err := b.Cluster(endpoints)
	if err != nil || len(endpoints) == 0 {
		return c, err
	}
	reported := b.Settings.InTheClear()
	plain := slices.DeleteFunc(c.settings.InTheClear(), func(u string) bool { return slices.Contains(reported, u) })
	if len(plain) > 0 && b.FirstTime(fmt.Sprint("in the clear: ", plain)) {
		report.Warn(diags, text.PasswordInTheClear(plain))
	}
	return c, nil
}

// Open is [Backend.At] for an operation that the user asks for and that needs a cluster. It
// returns nil with an error if there is none. doing completes "Cannot ...".
func (b *Backend) Open(doing string, endpoints []string, diags *diag.Diagnostics) *Cluster {
	if b == nil || b.Unknown {
		report.Error(diags, text.UnknownProvider(doing))
		return nil
	}
	c, err := b.At(endpoints, diags)
	if err != nil {
		report.Error(diags, text.Maintenance(doing, err))
	}
	return c
}

// Observe is [Backend.Open], and the [Cluster.CachedSnapshot] of what is there.
func (b *Backend) Observe(ctx context.Context, doing string, endpoints []string, diags *diag.Diagnostics) (*Cluster, membership.Snapshot) {
	c := b.Open(doing, endpoints, diags)
	if c == nil {
		return nil, membership.Snapshot{}
	}
	snap, err := c.CachedSnapshot(ctx, 0)
	if err != nil {
		report.Error(diags, text.Maintenance(doing, err))
		return nil, snap
	}
	return c, snap
}

// Listed returns the result of a list for a resource that can be imported.
func Listed(ctx context.Context, req list.ListRequest, name string, identity, resource any) list.ListResult {
	out := req.NewListResult(ctx)
	out.DisplayName = name
	out.Diagnostics.Append(out.Identity.Set(ctx, identity)...)
	if req.IncludeResource && !out.Diagnostics.HasError() {
		out.Diagnostics.Append(out.Resource.Set(ctx, resource)...)
	}
	return out
}

// FirstTime is [Backend.FirstTime].
func (c *Cluster) FirstTime(key string) bool { return c.backend.FirstTime(key) }

// freshness is how long one observation of the cluster serves the refresh of
// many resources. It is far shorter than the time that a person needs to act.
const freshness = 2 * time.Second

// look is an observation of the cluster.
type look struct {
	// want is the expected cluster.
	want membership.ClusterID
	// changes is the number of changes at its start, at the time of its end.
	changes uint64
	at      time.Time
	snap    membership.Snapshot
	err     error
}

// serves reports whether the observation can be used for another expected cluster, after that
// many changes.
func (l *look) serves(want membership.ClusterID, changes uint64, now time.Time) bool {
	switch {
	case l == nil || l.changes < changes || now.Sub(l.at) > freshness:
		return false
	case l.want == want:
		return true
	case l.err != nil:
		return false
	case want == 0: // with a single cluster, it does not matter which is expected
		return len(l.snap.Others) == 0
	default:
		return l.snap.ClusterID == want
	}
}

// CachedSnapshot returns an observation of the cluster. It may be up to two seconds old,
// so that the refresh of any number of resources needs only one, but it began
// after the end of every change made by this process. want is the expected
// cluster, 0 if there is none. The error is that of the observation or of ctx.
// One caller observes, and the others wait for it, each as long as its ctx allows. If the
// one gives up, the next observes. CachedSnapshot is for display and for plans; code that
// changes the cluster observes it directly ([cluster.Cluster.Observe]).
func (c *Cluster) CachedSnapshot(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	// A change that ends after this point does not invalidate this observation.
	changes := c.backend.changes.Load()
	latest := c.latest.GetOrMake(c.settings.Trust(ctx), func() chan *look {
		first := make(chan *look, 1)
		first <- nil
		return first
	})
	var l *look
	select {
	case l = <-latest:
		defer func() { latest <- l }()
	case <-ctx.Done():
		return membership.Snapshot{}, ctx.Err()
	}
	if now := c.Clock.Now(); l.serves(want, changes, now) {
		log.Debug(ctx, log.Membership, "observation used", "age", now.Sub(l.at))
		return l.snap, l.err
	}
	next := &look{want: want, changes: c.backend.changes.Load()}
	log.Debug(ctx, log.Membership, "observing the cluster", "endpoints", c.settings.Endpoints)
	next.snap, next.err = c.Cluster.Observe(ctx, want)
	log.Debug(ctx, log.Membership, "observed the cluster", "cluster", next.snap.ClusterID, "members", len(next.snap.Members), "error", next.err)
	if next.at = c.Clock.Now(); ctx.Err() == nil { // otherwise the error is that of this caller
		l = next
	}
	return next.snap, next.err
}
