// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// What is known of a member from the answer at one address, the least first.
const (
	byAnother     = iota + 1 // a load balancer answered, so nothing is known about the member
	unanswered               // nothing answers there, or another cluster
	atAnothersURL            // an answer and its address name different members
	notAsked                 // the member may be alive there, so it is not Silent
)

// answerOf returns the answer of member m: an answer with its ID from one of
// its own addresses, or else the first of those that say most. asked is false if the
// member has not published a client URL.
func answerOf(m membership.Member, cluster membership.ClusterID, probes []probe, who owners) (a membership.Answer, asked bool) {
	known := 0
	note := func(as int, answer membership.Answer) {
		if as > known {
			known, a = as, answer
		}
	}
	for _, p := range probes {
		from, id := p.from()
		ours, own := p.status != nil && from == cluster, who.isOwnAddress(p.endpoint, id)
		silent, of := p.status == nil, membership.Answer{State: membership.Unprobed, Endpoint: p.endpoint, MemberID: id, Detail: brief(p.err)}
		switch at := slices.Contains(m.ClientURLs, p.endpoint); {
		case ours && id == m.ID && own:
			return answered(p), true
		case ours && id == m.ID && len(who.at(p.endpoint)) > 0:
			of.Detail = fmt.Sprintf("answered with the ID of member %s at a URL of member %s", id, who.at(p.endpoint)[0])
			note(atAnothersURL, of)
		case at && silent && connection.KindOf(p.err) == connection.NotAsked:
			note(notAsked, of)
		case at && silent:
			of.State = membership.Silent
			note(unanswered, of)
		case at && !ours:
			of.State, of.ClusterID, of.Detail = membership.WrongCluster, from, "answers for cluster "+from.String()
			note(unanswered, of)
		case at && own:
			of.Detail = "answered by member " + id.String()
			note(byAnother, of)
		case at:
			of.Detail = "answered by member " + id.String()
			note(atAnothersURL, of)
		}
	}
	return a, known > 0
}

func answered(p probe) membership.Answer {
	s := p.status
	cluster, id := p.from()
	_, readOK := p.strong()
	a := membership.Answer{
		State: membership.Answered, Endpoint: p.endpoint, MemberID: id, ClusterID: cluster,
		Leader: membership.MemberID(s.Leader), Term: s.RaftTerm, Index: s.RaftIndex, Applied: s.RaftAppliedIndex,
		Learner: s.IsLearner, ReadOK: readOK,
		Version: s.Version, DBSize: s.DbSize, Revision: s.Header.GetRevision(),
		Alarms: alarmsIn(s.Errors), CertificateEnd: p.certificate,
	}
	if d := s.DowngradeInfo; d != nil && d.Enabled {
		a.Downgrade = d.TargetVersion
	}
	return a
}

// brief returns the innermost reason for display, such as "connection refused".
func brief(err error) string {
	if err == nil {
		return ""
	}
	if answer, ok := errors.AsType[*connection.Error](err); ok {
		return answer.Answer()
	}
	return err.Error()
}

// raised matches an alarm in a status: the text of a message, which 3.7 writes
// with more white space than earlier releases.
var raised = regexp.MustCompile(`^memberID:([0-9]+)\s+alarm:([A-Z]+)\s*$`)

// alarmsIn returns the alarms among the errors of a status answer. It does not
// list the alarms, because that request goes through raft and needs a quorum.
func alarmsIn(errors []string) (out []membership.Alarm) {
	for _, e := range errors {
		if m := raised.FindStringSubmatch(e); m != nil {
			if id, err := strconv.ParseUint(m[1], 10, 64); err == nil {
				out = append(out, membership.Alarm{Member: membership.MemberID(id), Kind: m[2]})
			}
		}
	}
	return out
}

// Evidence implements [Cluster].
func (c *Client) Evidence(ctx context.Context, of membership.ClusterID) membership.Evidence {
	probes := c.askAll(ctx, of, true)
	e := membership.Evidence{Lists: map[membership.ClusterID][]membership.Member{}}
	e.Snapshot, _ = c.observed(ctx, probes, of) // without a list it is empty
	for _, p := range probes {
		at := p.heard(of)
		for i := range at {
			if to := c.settings.AddressMap[p.endpoint]; to != "" {
				at[i].Detail += " (asked at " + to + ", by address_map)"
			} else if u, err := url.Parse(p.endpoint); err == nil {
				_, err = netip.ParseAddr(u.Hostname())
				at[i].Literal = err == nil
			}
			if l, ok := c.choose(probes, at[i].Cluster); ok && l.cluster == at[i].Cluster && l.cluster != of {
				e.Lists[l.cluster] = l.members
			}
		}
		e.Heard = append(e.Heard, at...)
	}
	return e
}

// heard says what the answers of an endpoint mean for a cluster. Behind one address, such as
// that of a load balancer, servers of several clusters may answer.
func (p probe) heard(of membership.ClusterID) []membership.Heard {
	h := membership.Heard{Endpoint: p.endpoint}
	h.Cluster, h.Member = p.from()
	if p.status == nil && len(p.lists) > 0 {
		h.Cluster, h.Member = p.lists[0].cluster, p.lists[0].from
	}
	_, readOK := p.strong()
	switch {
	case h.Cluster != of && h.Cluster != 0:
		h.Detail = "answers for cluster " + h.Cluster.String()
	case readOK:
		h.Detail = "serves requests"
	case p.status != nil && p.status.IsLearner:
		h.Detail = "answers as a learner"
	case p.status != nil && len(p.lists) > 0:
		h.Detail = "answers without a quorum"
	case h.Cluster != 0:
		h.Detail = "answers some requests"
	default:
		h.Silent, h.Detail = worst(p.listErr, p.err)
		h.Refuses = isRefusal(p.listErr) || isRefusal(p.err)
	}
	out := []membership.Heard{h}
	for _, l := range p.lists {
		if !slices.ContainsFunc(out, func(h membership.Heard) bool { return h.Cluster == l.cluster }) {
			out = append(out, membership.Heard{
				Endpoint: p.endpoint, Cluster: l.cluster, Member: l.from,
				Detail: "answers for cluster " + l.cluster.String() + " as well",
			})
		}
	}
	return out
}

// isRefusal reports whether an error comes from a server that does not let the provider ask
// it, or from one that it must not ask.
func isRefusal(err error) bool {
	return err != nil && saidBy(err)&(refusesUs|aLearner|noQuorum|notAskedThere) != 0
}

// worst returns the error of an endpoint that says most against giving up its
// cluster. If a login does not complete, that explains the other error as well.
func worst(errs ...error) (silent bool, detail string) {
	silent = true
	for _, err := range errs {
		switch {
		case err == nil:
		case saidBy(err) == noQuorum:
			return false, brief(err)
		case silent && !isSilent(err) || detail == "":
			silent, detail = isSilent(err), brief(err)
		}
	}
	return silent, detail
}
