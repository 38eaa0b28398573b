// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// call gives a server another name, and looks at what it is.
func (p *script) call(server, name string) {
	s := p.servers[server]
	s.ResponseHeader = s.status(p).Header
	p.servers[name] = s
	p.set("$"+name, fmt.Sprint(s.MemberId))
	p.set("$url_"+name, s.PeerURL())
	p.set("$name_"+name, s.name)
}

// leads waits until the named servers have one leader, and returns its name. Without names
// it calls the leader of all servers lead, and the others f1 and so on.
func (p *script) leads(names ...string) (lead string) {
	all := names
	for _, letter := range []string{"a", "b", "c", "d"} {
		if p.servers[letter] != nil && len(names) == 0 {
			all = append(all, letter)
		}
	}
	var ms []member
	for _, name := range all {
		ms = append(ms, p.servers[name].member)
	}
	leading := leader(p, ms)
	followers := 0
	for i, name := range all {
		as := name
		switch isLead := ms[i].server == leading.server; {
		case isLead && len(names) == 0:
			as = "lead"
		case isLead:
			lead = name
		case len(names) == 0:
			followers++
			as = fmt.Sprint("f", followers)
		}
		p.call(name, as)
	}
	return lead
}

// do starts and stops servers, and cuts them off.
func (p *script) do(line string) string {
	what, name, _ := strings.Cut(line, " ")
	s := p.servers[name]
	switch what {
	case "join": // neither added nor started
		one := p.joiner(p, name)
		p.servers[name] = &scripted{member: member{server: one}, name: name}
		p.set("$url_"+name, one.PeerURL())
	case "start":
		s.Start()
		if s.Client == nil {
			s.Client, s.conn = s.server.Client(p), s.server.conn(p)
		}
	case "restart": // another process, which its start time tells from the one before
		first := started(s.server)
		s.PowerOff()
		s.Start()
		etcdtest.Until(p, "another start time", func() bool { return started(s.server) > first })
	case "poweroff":
		s.PowerOff()
	case "freeze":
		s.Freeze()
	case "thaw":
		s.Thaw()
	case "split":
		p.split(s.server)
	case "heal":
		p.heal()
	case "rest":
		time.Sleep(time.Minute)
	case "move": // a process to another port
		s.PowerOff()
		s.server.(simServer).Process.PeerURL = "http://" + name + ".example:3380"
		s.Start()
	case "wipe":
		s.server.(simServer).Wipe()
	case "stall":
		s.server.(simServer).Stall()
	case "catchup":
		s.server.(simServer).CatchUp()
	default:
		p.Fatalf("cannot %s", what)
	}
	return ""
}

// started returns the start time of a process, 0 while it does not serve.
func started(s server) (at float64) {
	metrics, _ := metricsOf(s)
	_, rest, _ := strings.Cut("\n"+metrics, "\nprocess_start_time_seconds ")
	_, _ = fmt.Sscan(rest, &at)
	return at
}

// peers returns the servers to which a server is connected.
func (p *script) peers(name string) string {
	metrics, err := metricsOf(p.servers[name].server)
	ok(p, err)
	var out []string
	for symbol, id := range p.values {
		var n uint64
		_, _ = fmt.Sscan(id, &n)
		if n > 0 && strings.Contains("\n"+metrics, fmt.Sprintf("\netcd_network_active_peers{Local=\"%x\",Remote=\"%x\"} 1\n", p.servers[name].MemberId, n)) && p.symbols[id] == symbol {
			out = append(out, symbol)
		}
	}
	slices.Sort(out)
	return cmp.Or(strings.Join(out, " "), "none")
}

// await repeats requests until the answers are those of the file. If it has none yet, any
// will do that are no errors.
func (p *script) await(what, want string, lines func() string) (out string) {
	etcdtest.Eventually(p, what, func() error {
		if out = lines(); out == want || want == "" && !strings.Contains(out, "! ") {
			return nil
		}
		return errors.New(out)
	})
	return out
}

// header looks at what a server is that was started after the others.
func (p *script) header(name string) {
	if s := p.servers[name]; s.ResponseHeader == nil &&
		short(func(ctx context.Context) error { _, err := s.Status(ctx, s.ClientURL()); return err }) == nil {
		p.call(name, name)
	}
}
