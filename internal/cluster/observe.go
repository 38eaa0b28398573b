// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sort"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// memberList is a member list together with the cluster that gave it.
type memberList struct {
	cluster membership.ClusterID
	members []membership.Member
	quorum  bool // linearizable: a quorum stands behind it
}

// probe is all that one endpoint answered.
type probe struct {
	endpoint string
	status   *clientv3.StatusResponse
	err      error // of the status call
	readOK   bool
	lists    []memberList // the best first
	listErr  error
}

// list reads the member list through one endpoint.
func (c *Client) list(ctx context.Context, endpoint string, linearizable bool) (memberList, error) {
	var out memberList
	err := c.call(ctx, endpoint, func(ctx context.Context, cl *clientv3.Client) (err error) {
		if linearizable {
			// Before 3.5 the list itself is always served locally and may be
			// stale; a linearizable read through the same member just before
			// brings it up to date (etcd-io/etcd#18929).
			if err := readOnce(ctx, cl, c.settings.MetadataPrefix); err != nil {
				return err
			}
		}
		out, err = listOnce(ctx, cl, linearizable)
		return err
	})
	return out, err
}

// readOnce makes a linearizable read. A user who may not read the key has had it
// all the same: a server confirms with the quorum first and looks for the
// permission after that (3.4 to 3.7: TestPermissionIsDeniedAfterTheRead).
func readOnce(ctx context.Context, cl *clientv3.Client, key string) error {
	_, err := cl.Get(ctx, key, clientv3.WithCountOnly())
	if errors.Is(err, rpctypes.ErrPermissionDenied) {
		return nil
	}
	return err
}

// listOnce asks for the member list and nothing else.
func listOnce(ctx context.Context, cl *clientv3.Client, linearizable bool) (memberList, error) {
	var opts []clientv3.OpOption
	if !linearizable {
		opts = append(opts, clientv3.WithSerializable())
	}
	resp, err := cl.MemberList(ctx, opts...)
	if err != nil {
		return memberList{}, err
	}
	out := memberList{cluster: membership.ClusterID(resp.Header.ClusterId), quorum: linearizable}
	for _, m := range resp.Members {
		out.members = append(out.members, membership.Member{
			ID: membership.MemberID(m.ID), Name: m.Name, Learner: m.IsLearner,
			PeerURLs: slices.Clone(m.PeerURLs), ClientURLs: slices.Clone(m.ClientURLs),
		})
	}
	sort.Slice(out.members, func(i, j int) bool { return out.members[i].ID < out.members[j].ID })
	return out, nil
}

// ask probes one endpoint: its status, a linearizable list and, for the case
// that there is no quorum, a local one; all at once, because each of them may
// take the whole request timeout.
func (c *Client) ask(ctx context.Context, endpoint string) probe {
	p := probe{endpoint: endpoint}
	var strong, local memberList
	var strongErr, localErr error
	done := make(chan struct{}, 3)
	go func() { p.status, p.err = c.status(ctx, endpoint); done <- struct{}{} }()
	go func() { strong, strongErr = c.list(ctx, endpoint, true); done <- struct{}{} }()
	go func() { local, localErr = c.list(ctx, endpoint, false); done <- struct{}{} }()
	for range 3 {
		<-done
	}
	if strongErr == nil {
		p.readOK = true
		p.lists = append(p.lists, strong)
	}
	if localErr == nil {
		p.lists = append(p.lists, local)
	}
	if len(p.lists) == 0 {
		p.listErr = strongErr
	}
	return p
}

// askStatus probes a learner: it serves nothing else, and what it does not
// serve it should not be bothered with while it catches up.
func (c *Client) askStatus(ctx context.Context, endpoint string) probe {
	p := probe{endpoint: endpoint}
	p.status, p.err = c.status(ctx, endpoint)
	return p
}

// Observe implements [Cluster].
func (c *Client) Observe(ctx context.Context, want membership.ClusterID) (membership.Snapshot, error) {
	probes := c.askAll(ctx, want)
	before, ok := choose(probes, want)
	if !ok {
		return membership.Snapshot{}, unreachable(probes)
	}
	c.remember(probes, before)

	snap := snapshotOf(before, probes)
	snap.Linearizable = false
	if before.quorum {
		after, err := c.strongList(ctx, before.cluster)
		snap.Linearizable = err == nil && sameMembers(before.members, after.members)
	}
	return snap, ctx.Err()
}

// askAll probes the configured endpoints, those that answered before, and, as
// soon as any list arrives, the client URLs of every member in it. Where no
// list arrives, and a certain cluster is expected, it probes what is known from
// the past.
func (c *Client) askAll(ctx context.Context, want membership.ClusterID) []probe {
	results := make(chan probe)
	asked := map[string]bool{}
	pending := 0
	start := func(endpoint string, f func(context.Context, string) probe) {
		if !asked[endpoint] {
			asked[endpoint] = true
			pending++
			go func() { results <- f(ctx, endpoint) }()
		}
	}
	for _, e := range c.route(0) {
		start(e, c.ask)
	}
	var out []probe
	listed := false
	for pending > 0 {
		p := <-results
		pending--
		out = append(out, p)
		listed = listed || len(p.lists) > 0
		if pending == 0 && !listed && want != 0 {
			c.mu.Lock()
			past := slices.Clone(c.known)
			c.mu.Unlock()
			for _, e := range past {
				start(e, c.ask)
			}
		}
		for _, l := range p.lists {
			for _, m := range l.members {
				f := c.ask
				if m.Learner {
					f = c.askStatus
				}
				for _, u := range askable(m.ClientURLs) {
					start(u, f)
				}
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].endpoint < out[j].endpoint })
	return out
}

// choose picks the list to believe: of the expected cluster where one is
// expected, confirmed by a quorum where one is, of the cluster that most
// endpoints speak for otherwise.
func choose(probes []probe, want membership.ClusterID) (memberList, bool) {
	votes := map[membership.ClusterID]int{}
	for _, p := range probes {
		for _, l := range p.lists {
			votes[l.cluster]++
		}
	}
	var best memberList
	found := false
	better := func(a, b memberList) bool {
		if (a.cluster == want) != (b.cluster == want) {
			return a.cluster == want
		}
		if a.quorum != b.quorum {
			return a.quorum
		}
		if votes[a.cluster] != votes[b.cluster] {
			return votes[a.cluster] > votes[b.cluster]
		}
		return a.cluster < b.cluster
	}
	for _, p := range probes {
		for _, l := range p.lists {
			if !found || better(l, best) {
				best, found = l, true
			}
		}
	}
	return best, found
}

func others(probes []probe, cluster membership.ClusterID) map[membership.ClusterID][]string {
	out := map[membership.ClusterID][]string{}
	for _, p := range probes {
		if p.status == nil {
			continue
		}
		if id := membership.ClusterID(p.status.Header.ClusterId); id != cluster {
			out[id] = append(out[id], p.endpoint)
		}
	}
	return out
}

// answerOf finds what member m itself said. An answer at its address that
// bears another member's ID is a load balancer's: then nothing is known of m.
// asked is false for a member that has published no address to ask at.
func answerOf(m membership.Member, cluster membership.ClusterID, probes []probe) (a membership.Answer, asked bool) {
	for _, p := range probes {
		if p.status != nil && membership.MemberID(p.status.Header.MemberId) == m.ID &&
			membership.ClusterID(p.status.Header.ClusterId) == cluster {
			return answered(p), true
		}
	}
	urls := askable(m.ClientURLs)
	if a, found := notAsked(urls, probes); found {
		return a, true
	}
	for _, p := range probes {
		if !slices.Contains(urls, p.endpoint) {
			continue
		}
		switch {
		case p.status == nil:
			return membership.Answer{State: membership.Silent, Endpoint: p.endpoint, Detail: brief(p.err)}, true
		case membership.ClusterID(p.status.Header.ClusterId) != cluster:
			return membership.Answer{
				State: membership.WrongCluster, Endpoint: p.endpoint,
				ClusterID: membership.ClusterID(p.status.Header.ClusterId),
				MemberID:  membership.MemberID(p.status.Header.MemberId),
				Detail:    "answers for cluster " + membership.ClusterID(p.status.Header.ClusterId).String(),
			}, true
		default:
			a = membership.Answer{
				State: membership.Unprobed, Endpoint: p.endpoint,
				MemberID: membership.MemberID(p.status.Header.MemberId),
				Detail:   "answered by member " + membership.MemberID(p.status.Header.MemberId).String(),
			}
			asked = true
		}
	}
	return a, asked
}

func answered(p probe) membership.Answer {
	s := p.status
	return membership.Answer{
		State: membership.Answered, Endpoint: p.endpoint,
		MemberID: membership.MemberID(s.Header.MemberId), ClusterID: membership.ClusterID(s.Header.ClusterId),
		Leader: membership.MemberID(s.Leader), Term: s.RaftTerm,
		Index: s.RaftIndex, Applied: s.RaftAppliedIndex,
		Learner: s.IsLearner, ReadOK: p.readOK,
		Version: s.Version, DBSize: s.DbSize, DBInUse: s.DbSizeInUse, DBQuota: s.DbSizeQuota, Downgrade: downgradeOf(s),
		Alarms: alarmsIn(s.Errors),
	}
}

// downgradeOf is the version to which the cluster has been told to go back.
func downgradeOf(s *clientv3.StatusResponse) string {
	if s.DowngradeInfo == nil || !s.DowngradeInfo.Enabled {
		return ""
	}
	return s.DowngradeInfo.TargetVersion
}

// remember keeps where members and voters answered, for the calls to come.
func (c *Client) remember(probes []probe, l memberList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.at)
	c.live = c.live[:0]
	for _, p := range probes {
		if p.status == nil || membership.ClusterID(p.status.Header.ClusterId) != l.cluster {
			continue
		}
		id := membership.MemberID(p.status.Header.MemberId)
		if _, known := c.at[id]; !known {
			c.at[id] = p.endpoint
		}
		if p.readOK && !p.status.IsLearner {
			c.live = append(c.live, p.endpoint)
		}
	}
}

// strongList reads a linearizable list of that cluster through any voter.
func (c *Client) strongList(ctx context.Context, cluster membership.ClusterID) (memberList, error) {
	var answers []EndpointError
	for _, e := range c.route(0) {
		l, err := c.list(ctx, e, true)
		if err == nil && (cluster == 0 || l.cluster == cluster) {
			return l, nil
		}
		if ctx.Err() != nil {
			return memberList{}, ctx.Err()
		}
		if err != nil {
			answers = append(answers, EndpointError{e, err})
		}
	}
	return memberList{}, &Unreachable{answers}
}

// Members implements [Cluster].
func (c *Client) Members(ctx context.Context) ([]membership.Member, membership.ClusterID, error) {
	l, err := c.strongList(ctx, 0)
	return l.members, l.cluster, err
}

// Ask implements [Cluster].
func (c *Client) Ask(ctx context.Context, m membership.Member, cluster membership.ClusterID) membership.Answer {
	var probes []probe
	for _, u := range askable(m.ClientURLs) {
		p := c.askStatus(ctx, u)
		probes = append(probes, p)
		if p.status != nil && membership.MemberID(p.status.Header.MemberId) == m.ID {
			break
		}
	}
	a, _ := answerOf(m, cluster, probes)
	return a
}

func unreachable(probes []probe) error {
	u := &Unreachable{}
	for _, p := range probes {
		err := p.listErr
		if err == nil {
			err = p.err
		}
		u.Endpoints = append(u.Endpoints, EndpointError{p.endpoint, err})
	}
	return u
}

func sameMembers(a, b []membership.Member) bool {
	return slices.EqualFunc(a, b, func(x, y membership.Member) bool {
		return x.ID == y.ID && x.Learner == y.Learner && slices.Equal(x.PeerURLs, y.PeerURLs)
	})
}

// askable returns the client URLs in the form in which endpoints are
// compared. Members publish theirs with a scheme; one that does not parse
// cannot be asked and is left out.
func askable(clientURLs []string) []string {
	var out []string
	for _, u := range clientURLs {
		if n, err := connection.ParseEndpoint(u, false); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// brief is the innermost reason, for people: "connection refused".
func brief(err error) string {
	var dial *connection.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &dial):
		return dial.Answer()
	default:
		return err.Error()
	}
}
