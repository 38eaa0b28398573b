// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// phrases are the first words of the lines of a script.
var phrases map[string]func(s *script, rest string)

// each does something to each name or address in a line.
func each(do func(s *script, word string)) func(*script, string) {
	return func(s *script, rest string) {
		for _, word := range addresses(rest) {
			do(s, word)
		}
	}
}

// pair does something with the first word of a line and what is left of it.
func pair(do func(s *script, first, rest string)) func(*script, string) {
	return func(s *script, line string) {
		first, rest, _ := strings.Cut(line, " ")
		do(s, first, rest)
	}
}

// whole is a verb with the space at its end, which a line does not have.
func whole(verb string) string {
	if strings.HasSuffix(verb, " =") {
		verb += " "
	}
	return verb
}

func init() { // a map that refers to itself
	phrases = map[string]func(s *script, rest string){
		// The first line, and the last one. form is a cluster that has formed, after all windows.
		"form": func(s *script, names string) {
			s.play("nodes " + names)
			s.play("apply")
			s.play("members " + names)
			s.rest(time.Hour)
			s.empty("formed")
		},
		"found": func(s *script, names string) { // made without this provider; the state has its machines
			s.all(func(p *etcdsim.Process) { s.fleet.adopt(p) })
			s.ws.Provider = s.provider(names)
			for _, name := range strings.Fields(names) {
				r := driver.Resource{Type: "machine", Name: `node["` + name + `"]`, Values: driver.Values{"name": name, "image": "one"}}
				s.ws.Resources = append(s.ws.Resources, r)
			}
			s.play("apply")
			s.space.unmanaged = true
			s.play("nodes " + names)
		},
		"taken": func(s *script, names string) { // members without nodes, of a cluster that was there
			s.site = s.taken(names)
			s.space.ws = s.ws
		},
		"play": func(s *script, part string) {
			for _, line := range s.parts[part] {
				s.play(line)
			}
		},
		"estate": func(s *script, names string) { // nodes, each with its machine and member
			s.all(func(p *etcdsim.Process) { s.fleet.adopt(p) })
			s.names = names
			all := nodesOf(names, names)
			for i := 0; i < len(all); i += 2 { // the machines run before a state has their members
				s.ws.Resources = append(s.ws.Resources, all[i])
			}
			s.play("apply")
			s.ws.Resources = all
			s.play("apply")
			s.play("members " + names)
			s.empty("first")
		},
		"adopted": func(s *script, names string) {
			s.ws = s.adopt(names)
			s.ws.Machines, s.space.ws = s.fleet, s.ws
		},
		"finish": func(s *script, _ string) { s.finish() },
		"gone":   func(s *script, _ string) { s.expect("the state", s.ws.Addresses(), "[]") },
		"prints": func(s *script, what string) { s.prints = append(s.prints, whole(what)) },

		// Edits of the configuration.
		"space": func(s *script, name string) { s.use(name, nil) },
		"clone": func(s *script, name string) { s.use(name, s.ws.Clone()); s.space.image = s.spaces["main"].image },
		"nodes": func(s *script, names string) {
			s.space.names, s.names = names, names
			s.configure()
		},
		"image": func(s *script, image string) { s.space.image = image; s.configure() },
		"apart": func(s *script, name string) { s.space.apart = name; s.configure() },
		"set": pair(func(s *script, name, text string) {
			v := s.value(text)
			s.space.more[name] = v
			if s.space.names != "" {
				s.set(name, v)
			}
		}),
		"unset":    func(s *script, name string) { delete(s.space.more, name); delete(s.ws.Resources[0].Values, name) },
		"provider": func(s *script, names string) { s.ws.Provider = s.provider(names) },
		"give": func(s *script, rest string) {
			words := strings.SplitN(rest, " ", 3)
			s.resource(address(words[0])).Values[words[1]] = s.value(words[2])
		},
		"only": func(s *script, names string) { s.ws.Resources = members(names) }, // members without nodes
		"more": func(s *script, names string) { s.ws.Resources = append(s.ws.Resources, nodesOf(names, s.names)...) },
		"knows": func(s *script, rest string) { // what a member has of its node
			words := strings.SplitN(rest, " ", 3)
			config, _ := s.resource("etcd_member." + words[0]).Values["config"].(driver.Values)
			start := map[string]any{}
			must.Succeed(s, json.Unmarshal([]byte(config["start"].(string)), &start))
			start[words[1]] = s.value(words[2])
			written, _ := json.Marshal(start)
			config["start"] = string(written)
		},
		"becomes": pair(func(s *script, at, typ string) { s.resource(at).Type = typ }),
		"after": func(s *script, rest string) {
			at := addresses(rest)
			s.resource(at[0]).After = at[1:]
		},
		"also": pair(func(s *script, typ, names string) {
			s.ws.Resources = append(s.ws.Resources, nodes(strings.Fields(names), s.space.image)...)
			s.ws.Resources[len(s.ws.Resources)-1].Type = typ
		}),
		"block": func(s *script, rest string) {
			words := strings.SplitN(rest, " ", 2)
			typ, name, _ := strings.Cut(words[0], ".")
			v, _ := s.value(words[1]).(driver.Values)
			s.ws.Resources = append(s.ws.Resources, driver.Resource{Type: typ, Name: name, Values: v})
		},
		"copy": pair(func(s *script, at, name string) { // of a resource of the first space
			i := slices.IndexFunc(s.spaces["main"].ws.Resources, func(r driver.Resource) bool { return r.Address() == address(at) })
			r := s.spaces["main"].ws.Resources[i]
			r.Name, r.Values = cmp.Or(name, r.Name), maps.Clone(r.Values)
			s.ws.Resources = append(s.ws.Resources, r)
		}),
		"without": each(func(s *script, at string) {
			s.ws.Resources = slices.DeleteFunc(slices.Clone(s.ws.Resources), func(r driver.Resource) bool { return r.Address() == at })
		}),
		"create_before_destroy": func(s *script, of string) { // of all members, one or none
			for i, r := range s.ws.Resources {
				s.ws.Resources[i].CreateBeforeDestroy = r.Type == "etcd_member" && (of == "on" || of == r.Name)
			}
		},
		"standby": pair(func(s *script, name, text string) {
			s.space.learner = name
			s.space.arguments, _ = s.value(text).(driver.Values)
			s.configure()
		}),
		"impatient": func(s *script, name string) { s.ws.Resources = append(s.ws.Resources, impatient(name, "")) },
		"restore": pair(func(s *script, of, names string) {
			var gone []any
			for _, name := range strings.Fields(names) {
				gone = append(gone, name)
			}
			s.space.more["restore"] = restoreOf(of, gone...)
			s.set("restore", s.space.more["restore"])
		}),
		"literal": func(s *script, _ string) { // URLs have IP addresses
			wanted := map[string]any{}
			for i, name := range []string{"a", "b", "c"} {
				url := fmt.Sprintf("http://10.0.0.%d:", i+1)
				wanted[name] = driver.Values{"peer_urls": []any{url + "2380"}, "client_urls": []any{url + "2379"}}
			}
			s.space.more["members"] = wanted
		},
		"ignore-user-data": func(s *script, _ string) { s.ignoreUserData() },
		"take-apart":       func(s *script, _ string) { s.takeApart() },
		"as":               func(s *script, names string) { s.ws.Provider = s.as(names, s.user) },
		"moved": func(s *script, rest string) { // a resource or a block of them, by a moved block
			at := addresses(rest)
			s.ws.Moved = append(s.ws.Moved, driver.Moved{From: at[0], To: at[1]})
			s.configure()
		},
		"imports": func(s *script, rest string) { // an import block, or none
			if at := addresses(rest); len(at) == 2 {
				s.ws.Imports = append(s.ws.Imports, driver.Import{To: at[0], ID: at[1]})
			} else {
				s.ws.Imports = nil
			}
		},
		"machine-stays": func(s *script, _ string) {
			for i := range s.ws.Resources {
				s.ws.Resources[i].ReplacedBy = nil
			}
		},

		// Edits of the state.
		"taint":   each(func(s *script, at string) { s.ws.Taint(at) }),
		"untaint": each(func(s *script, at string) { s.ws.Untaint(at) }),
		"forget": func(s *script, rest string) {
			if rest == "everything" {
				rest = strings.Join(s.ws.Addresses(), " ")
			}
			each(func(s *script, at string) { s.ws.Forget(at) })(s, rest)
		},
		"rename": func(s *script, rest string) { at := addresses(rest); s.ws.Rename(at[0], at[1]) }, // state mv
		"keep-state": func(s *script, name string) {
			kept := s.ws.Backup()
			s.states[name] = func() { s.ws.Restore(kept) }
		},
		"put-back": func(s *script, name string) { s.states[name]() }, // a state that was kept

		// Commands.
		"apply": func(s *script, rest string) {
			s.command(rest, func(ctx context.Context, opts []driver.Option) (*driver.Plan, driver.Result) {
				return s.ws.Up(ctx, s.start("apply"), opts...)
			})
			s.rest(time.Minute)
		},
		"try": func(s *script, line string) { // it may fail
			s.tries = true
			s.play(line)
			s.tries = false
		},
		"plan": func(s *script, rest string) {
			s.command(rest, func(ctx context.Context, opts []driver.Option) (plan *driver.Plan, r driver.Result) {
				plan, r = s.ws.Plan(ctx, s.start("plan"), opts...)
				s.planned = plan
				return plan, r
			})
		},
		"carry": func(s *script, rest string) { // out the last plan
			s.command(strings.TrimPrefix(rest, "out "), func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
				return s.planned, s.ws.Apply(ctx, s.start("late"), s.planned)
			})
		},
		"refresh": func(s *script, rest string) {
			s.command(rest, func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
				return nil, s.ws.Refresh(ctx, s.start("refresh"))
			})
		},
		"import": func(s *script, rest string) {
			s.command(rest, func(_ context.Context, words []driver.Option) (*driver.Plan, driver.Result) {
				return nil, s.take(string(words[0]), string(words[1]))
			})
		},
		"move": func(s *script, rest string) {
			at := addresses(rest)
			s.ok(s.ws.Move(s.Context(), s.start("moved"), at[0], at[1]))
		},
		"beat": func(s *script, name string) {
			s.command(name, func(context.Context, []driver.Option) (*driver.Plan, driver.Result) {
				o, _, r := s.opens("beat", s.provider(s.names), "etcd_heartbeat", fmt.Sprintf(`{"name": %q}`, name))
				if o != nil {
					s.ok(driver.ResultOf("", o.end()))
					o.run.Close()
				}
				return nil, r
			})
		},
		"together": func(s *script, name string) { // this space and another one
			first := make(chan driver.Result, 1)
			go func() { _, r := s.ws.Up(s.Context(), s.start("first")); first <- r }()
			_, r := s.spaces[name].ws.Up(s.Context(), s.start("second"))
			s.ok(r)
			s.ok(<-first)
		},
		"repeat": pair(func(s *script, times, line string) {
			n, err := strconv.Atoi(times)
			s.must(err)
			for range n {
				s.play(line)
			}
		}),
		"settle": func(s *script, _ string) {
			s.rest(time.Minute)
			for range 5 {
				s.play("apply")
			}
			s.expect("members", s.list(), s.space.names)
			s.empty("settled")
		},
		// What a text prints: "WORDS | VERB". then is follow, and what it leads to is followed next.
		"follow": func(s *script, rest string) {
			words, verb, _ := strings.Cut(rest, " | ")
			s.ok(s.follow(s.said, words, whole(verb)))
		},
		"then": func(s *script, rest string) {
			words, verb, _ := strings.Cut(rest, " | ")
			s.said = s.follow(s.said, words, whole(verb))
		},
		"remember": func(s *script, _ string) { s.kept = s.said },
		"recall":   func(s *script, _ string) { s.said = s.kept },
		"place":    func(s *script, at string) { s.place = at },
		"user":     func(s *script, name string) { s.user = name },

		// What happens outside of Terraform.
		"wait":    func(s *script, d string) { s.rest(length(d)) },
		"env":     pair(func(s *script, name, value string) { s.env[name] = value }),
		"skew":    func(s *script, d string) { s.skew = length(d) },
		"lax":     func(s *script, _ string) { s.network.Lax = true }, // the servers check nothing
		"stop":    each(func(s *script, name string) { s.fleet.stop(name) }),
		"start":   each(func(s *script, name string) { s.fleet.start(name) }),
		"lose":    each(func(s *script, name string) { s.fleet.lose(name) }),
		"wipe":    each(func(s *script, name string) { s.fleet.wipe(name) }),
		"broken":  each(func(s *script, name string) { s.fleet.broken[name] = true }),
		"sound":   each(func(s *script, name string) { s.fleet.broken[name] = false }),
		"soldout": each(func(s *script, name string) { s.fleet.soldOut[name] = true }),
		"instock": each(func(s *script, name string) { s.fleet.soldOut[name] = false }),
		"never":   each(func(s *script, name string) { s.fleet.never[name] = 1 }),
		"silence": func(s *script, _ string) { s.silence() },
		"hear":    func(s *script, _ string) { s.hear() },
		"dies": func(s *script, dying string) { // its machine is off once its member has ended
			s.fleet.changed = func(name string, runs bool) {
				if name == dying && !runs {
					s.fleet.set(func() { s.fleet.disks[name].off = true })
				}
			}
		},
		"full-when": func(s *script, starting string) { // there is no space from the start of a member on
			s.fleet.changed = func(name string, runs bool) {
				if name == starting && runs {
					s.outOfSpace(name)
				}
			}
		},
		"restart": pair(func(s *script, name, url string) { s.restart(name, url) }), // the process of a member, at its URL or another one
		"process": func(s *script, name string) {
			s.must(s.cluster.NewProcess(name, release).Start())
			s.rest(time.Minute)
		},
		"learners": func(s *script, n string) { s.network.MaxLearners = int(n[0] - '0') },
		"stuck": func(s *script, is string) { // all machines but that of a
			if s.ws.Machines = s.fleet; is == "on" {
				s.ws.Machines = stuck{s.fleet}
			}
		},
		"versions": func(s *script, rest string) { // one, and those of images
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
		"stranger": func(s *script, version string) { // another cluster answers
			s.other = s.network.Form(cmp.Or(etcdsim.Version(version), release), "x").Processes()[0]
			s.rest(time.Minute)
			s.all(func(p *etcdsim.Process) { s.network.Answer(p.ClientURL, s.other) })
		},
		"stranger-at": func(s *script, url string) { s.network.Answer(url, s.other) }, // the second cluster
		"by-hand": func(s *script, names string) { // a snapshot is restored on machines that are there
			s.fleet.byHand(strings.Fields(names)...)
			s.rest(time.Minute)
		},
		"http-port":     func(s *script, port string) { s.network.HTTP = port },
		"metrics-url":   func(s *script, url string) { s.ws.Provider["metrics_url"] = url },
		"killed-adding": func(s *script, name string) { s.killedWhileAdding(name) },
		"revive": func(s *script, name string) {
			s.network.After, s.fleet.broken[name] = nil, false
			s.fleet.start(name)
		},
		// Members are added, changed and removed by etcdctl.
		"add": each(func(s *script, name string) { s.addByHand(name) }),
		"update": pair(func(s *script, name, url string) {
			s.must(errOf(s.client("a").MemberUpdate(s.Context(), s.ids()[name], []string{url})))
		}),
		"remove": func(s *script, which string) {
			for _, m := range s.cluster.Members() {
				if m.Name == which || which == "learners" && m.IsLearner || which == "unstarted" && len(m.ClientURLs) == 0 {
					s.must(errOf(s.client(cmp.Or(s.via, "a")).MemberRemove(s.Context(), m.ID)))
				}
			}
			s.rest(time.Minute)
		},
		"via": func(s *script, name string) { s.via = name },
		"machines": func(s *script, names string) { // which form a cluster
			s.names = names
			for _, name := range strings.Fields(names) {
				s.play("founder " + name)
			}
			s.rest(time.Minute)
		},
		"founder":   func(s *script, name string) { s.fleet.add(name, environment(name, s.names, false)) },
		"joiner":    pair(func(s *script, name, peers string) { s.fleet.add(name, environment(name, peers, true)) }), // NAME, and those that it asks
		"keep-data": each(func(s *script, name string) { s.fleet.keep[name] = true }),
		"machine":   func(s *script, name string) { s.fleet.add(name, environment(name, s.names, true)) },
		"full":      func(s *script, name string) { s.outOfSpace(name) },
		"secure":    func(s *script, _ string) { s.secure() },
		"downgrade": func(s *script, to string) {
			s.must(errOf(s.client("a").Downgrade(s.Context(), clientv3.DowngradeEnable, to)))
		},
		"run-as": func(s *script, rest string) { // another version, on the old machines
			words := strings.Fields(rest)
			for _, name := range words[1:] {
				s.fleet.stop(name)
				p := s.fleet.of(name).process
				p.Version = etcdsim.Version(words[0])
				s.must(p.Start())
				s.rest(time.Minute)
			}
		},
		"write":  pair(func(s *script, key, value string) { s.must(errOf(s.client("a").Put(s.Context(), key, value))) }),
		"put":    pair(func(s *script, key, value string) { s.put(key, value) }),
		"delete": func(s *script, part string) { s.forget(part) },
	}
}
