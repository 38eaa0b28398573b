// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// The steps of a scenario by what they concern. Those of faults are beside their code, and so are
// those of what is expected, of calls, of tokens and of heartbeats.
var configurationSteps, stateSteps, commandSteps, outsideSteps map[string]step

// each does something to each name or address in a step.
func each(do func(s *runner, word string)) func(*runner, string) {
	return func(s *runner, rest string) {
		for _, word := range addresses(rest) {
			do(s, word)
		}
	}
}

// pair does something with the first word of a step and what is left of it.
func pair(do func(s *runner, first, rest string)) func(*runner, string) {
	return func(s *runner, rest string) {
		first, rest, _ := strings.Cut(rest, " ")
		do(s, first, rest)
	}
}

// whole is a verb with the space at its end, which a step does not have.
func whole(verb string) string {
	if strings.HasSuffix(verb, " =") {
		verb += " "
	}
	return verb
}

func init() { // steps run steps
	configurationSteps = map[string]step{
		// The first line, and the last one. form is a cluster that has formed, after all windows.
		"form": {
			"NAMES",
			"an etcd_cluster with these nodes, each with a machine and a member, is applied, and one hour passes; " +
				"in a judged scenario one minute",
			func(s *runner, names string) {
				s.run("nodes " + names)
				if s.two != nil {
					s.formJudged()
					return
				}
				s.run("apply")
				s.run("members " + names)
				s.rest(time.Hour)
				s.empty("formed")
			},
		},
		"existing": {
			"NAMES", "a cluster that was made without the provider; the state has its machines",
			func(s *runner, names string) {
				s.all(func(p *etcdsim.Process) { s.fleet.adopt(p) })
				s.ws.Provider = s.provider(names)
				for _, name := range strings.Fields(names) {
					r := driver.Resource{Type: "machine", Name: `node["` + name + `"]`,
						Values: driver.Values{"name": name, "image": "one"}}
					s.ws.Resources = append(s.ws.Resources, r)
				}
				s.run("apply")
				s.dir.unmanaged = true
				s.run("nodes " + names)
			},
		},
		"existing-members": {
			"NAMES",
			"a cluster that was made without the provider; its members are imported, without nodes, on machines",
			func(s *runner, names string) {
				s.site = s.taken(names)
				s.dir.ws = s.ws
			},
		},
		"include": {
			"PART", "the steps of a part of the file",
			func(s *runner, part string) {
				for _, line := range s.parts[part] {
					s.run(line)
				}
			},
		},
		"existing-nodes": {
			"NAMES", "machines and members with nodes of an etcd_cluster that is not in the configuration",
			func(s *runner, names string) {
				s.all(func(p *etcdsim.Process) { s.fleet.adopt(p) })
				s.names = names
				all := nodesOf(names, names)
				for i := 0; i < len(all); i += 2 { // the machines run before a state has their members
					s.ws.Resources = append(s.ws.Resources, all[i])
				}
				s.run("apply")
				s.ws.Resources = all
				s.run("apply")
				s.run("members " + names)
				s.empty("first")
			},
		},
		"imported": {
			"NAMES",
			"a cluster that was made without the provider; its members are imported, without nodes and machines",
			func(s *runner, names string) {
				s.ws = s.adopt(names)
				s.ws.Machines, s.dir.ws = s.fleet, s.ws
			},
		},
		"finish": {
			"", "plain applies lead to an empty plan, and nothing of a change is left",
			func(s *runner, _ string) { s.finish() },
		},
		"prints": {
			"PACKAGE.DECLARATION: VERB", "the text of that declaration prints the verb, and the scenario runs it",
			func(s *runner, what string) { s.prints = append(s.prints, whole(what)) },
		},

		// Edits of the configuration.
		"directory": {
			"NAME", "the steps that follow are run in this working directory",
			func(s *runner, name string) { s.use(name, nil) },
		},
		"clone": {
			"NAME", "another checkout of this directory, with its state",
			func(s *runner, name string) { s.use(name, s.ws.Clone()); s.dir.image = s.directories["main"].image },
		},
		"nodes": {
			"NAMES", "the etcd_cluster has these nodes",
			edits(func(s *runner, names string) {
				s.names, s.dir.names = names, strings.Fields(names)
			}),
		},
		"add": {
			"NAME", "the etcd_cluster has one more node",
			edits(func(s *runner, name string) { s.add(name, false) }),
		},
		"learner": {
			"NAME [ARGUMENTS]", "the node has an etcd_learner, with these arguments",
			edits(func(s *runner, rest string) {
				name, text, more := strings.Cut(rest, " ")
				if s.add(name, true); more {
					s.dir.arguments[name] = s.block(text)
				}
			}),
		},
		"promote": {
			"NAME", "the etcd_learner of a node becomes an etcd_member by a moved block",
			edits(func(s *runner, name string) { s.promote(name) }),
		},
		"drop": {
			"NAME", "the etcd_cluster does not have the node any more",
			edits(func(s *runner, name string) { s.drop(name) }),
		},
		"image": {
			"VALUE", "revision of the etcd_cluster, which the machines follow",
			edits(func(s *runner, image string) { s.dir.image = image }),
		},
		"version": {
			"VERSION", "version of the etcd_cluster, which the machines follow",
			edits(func(s *runner, version string) { s.dir.version = version }),
		},
		"rebuild": {
			"NAME", "rebuild of the etcd_cluster has another value for the node",
			edits(func(s *runner, name string) { s.dir.rebuilt[name] = string(rune('a' + len(s.steps)%26)) }),
		},
		"address": {
			"NAME", "the node has another address",
			edits(func(s *runner, name string) { s.dir.address[name] += "-2" }),
		},
		"replace-after": {
			"DURATION|none", "replace_unreachable_after of the etcd_cluster",
			edits(func(s *runner, d string) { s.dir.after = strings.TrimPrefix(d, "none") }),
		},
		"apart": {
			"NAME", "the node has blocks of its own, outside of for_each",
			edits(func(s *runner, name string) { s.dir.apart = name }),
		},
		"set": {
			"ARGUMENT VALUE", "an argument of the etcd_cluster",
			pair(func(s *runner, name, text string) {
				v := s.value(text)
				s.dir.more[name] = v
				if len(s.dir.names) > 0 {
					s.set(name, v)
				}
			}),
		},
		"unset": {
			"ARGUMENT", "the etcd_cluster does not have the argument any more",
			func(s *runner, name string) {
				if name == "restore" {
					s.dir.gone = nil
				}
				delete(s.dir.more, name)
				delete(s.ws.Resources[0].Values, name)
			},
		},
		// In the second directory of a judged scenario.
		"member-g": {
			"IMAGE|none",
			"in a judged scenario, the directory \"two\" has the member g, without a node, on a machine of this " +
				"image",
			edits(func(s *runner, image string) { s.setSecond(strings.TrimPrefix(image, "none")) }),
		},
		"url-g": {
			"PORT", "in a judged scenario, g has this peer port",
			edits(func(s *runner, port string) { s.setURL("http://g.example:" + port) }),
		},
		"backup": {
			"", "in a judged scenario, the directory \"two\" has an etcd_snapshot, which is to be taken again",
			edits(func(s *runner, _ string) { s.second.backup.day++ }),
		},
		"provider": {
			"NAMES", "the provider block has the endpoints of these members",
			func(s *runner, names string) { s.ws.Provider = s.provider(names) },
		},
		"argument": {
			"ADDRESS NAME VALUE", "an argument of a resource",
			func(s *runner, rest string) {
				words := strings.SplitN(rest, " ", 3)
				s.resource(address(words[0])).Values[words[1]] = s.value(words[2])
			},
		},
		"only-members": {
			"NAMES", "the configuration has an etcd_member for each name, and nothing else",
			func(s *runner, names string) { s.ws.Resources = members(names) },
		},
		"nodes-of": {
			"NAMES", "it also has machines and members with nodes of an etcd_cluster elsewhere",
			func(s *runner, names string) { s.ws.Resources = append(s.ws.Resources, nodesOf(names, s.names)...) },
		},
		"node-start": {
			"NAME KEY VALUE", "what a member knows of its node",
			func(s *runner, rest string) {
				words := strings.SplitN(rest, " ", 3)
				config, _ := s.resource("etcd_member." + words[0]).Values["config"].(driver.Values)
				start := map[string]any{}
				must.Succeed(s, json.Unmarshal([]byte(config["start"].(string)), &start))
				start[words[1]] = s.value(words[2])
				written, _ := json.Marshal(start)
				config["start"] = string(written)
			},
		},
		"type": {
			"ADDRESS TYPE", "a resource is of another type",
			pair(func(s *runner, at, typ string) { s.resource(at).Type = typ }),
		},
		"depends-on": {
			"ADDRESS ADDRESSES", "depends_on of a resource",
			func(s *runner, rest string) {
				at := addresses(rest)
				s.resource(at[0]).After = at[1:]
			},
		},
		"machines-and": {
			"TYPE NAMES", "it also has machines without nodes, each with a resource of the type",
			pair(func(s *runner, typ, names string) {
				s.ws.Resources = append(s.ws.Resources, nodes(strings.Fields(names), s.dir.image)...)
				s.ws.Resources[len(s.ws.Resources)-1].Type = typ
			}),
		},
		"block": {
			"TYPE.NAME ARGUMENTS", "it also has this resource",
			func(s *runner, rest string) {
				words := strings.SplitN(rest, " ", 2)
				typ, name, _ := strings.Cut(words[0], ".")
				v, _ := s.value(words[1]).(driver.Values)
				s.ws.Resources = append(s.ws.Resources, driver.Resource{Type: typ, Name: name, Values: v})
			},
		},
		"copy": {
			"ADDRESS [NAME]", "it also has a copy of a resource of the directory \"main\"",
			pair(func(s *runner, at, name string) {
				i := slices.IndexFunc(s.directories["main"].ws.Resources,
					func(r driver.Resource) bool { return r.Address() == address(at) })
				r := s.directories["main"].ws.Resources[i]
				r.Name, r.Values = cmp.Or(name, r.Name), maps.Clone(r.Values)
				s.ws.Resources = append(s.ws.Resources, r)
			}),
		},
		"without": {
			"ADDRESSES", "it does not have these resources any more",
			each(func(s *runner, at string) {
				s.ws.Resources = slices.DeleteFunc(slices.Clone(s.ws.Resources),
					func(r driver.Resource) bool { return r.Address() == at })
			}),
		},
		"create_before_destroy": {
			"on|off|NAME", "the lifecycle of all members, of none, or of one",
			func(s *runner, of string) {
				s.dir.first = of
				for i, r := range s.ws.Resources {
					s.ws.Resources[i].CreateBeforeDestroy = s.dir.createsFirst(r)
				}
			},
		},
		"machine-id": {
			"NAME NAME", "machine_id of a member is that of the machine of another one, or of its own again",
			edits(func(s *runner, rest string) {
				name, of, _ := strings.Cut(rest, " ")
				if s.dir.machine[name] = of; name == of {
					delete(s.dir.machine, name)
				}
			}),
		},
		"member-1m": {
			"NAME", "it also has an etcd_member without a node, whose creation waits for one minute",
			func(s *runner, name string) { s.ws.Resources = append(s.ws.Resources, impatient(name, "")) },
		},
		"restore": {
			"CLUSTER|state NAMES",
			"restore of the etcd_cluster, in place of a cluster (the one in the state) whose nodes are gone",
			pair(func(s *runner, of, names string) {
				if of == "state" { // the cluster that the state has
					s.restore(strings.Fields(names))
					return
				}
				var gone []any
				for _, name := range strings.Fields(names) {
					gone = append(gone, name)
				}
				s.dir.more["restore"] = restoreOf(of, gone...)
				s.set("restore", s.dir.more["restore"])
			}),
		},
		"ip-addresses": {
			"", "the URLs of a, b and c have IP addresses",
			func(s *runner, _ string) {
				wanted := map[string]any{}
				for i, name := range []string{"a", "b", "c"} {
					url := fmt.Sprintf("http://10.0.0.%d:", i+1)
					wanted[name] = driver.Values{"peer_urls": []any{url + "2380"}, "client_urls": []any{url + "2379"}}
				}
				s.dir.more["members"] = wanted
			},
		},
		"ignore-user-data": {
			"", "the machines keep their user data, and are replaced with their nodes",
			func(s *runner, _ string) { s.ignoreUserData() },
		},
		"take-apart": {
			"", "the configuration has the machines and members without the etcd_cluster",
			func(s *runner, _ string) { s.takeApart() },
		},
		"as": {
			"NAMES", "the provider logs in at these members, as the user of \"user-is\"",
			func(s *runner, names string) { s.ws.Provider = s.as(names, s.user) },
		},
		"moved": {
			"FROM TO", "a moved block",
			func(s *runner, rest string) {
				at := addresses(rest)
				s.ws.Moved = append(s.ws.Moved, driver.Moved{From: at[0], To: at[1]})
				s.configure()
			},
		},
		"imports": {
			"[ADDRESS ID]", "an import block, or none any more; in a judged scenario for one command",
			func(s *runner, rest string) {
				at := addresses(rest)
				switch {
				case len(at) != 2:
					s.ws.Imports = nil
				case s.importable(at[0]):
					s.ws.Imports = append(s.ws.Imports, driver.Import{To: at[0], ID: at[1]})
				}
			},
		},
		"machine-stays": {
			"", "no machine is replaced with its node",
			func(s *runner, _ string) {
				for i := range s.ws.Resources {
					s.ws.Resources[i].ReplacedBy = nil
				}
			},
		},
	}
}
