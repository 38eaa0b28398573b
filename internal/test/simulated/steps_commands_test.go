// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
)

func init() { // steps run steps
	stateSteps = map[string]step{
		// Edits of the state.
		"taint": {
			"ADDRESSES", "terraform taint; in a judged scenario what the next command does not replace is untainted",
			each(func(s *runner, at string) {
				switch {
				case s.oracle == nil:
					s.ws.Taint(at)
				case s.ws.State(at) != nil:
					s.ws.Taint(at)
					s.tainted = append(s.tainted, at)
				}
			}),
		},
		"untaint": {
			"ADDRESSES", "terraform untaint",
			each(func(s *runner, at string) { s.ws.Untaint(at) }),
		},
		"forget": {
			"ADDRESSES|everything", "terraform state rm",
			func(s *runner, rest string) {
				if rest == "everything" {
					rest = strings.Join(s.ws.Addresses(), " ")
				}
				each((*runner).forgetAt)(s, rest)
			},
		},
		"rename": {
			"FROM TO", "terraform state mv",
			func(s *runner, rest string) { at := addresses(rest); s.ws.Rename(at[0], at[1]) },
		},
		// The state as it is, and its return: a backup, or a backend that persists late.
		"persist": {
			"[NAME]", "a copy of the state is kept",
			func(s *runner, name string) { s.states[name] = s.ws.Backup() },
		},
		"older": {
			"[NAME]", "the kept copy comes back: a backup, or a backend that persists late",
			func(s *runner, name string) {
				if kept, is := s.states[name]; is {
					s.older(kept)
				}
			},
		},
	}
	commandSteps = map[string]step{
		// Commands.
		"apply": {
			"[OPTIONS] [=> ERROR]", "terraform apply; then one minute passes, but for a judged scenario",
			func(s *runner, rest string) {
				s.command(rest, s.apply)
				if s.oracle == nil {
					s.rest(time.Minute)
				}
			},
		},
		"saved": {
			"DURATION [OPTIONS] [=> ERROR]", "terraform apply of a plan that was saved that long before",
			pair(func(s *runner, d, rest string) {
				s.command(rest, func(ctx context.Context, opts []driver.Option) (*driver.Plan, driver.Result) {
					plan, r := s.ws.Plan(ctx, s.start(s.runName("apply")), opts...)
					if plan == nil {
						return nil, r
					}
					s.rest(length(d))
					return plan, s.carryOut(ctx, plan, opts)
				})
			}),
		},
		"in": {
			"DIRECTORY STEP", "a step in another directory",
			pair(func(s *runner, name, step string) {
				if s.oracle != nil {
					s.command("", func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
						return s.two.Up(ctx, s.start(name))
					})
					return
				}
				was := s.dir
				s.use(name, nil)
				s.run(step)
				s.dir, s.ws = was, was.ws
			}),
		},
		"beside": {
			"DIRECTORY [OPTIONS]",
			"terraform apply in this directory and in another one at the same time; \"clone\" is another checkout " +
				"of this one",
			pair((*runner).applyBeside),
		},
		"destroy": {
			"[OPTIONS] [=> ERROR]", "terraform destroy; in a judged scenario of both directories",
			func(s *runner, rest string) {
				if s.oracle != nil {
					s.destroy()
					return
				}
				s.command(rest, func(ctx context.Context, opts []driver.Option) (*driver.Plan, driver.Result) {
					return s.ws.Up(ctx, s.start("destroy"), append(opts, driver.Destroy)...)
				})
			},
		},
		"try": {
			"STEP", "a command that may fail",
			func(s *runner, line string) {
				s.tries = true
				s.run(line)
				s.tries = false
			},
		},
		"plan": {
			"[OPTIONS] [=> ERROR]", "terraform plan",
			func(s *runner, rest string) {
				s.command(rest, func(ctx context.Context, opts []driver.Option) (plan *driver.Plan, r driver.Result) {
					plan, r = s.ws.Plan(ctx, s.start(s.runName("plan")), opts...)
					s.planned = plan
					return plan, r
				})
			},
		},
		"carry": {
			"out [=> ERROR]", "terraform apply of the last plan",
			func(s *runner, rest string) {
				s.command(strings.TrimPrefix(rest, "out "),
					func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
						return s.planned, s.ws.Apply(ctx, s.start("late"), s.planned)
					})
			},
		},
		"refresh": {
			"[=> ERROR]", "terraform apply -refresh-only",
			func(s *runner, rest string) {
				s.command(rest, func(ctx context.Context, _ []driver.Option) (*driver.Plan, driver.Result) {
					return nil, s.ws.Refresh(ctx, s.start(s.runName("refresh")))
				})
			},
		},
		"import": {
			"ADDRESS ID [=> ERROR]", "terraform import",
			func(s *runner, rest string) {
				if !s.importable(addresses(rest)[0]) {
					return
				}
				s.command(rest, func(ctx context.Context, words []driver.Option) (*driver.Plan, driver.Result) {
					at, id := string(words[0]), string(words[1])
					return nil, s.ws.Import(ctx, s.start("import "+at), at, id)
				})
			},
		},
		"move-type": {
			"FROM TO", "a moved block between two types, applied",
			func(s *runner, rest string) {
				at := addresses(rest)
				s.ok(s.ws.Move(s.Context(), s.start("moved"), at[0], at[1]))
			},
		},
		"heartbeat": {
			"NAME [=> ERROR]", "an etcd_heartbeat is opened and closed",
			func(s *runner, name string) {
				s.command(name, func(context.Context, []driver.Option) (*driver.Plan, driver.Result) {
					o, _, r := s.opens("beat", s.provider(s.names), "etcd_heartbeat", fmt.Sprintf(`{"name": %q}`, name))
					if o != nil {
						s.ok(driver.ResultOf("", o.end()))
						o.run.Close()
					}
					return nil, r
				})
			},
		},
		"repeat": {
			"TIMES STEP", "the step, several times",
			pair(func(s *runner, times, line string) {
				n, err := strconv.Atoi(times)
				s.must(err)
				for range n {
					s.run(line)
				}
			}),
		},
		"settle": {
			"", "five applies, after which the members are those of the configuration and the plan is empty",
			func(s *runner, _ string) {
				s.rest(time.Minute)
				for range 5 {
					s.run("apply")
				}
				s.expect("members", s.list(), s.names)
				s.empty("settled")
			},
		},
		// What a text prints: "WORDS | VERB". then is follow, and what it leads to is followed next.
		"follow": {
			"WORDS | VERB",
			"the operator runs what the text with the words prints with that verb, see \"prints\"; it must succeed",
			func(s *runner, rest string) {
				words, verb, _ := strings.Cut(rest, " | ")
				s.ok(s.follow(s.said, words, whole(verb)))
			},
		},
		"then": {
			"WORDS | VERB", "the same, and what it leads to is followed next",
			func(s *runner, rest string) {
				words, verb, _ := strings.Cut(rest, " | ")
				s.said = s.follow(s.said, words, whole(verb))
			},
		},
		"remember": {
			"", "what the last command said is kept",
			func(s *runner, _ string) { s.kept = s.said },
		},
		"recall": {
			"", "what was kept is followed next",
			func(s *runner, _ string) { s.said = s.kept },
		},
		"address-is": {
			"ADDRESS", "what the texts call ADDRESS, in place of that of the diagnostic",
			func(s *runner, at string) { s.place = address(at) },
		},
		"user-is": {
			"NAME", "what the texts call NAME and ROLE",
			func(s *runner, name string) { s.user = name },
		},
	}
}
