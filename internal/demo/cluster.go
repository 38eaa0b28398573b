// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// member is a member as the cluster lists it, with the status that the member
// itself reports.
type member struct {
	ID         uint64   `json:"ID"`
	Name       string   `json:"name"`
	ClientURLs []string `json:"clientURLs"`
	Learner    bool     `json:"isLearner"`

	alive   bool // it answered with its own ID
	leader  bool // in its own view
	version string
}

// hexID returns the ID as etcdctl prints it, without leading zeros.
func (m member) hexID() string { return fmt.Sprintf("%x", m.ID) }

func (m member) role() string {
	if m.Learner {
		return "learner"
	}
	return "voter"
}

// etcdctl runs etcdctl against a cluster, as a person would.
type etcdctl struct{ path string }

func (e etcdctl) run(ctx context.Context, endpoints []string, args ...string) (code int, stdout string, err error) {
	args = append([]string{e.path, "--endpoints=" + strings.Join(endpoints, ","), "--command-timeout=5s", "--dial-timeout=2s"}, args...)
	code, stdout, all, err := command{args: args}.run(ctx)
	if err == nil && code != 0 {
		err = &failure{
			reason: fmt.Sprintf("etcdctl %s ended with exit code %d.", strings.Join(args[4:], " "), code),
			logs:   []excerpt{{strings.Join(args, " "), tail(all, 20)}},
		}
	}
	return code, stdout, err
}

// members returns the member list, sorted by name, with the status of each
// member.
func (e etcdctl) members(ctx context.Context, endpoints []string) ([]member, error) {
	_, out, err := e.run(ctx, endpoints, "member", "list", "--write-out=json")
	if err != nil {
		return nil, err
	}
	var list struct {
		Members []member `json:"members"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("etcdctl member list: %w", err)
	}
	for i := range list.Members {
		e.ask(ctx, &list.Members[i])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	slices.SortFunc(list.Members, func(a, b member) int { return cmp.Compare(a.Name, b.Name) })
	return list.Members, nil
}

// ask adds the status that the member reports. No answer is not an error.
func (e etcdctl) ask(ctx context.Context, m *member) {
	if len(m.ClientURLs) == 0 {
		return
	}
	code, out, err := e.run(ctx, m.ClientURLs[:1], "endpoint", "status", "--write-out=json")
	if err != nil || code != 0 {
		return
	}
	var answers []struct {
		Status struct {
			Header struct {
				MemberID uint64 `json:"member_id"`
			} `json:"header"`
			Version string `json:"version"`
			Leader  uint64 `json:"leader"`
		}
	}
	if json.Unmarshal([]byte(out), &answers) != nil || len(answers) != 1 || answers[0].Status.Header.MemberID != m.ID {
		return
	}
	m.alive = true
	m.version = answers[0].Status.Version
	m.leader = answers[0].Status.Leader == m.ID
}

// put writes one key; get reads it.
func (e etcdctl) put(ctx context.Context, endpoints []string, key, value string) error {
	_, _, err := e.run(ctx, endpoints, "put", key, value)
	return err
}

func (e etcdctl) get(ctx context.Context, endpoints []string, key string) (string, error) {
	_, out, err := e.run(ctx, endpoints, "get", "--print-value-only", key)
	return strings.TrimSuffix(out, "\n"), err
}

// show prints the member table.
func show(r *report, members []member) {
	word := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	var rows [][]string
	voters := 0
	for _, m := range members {
		if !m.Learner {
			voters++
		}
		rows = append(rows, []string{
			m.Name, m.hexID(), m.role(), word(m.leader, "leader", ""), m.version,
			word(m.alive, "yes", "no"), strings.Join(m.ClientURLs, ","),
		})
	}
	r.table([]string{"NAME", "ID", "ROLE", "LEADER", "VERSION", "ALIVE", "ENDPOINT"}, rows)
	quorum := voters/2 + 1
	r.say("%d voters, quorum %d: %s.", voters, quorum, tolerance(voters-quorum))
}

func tolerance(n int) string {
	if n == 0 {
		return "none may fail"
	}
	return fmt.Sprintf("%d may fail", n)
}

// expect returns an error unless the members have the roles in roles, all of
// them are alive, and one is the leader.
func expect(members []member, roles map[string]string) error {
	var wrong []string
	seen := map[string]bool{}
	var leaders []string
	for _, m := range members {
		seen[m.Name] = true
		switch want := roles[m.Name]; {
		case want == "":
			wrong = append(wrong, fmt.Sprintf("%q (%s) is a member and should not be", m.Name, m.hexID()))
		case m.role() != want:
			wrong = append(wrong, fmt.Sprintf("%s is a %s and should be a %s", m.Name, m.role(), want))
		case !m.alive:
			wrong = append(wrong, fmt.Sprintf("%s does not answer", m.Name))
		}
		if m.leader {
			leaders = append(leaders, m.Name)
		}
	}
	for name := range roles {
		if !seen[name] {
			wrong = append(wrong, name+" is not a member")
		}
	}
	if len(leaders) != 1 {
		wrong = append(wrong, fmt.Sprintf("there are %d leaders", len(leaders)))
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return failed("The cluster is not as it should be: %s.", strings.Join(wrong, "; "))
}

// leaderOf returns the name of the leader.
func leaderOf(members []member) string {
	for _, m := range members {
		if m.leader {
			return m.Name
		}
	}
	return ""
}
