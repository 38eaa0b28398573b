// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
)

func init() { // steps run steps
	outsideSteps = map[string]step{
		// What happens outside of Terraform.
		"wait": {
			"DURATION", "time passes",
			func(s *runner, d string) { s.rest(length(d)) },
		},
		"env": {
			"NAME [VALUE]", "a variable of the environment of Terraform",
			pair(func(s *runner, name, value string) { s.env[name] = value }),
		},
		"skew": {
			"DURATION", "how far the clock of the computer that runs Terraform is ahead",
			func(s *runner, d string) { s.skew = length(d) },
		},
		"no-checks": {
			"", "the servers check nothing of a change of the membership, as without --strict-reconfig-check",
			func(s *runner, _ string) { s.network.Lax = true },
		},
		"stop": {
			"NAMES", "the machines are switched off",
			outside(func(s *runner, name string) { s.fleet.stop(name) }),
		},
		"start": {
			"NAMES", "the machines are switched on",
			each(func(s *runner, name string) { s.fleet.start(name) }),
		},
		"lose": {
			"NAMES", "the machines are destroyed outside of Terraform",
			outside(func(s *runner, name string) { s.fleet.lose(name) }),
		},
		"wipe": {
			"NAMES", "the machines lose the data of their members, and start again",
			outside(func(s *runner, name string) { s.fleet.wipe(name) }),
		},
		"blank": {
			"NAME", "the machine loses its whole disk, and starts again",
			outside(func(s *runner, name string) { s.fleet.wipe(name); s.fleet.of(name).mark = false }),
		},
		"outage": {
			"NAMES", "in a judged scenario, more than half of the voters are switched off",
			func(s *runner, names string) { s.loseQuorum(strings.Fields(names)) },
		},
		"restart-g": {
			"", "in a judged scenario, g restarts with its new peer URL",
			func(s *runner, _ string) { s.restartSecond() },
		},
		"parallelism": {
			"N", "-parallelism: 1, or 0 for the default",
			func(s *runner, n string) { s.ws.Parallelism = map[string]int{"1": 1}[n] },
		},
		"late-backend": {
			"", "the backend persists the state at most every 20 seconds of an apply, and at its end",
			func(s *runner, _ string) { s.ws.Late = true },
		},
		"latency": {
			"DURATION", "how long a request takes",
			func(s *runner, d string) { s.schedule.Latency = length(d) },
		},
		"converge": {
			"",
			"in a judged scenario, everything returns, and the operator applies and follows the texts until both " +
				"plans are empty",
			func(s *runner, _ string) { s.converge() },
		},
		"never-boots": {
			"[NAMES]", "the next machines of these names, or of all, never boot",
			func(s *runner, names string) {
				for _, name := range strings.Fields(cmp.Or(names, strings.Join(s.dir.names, " "))) {
					s.fleet.broken[name] = true
				}
			},
		},
		"boots": {
			"NAMES", "the next machines of these names boot again",
			each(func(s *runner, name string) { s.fleet.broken[name] = false }),
		},
		"out-of-stock": {
			"NAMES", "the cloud makes no machine of these names",
			each(func(s *runner, name string) { s.fleet.soldOut[name] = true }),
		},
		"in-stock": {
			"NAMES", "the cloud makes machines of these names again",
			each(func(s *runner, name string) { s.fleet.soldOut[name] = false }),
		},
		"crashes": {
			"NAMES", "the next members of these names crash",
			each(func(s *runner, name string) { s.fleet.never[name] = 1 }),
		},
		"off-after-removal": {
			"NAME", "the machine is switched off as soon as its member has ended",
			func(s *runner, dying string) {
				s.fleet.changed = func(name string, runs bool) {
					if name == dying && !runs {
						s.fleet.set(func() { s.fleet.disks[name].off = true })
					}
				}
			},
		},
		"no-space-after-start": {
			"NAME", "the member raises an alarm as soon as it has started",
			func(s *runner, starting string) {
				s.fleet.changed = func(name string, runs bool) {
					if name == starting && runs {
						s.outOfSpace(name)
					}
				}
			},
		},
		"restart": {
			"NAME [URL]", "the process of a member restarts, with this peer URL",
			pair(func(s *runner, name, url string) { s.restart(name, url) }),
		},
		"process": {
			"NAME", "a process is started by hand for an added member",
			func(s *runner, name string) {
				s.must(s.cluster.NewProcess(name, release).Start())
				s.rest(time.Minute)
			},
		},
		"learners": {
			"N", "how many learners a cluster takes",
			func(s *runner, n string) { s.network.MaxLearners = int(n[0] - '0') },
		},
		"stuck": {
			"on|off", "the cloud destroys no machine but that of a",
			func(s *runner, is string) {
				if s.ws.Machines = s.fleet; is == "on" {
					s.ws.Machines = stuck{s.fleet}
				}
			},
		},
		"versions": {
			"VERSION [IMAGE=VERSION ...]", "the etcd of the images",
			func(s *runner, rest string) {
				words := strings.Fields(rest)
				s.fleet.version = func(image string) etcdsim.Version {
					for _, w := range words[1:] {
						if of, v, _ := strings.Cut(w, "="); of == image {
							return etcdsim.Version(v)
						}
					}
					return etcdsim.Version(words[0])
				}
			},
		},
		"other-cluster": {
			"[VERSION]", "a member of another cluster answers at all addresses",
			func(s *runner, version string) {
				s.other = s.network.Form(cmp.Or(etcdsim.Version(version), release), "x").Processes()[0]
				s.rest(time.Minute)
				s.all(func(p *etcdsim.Process) { s.network.Answer(p.ClientURL, s.other) })
			},
		},
		"other-cluster-at": {
			"URL", "a member of the other cluster answers there",
			func(s *runner, url string) { s.network.Answer(url, s.other) },
		},
		"by-hand": {
			"NAMES", "a snapshot is restored by hand on these machines; in a judged scenario if the quorum is lost",
			func(s *runner, names string) {
				if s.oracle != nil && s.oracle.serves() {
					return
				}
				s.fleet.byHand(strings.Fields(names)...)
				s.restoredByHand = true
				s.rest(time.Minute)
			},
		},
		"http-port": {
			"PORT", "the servers serve /metrics at this port",
			func(s *runner, port string) { s.network.HTTP = port },
		},
		"metrics-url": {
			"URL", "metrics_url of the provider",
			func(s *runner, url string) { s.ws.Provider["metrics_url"] = url },
		},
		"killed-adding": {
			"NAME", "an apply that adds the node is killed once it has recorded its member",
			func(s *runner, name string) { s.killedWhileAdding(name) },
		},
		"repair": {
			"NAME", "what \"killed-adding\" left boots",
			func(s *runner, name string) {
				s.network.After, s.fleet.broken[name] = nil, false
				s.fleet.start(name)
			},
		},
		"etcdctl": {
			"COMMAND",
			"an operator runs etcdctl: member add, remove, promote and update with a name in place of the ID and " +
				"URL, put, downgrade enable, user and role",
			func(s *runner, rest string) { s.etcdctlBy(strings.Fields(rest)) },
		},
		"via": {
			"NAME", "the member that etcdctl asks",
			func(s *runner, name string) { s.via = name },
		},
		"machines": {
			"NAMES", "machines outside of Terraform that form a cluster",
			func(s *runner, names string) {
				s.names = names
				for _, name := range strings.Fields(names) {
					s.run("founder " + name)
				}
				s.rest(time.Minute)
			},
		},
		"founder": {
			"NAME", "a machine outside of Terraform that forms the cluster with the others",
			func(s *runner, name string) { s.fleet.add(name, environment(name, s.names, false)) },
		},
		"joiner": {
			"NAME NAMES", "a machine outside of Terraform that asks these to join",
			pair(func(s *runner, name, peers string) { s.fleet.add(name, environment(name, peers, true)) }),
		},
		"keep-data": {
			"NAMES", "the data disks of the machines outlive them",
			each(func(s *runner, name string) { s.fleet.keep[name] = true }),
		},
		"machine": {
			"NAME", "a machine outside of Terraform that joins the cluster",
			func(s *runner, name string) { s.fleet.add(name, environment(name, s.names, true)) },
		},
		"no-space": {
			"NAME", "the member raises an alarm",
			func(s *runner, name string) { s.outOfSpace(name) },
		},
		"secure": {
			"", "the users of the guide \"Network and security\" are made, and authentication is enabled",
			func(s *runner, _ string) { s.secure() },
		},
		"run-as": {
			"VERSION NAMES", "the members run another version, on their machines",
			func(s *runner, rest string) {
				words := strings.Fields(rest)
				for _, name := range words[1:] {
					s.fleet.stop(name)
					p := s.fleet.of(name).process
					p.Version = etcdsim.Version(words[0])
					s.must(p.Start())
					s.rest(time.Minute)
				}
			},
		},
		"provider-key": {
			"KEY VALUE", "a key of the provider is written by hand",
			pair(func(s *runner, key, value string) { s.put(key, value) }),
		},
		"delete-keys": {
			"PART", "the keys of the provider with this part are deleted",
			func(s *runner, part string) { s.forget(part) },
		},
	}
}
