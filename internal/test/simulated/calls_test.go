// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// callSteps are the steps of what package driver leaves out, and of values.
var callSteps map[string]step

func init() { // steps run steps
	callSteps = map[string]step{
		"login": {
			"ARGUMENTS", "the provider block",
			func(s *runner, block string) { s.ws.Provider = s.block(block) },
		},
		"validate": {
			"[=> ERROR]", "terraform validate",
			func(s *runner, rest string) {
				_, want := scenario.Divide(rest + " ")
				s.actions = nil
				s.comes(s.ws.Validate(s.Context(), s.start("validate")), want)
			},
		},
		"read": {
			"TYPE [ARGUMENTS] [=> ERROR]", "a data source is read",
			func(s *runner, rest string) {
				s.ask(rest, func(typ string, block driver.Values) (r driver.Result) {
					s.seen, r = s.read(s.ws.Provider, typ, block)
					return r
				})
			},
		},
		"invoke": {
			"TYPE [ARGUMENTS] [=> ERROR]", "an action is invoked",
			func(s *runner, rest string) {
				s.ask(rest, func(typ string, block driver.Values) driver.Result {
					c := s.call("invoke", s.ws.Provider)
					defer c.run.Close()
					lines, diags := c.act(typ, block, func(line string) {
						if s.when != "" && strings.HasPrefix(line, s.when) {
							s.run(s.then)
						}
					})
					s.progress = strings.Join(lines, "; ")
					return driver.ResultOf("", diags)
				})
			},
		},
		"list": {
			"TYPE [ARGUMENTS] [=> ERROR]", "terraform query, with limit and include",
			func(s *runner, rest string) {
				s.ask(rest, func(typ string, block driver.Values) (r driver.Result) {
					of, _ := block["limit"].(json.Number)
					limit, _ := of.Int64()
					include, _ := block["include"].(bool)
					c := s.call("list", s.ws.Provider)
					defer c.run.Close()
					s.progress = ""
					for _, one := range c.list(typ, limit, include) {
						r.Diagnostics = append(r.Diagnostics, driver.ResultOf(typ, one.Diagnostics).Diagnostics...)
						if one.Identity != nil {
							s.progress += " " + s.identified(one)
							s.expect("the resource is there", one.Resource != nil, include)
						}
					}
					return r
				})
			},
		},
		"names": {
			"NAMES", "what the list had",
			func(s *runner, want string) { s.expect("the list", strings.TrimSpace(s.progress), want) },
		},
		"progress": {
			"LINES", "what the action reported, without IDs, durations and sizes",
			func(s *runner, want string) {
				s.expect("progress", regexp.MustCompile(` \([0-9a-f]+\)|(?: in |:)[^;]*`).ReplaceAllString(s.progress,
					""), want)
			},
		},
		"when": {
			"WORDS | STEP", "the step, as soon as the next action says this",
			func(s *runner, rest string) { s.when, s.then, _ = strings.Cut(rest, " | ") },
		},
		"state": {
			"ADDRESS", "the values of a resource are looked at",
			func(s *runner, at string) { s.seen = s.ws.State(address(at)).Value },
		},
		"is": {
			"PATH VALUE", "the value at the path",
			pair(func(s *runner, at, want string) { s.expect(at, plain.ReplaceAllString(s.sees(at), "$1"), want) }),
		},
		"matches": {
			"PATH PATTERN", "the value at the path matches",
			pair(func(s *runner, at, pattern string) { s.like(at, s.sees(at), pattern) }),
		},
		"misses": {
			"PATH WORDS", "the value at the path does not have the words",
			pair(func(s *runner, at, words string) {
				s.check(!strings.Contains(s.sees(at), words), "%s is %s", at, s.sees(at))
			}),
		},
		"variable": {
			"NAME VALUE", "what $NAME stands for",
			pair(func(s *runner, name, value string) { s.vars[name] = value }),
		},
		"says-like": {
			"PATTERN", "what the last command said matches",
			func(s *runner, pattern string) { s.like("the last command", fmt.Sprint(s.said.Diagnostics), pattern) },
		},
		// A cluster that was there before, processes, and connections of a run, or of all.
		"existing-cluster": {
			"NAMES", "a cluster that was made without the provider; the provider block has its endpoints",
			func(s *runner, names string) { s.ws.Provider = s.provider(names) },
		},
		"all-run": {
			"VERSION", "all processes run this version",
			func(s *runner, version string) {
				for _, p := range s.cluster.Processes() {
					p.PowerOff()
					p.Version = etcdsim.Version(version)
					s.must(p.Start())
				}
				s.rest(10 * time.Second)
			},
		},
		"second-cluster": {
			"NAME", "another cluster with this member forms",
			func(s *runner, name string) {
				s.other = s.network.Form(release, name).Processes()[0]
				s.rest(10 * time.Second)
			},
		},
		"started-learner": {
			"NAME", "a learner is added by hand, and started",
			func(s *runner, name string) {
				s.addByHand(name)
				s.members[name] = s.cluster.NewProcess(name, release)
				s.restart(name, "")
			},
		},
		"answers": {
			"URL NAME", "the member answers at the URL",
			pair(func(s *runner, at, name string) { s.network.Answer(at, s.members[name]) }),
		},
		"publish": {
			"NAME NAME [URLS]", "the process publishes another name, and more client URLs",
			func(s *runner, rest string) {
				words := strings.Fields(rest)
				s.members[words[0]].Publish(words[1], words[2:]...)
				for _, at := range words[2:] {
					s.network.Answer(at, s.members[words[0]])
				}
			},
		},
		// What answers at a URL lies in its lists: about the peer URL of a, or it lists another member.
		"moves-a": {
			"URL PEER-URL", "the server at the URL lies about the peer URL of a",
			pair(func(s *runner, at, url string) {
				s.lies(at, func(list *pb.MemberListResponse) {
					list.Members[slices.IndexFunc(list.Members,
						func(m *pb.Member) bool { return m.Name == "a" })].PeerURLs = []string{url}
				})
			}),
		},
		"lists": {
			"URL [NAME,PEER-URL]", "the server at the URL lists another member",
			pair(func(s *runner, at, text string) {
				m, _ := s.value(text).([]any)
				s.lies(at, func(list *pb.MemberListResponse) {
					list.Members = append(list.Members,
						&pb.Member{ID: 0xbad, Name: fmt.Sprint(m[0]), PeerURLs: []string{fmt.Sprint(m[1])}})
				})
			}),
		},
		"printable": {
			"", "what the last command said has no control characters",
			func(s *runner, _ string) {
				if got := fmt.Sprint(s.said); strings.ContainsAny(got, "\x1b\u2028") ||
					strings.Contains(got, "\nbootcmd") {
					s.Errorf("it says %q", got)
				}
			},
		},
		"stall": {
			"NAMES", "the processes accept requests and do not answer",
			each(func(s *runner, name string) { s.members[name].Stall() }),
		},
		"power-off": {
			"NAMES", "the processes end",
			each(func(s *runner, name string) { s.members[name].PowerOff() }),
		},
		"writes": {
			"N", "that many writes",
			func(s *runner, n string) {
				for range s.number(n) {
					s.must(errOf(s.network.Run("test").Client(etcdsim.ClientURL("a"),
						etcdsim.ClientURL("a")).Put(s.Context(), "key", "")))
				}
			},
		},
		"crash": {
			"DURATION NAMES", "the processes end, and start again after the time",
			pair(func(s *runner, d, names string) {
				s.run("power-off " + names)
				if s.schedule.Clock("crash").Sleep(s.Context(), length(d)) == nil {
					for _, name := range strings.Fields(names) {
						_ = s.members[name].Start() // it may be removed by now
					}
				}
			}),
		},
		"hang-up": {
			"", "the last provider process closes its connections",
			func(s *runner, _ string) { s.must(s.pool.Close()) },
		},
		"split": {
			"NAMES", "the processes are cut off from the other members",
			each(func(s *runner, name string) { s.cluster.Split(s.members[name]) }),
		},
		"hide": {
			"NAMES", "the processes do not answer Terraform",
			each(func(s *runner, name string) { s.network.Cut("", etcdsim.ClientURL(name)) }),
		},
		"hear-before": {
			"METHOD", "the addresses answer Terraform again when a call of this method begins",
			func(s *runner, method string) {
				s.called = func(called string) {
					if called == method {
						s.hear()
					}
				}
			},
		},
		"provider-ca": {
			"right|wrong", "whether the CA of the provider fits in each apply",
			func(s *runner, fits string) {
				before := s.network.Before
				s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
					err := before(ctx, c)
					if err == nil && s.vars["ca"] == "wrong" && strings.HasPrefix(c.Run, "apply") {
						err = connection.AttemptError(c.Address, x509.UnknownAuthorityError{})
					}
					return err
				}
				s.vars["ca"] = fits
			},
		},
		"later": {
			"DURATION STEP", "the step, after that time, while others are run",
			pair(func(s *runner, after, line string) {
				s.laters++
				clock := s.schedule.Clock(fmt.Sprint("later ", s.laters))
				go func() {
					if clock.Sleep(s.Context(), length(after)) == nil {
						s.run(line)
					}
				}()
			}),
		},
		"freeze": {
			"NAMES", "the processes stop",
			each(func(s *runner, name string) { s.members[name].Freeze() }),
		},
		"thaw": {
			"NAMES", "the processes go on",
			each(func(s *runner, name string) { s.members[name].Thaw() }),
		},
		"cut": {
			"RUN", "the run reaches no member",
			func(s *runner, run string) { s.all(func(p *etcdsim.Process) { s.network.Cut(run, p.ClientURL) }) },
		},
		"heal": {
			"RUN", "the run reaches the members again",
			func(s *runner, run string) { s.all(func(p *etcdsim.Process) { s.network.Heal(run, p.ClientURL) }) },
		},
		"kill": {
			"RUN", "the run is killed",
			func(s *runner, killed string) {
				s.each = func(run string) error { return map[bool]error{true: errKilled}[run == killed] }
			},
		},
		// Requests of all runs, and those of a method or to an address, or "METHOD ADDRESS".
		"since": {
			"", "requests are counted from now on",
			func(s *runner, _ string) {
				s.counted, s.sent = s.calls, map[string]int{}
				before := s.network.Before
				s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
					err := before(ctx, c)
					if method := path.Base(c.Method); !c.Late {
						s.sent[c.Address]++
						s.sent[method]++
						s.sent[method+" "+c.Address]++
					}
					return err
				}
			},
		},
		"requests": {
			"N", "how many requests were sent since then",
			func(s *runner, n string) { s.expect("requests", s.calls-s.counted, n) },
		},
		"sent": {
			"METHOD|ADDRESS|METHOD ADDRESS N", "how many of these were sent since then, a pattern",
			func(s *runner, rest string) {
				at := strings.LastIndex(rest, " ")
				s.like("requests of "+rest[:at], fmt.Sprint(s.sent[rest[:at]]), "^(?:"+rest[at+1:]+")$")
			},
		},
		"within": {
			"DURATION", "the last command took at most that long",
			func(s *runner, limit string) { s.check(s.took <= length(limit), "it took %v", s.took) },
		},
		"lasts": {
			"DURATION", "the last command took at least that long",
			func(s *runner, least string) { s.check(s.took >= length(least), "it took %v", s.took) },
		},
	}
}

// plain matches a value that is not a text.
var plain = regexp.MustCompile(`^tftypes\.(?:Bool|Number)<"([^"]*)">$`)

// sees is an attribute of what a line has read.
func (s *runner) sees(path string) string {
	return driver.Attribute(s.seen, strings.Split(path, ".")...)
}

// block are the arguments of a block.
func (s *runner) block(text string) driver.Values {
	s.Helper()
	v, ok := s.value(text).(driver.Values)
	if !ok {
		s.Fatalf("%s is no block", text)
	}
	return v
}

func (s *runner) number(text string) int64 {
	s.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err)
	return n
}

// ask makes a call that a line describes: TYPE BLOCK.
func (s *runner) ask(rest string, call func(typ string, block driver.Values) driver.Result) {
	s.Helper()
	said, want := scenario.Divide(rest)
	typ, block, _ := strings.Cut(said, " ")
	begin := time.Now()
	r := call(typ, s.block(cmp.Or(block, "{}")))
	s.took, s.actions = time.Since(begin), nil
	s.comes(r, want)
}

// lies changes the lists that are answered at a URL, as they are.
func (s *runner) lies(at string, how func(*pb.MemberListResponse)) {
	s.network.After = func(_ context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		if list, ok := answer.(*pb.MemberListResponse); ok && c.Address == at {
			how(list)
		}
		return err
	}
}

// identified is the name of a member in a list, which has its ID as its identity and beside
// its name.
func (s *runner) identified(r tfprotov6.ListResourceResult) string {
	s.Helper()
	identity, err := r.Identity.IdentityData.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"cluster_id": tftypes.String, "member_id": tftypes.String,
	}})
	s.must(err)
	name, id, _ := strings.Cut(r.DisplayName, " ")
	s.expect("the identity of "+name, driver.Attribute(identity, "member_id"), fmt.Sprintf("%x", s.ids()[name]))
	s.expect("the ID beside "+name, id, fmt.Sprintf("(%x)", s.ids()[name]))
	return name
}

// caller is a provider process that is asked for what package driver leaves out: data
// sources, ephemeral resources, lists and actions. Each method stops at the first errors.
type caller struct {
	*world
	run     *driver.Run
	schemas *tfprotov6.GetProviderSchemaResponse
}

// call starts a provider process and configures it.
func (w *world) call(run string, provider driver.Values) *caller {
	w.Helper()
	r, err := w.start(run)(w.Context())
	w.must(err)
	c := &caller{world: w, run: r}
	c.schemas, err = r.Server.GetProviderSchema(w.Context(), &tfprotov6.GetProviderSchemaRequest{})
	w.must(err)
	configured, err := r.Server.ConfigureProvider(w.Context(),
		&tfprotov6.ConfigureProviderRequest{Config: c.value(c.schemas.Provider, provider), TerraformVersion: "1.14.0"})
	w.must(err)
	w.ok(driver.ResultOf("provider", configured.Diagnostics))
	return c
}

func (c *caller) value(s *tfprotov6.Schema, values driver.Values) *tfprotov6.DynamicValue {
	c.Helper()
	v, err := driver.Build(s.ValueType(), values)
	c.must(err)
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	c.must(err)
	return &d
}

func (c *caller) unmarshal(d *tfprotov6.DynamicValue, s *tfprotov6.Schema) tftypes.Value {
	c.Helper()
	v, err := d.Unmarshal(s.ValueType())
	c.must(err)
	return v
}

// ask makes a call when its turn has come.
func ask[Q, R any](c *caller, resource, method string, f func(context.Context, Q) (R, error), q Q) R {
	c.Helper()
	ctx, err := c.run.Context(c.Context(), resource, method)
	c.must(err)
	answer, err := f(ctx, q)
	c.must(err)
	return answer
}

// read reads a data source in a process of its own.
func (w *world) read(provider driver.Values, typ string, values driver.Values) (out tftypes.Value, r driver.Result) {
	w.Helper()
	c := w.call("read", provider)
	defer c.run.Close()
	schema := c.schemas.DataSourceSchemas[typ]
	config := c.value(schema, values)
	valid := ask(c, "data."+typ, "validate", c.run.Server.ValidateDataResourceConfig,
		&tfprotov6.ValidateDataResourceConfigRequest{TypeName: typ, Config: config})
	if len(valid.Diagnostics) > 0 {
		return out, driver.ResultOf("data."+typ, valid.Diagnostics)
	}
	resp := ask(c, "data."+typ, "read", c.run.Server.ReadDataSource,
		&tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: config})
	if resp.State != nil {
		out = c.unmarshal(resp.State, schema)
	}
	return out, driver.ResultOf("data."+typ, resp.Diagnostics)
}

// open opens an ephemeral resource. The function closes it.
func (c *caller) open(typ string, values driver.Values) (out tftypes.Value, diags []*tfprotov6.Diagnostic,
	end func() []*tfprotov6.Diagnostic) {
	c.Helper()
	server := c.run.Server
	schema := c.schemas.EphemeralResourceSchemas[typ]
	config := c.value(schema, values)
	valid := ask(c, typ, "validate", server.ValidateEphemeralResourceConfig,
		&tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: typ, Config: config})
	if len(valid.Diagnostics) > 0 {
		return out, valid.Diagnostics, nil
	}
	resp := ask(c, typ, "open", server.OpenEphemeralResource,
		&tfprotov6.OpenEphemeralResourceRequest{TypeName: typ, Config: config})
	if resp.Result != nil {
		out = c.unmarshal(resp.Result, schema)
	}
	return out, resp.Diagnostics, func() []*tfprotov6.Diagnostic {
		closed := ask(c, typ, "close", server.CloseEphemeralResource,
			&tfprotov6.CloseEphemeralResourceRequest{TypeName: typ, Private: resp.Private})
		return closed.Diagnostics
	}
}

// list is terraform query for one type.
func (c *caller) list(typ string, limit int64, include bool) []tfprotov6.ListResourceResult {
	c.Helper()
	server, ok := c.run.Server.(tfprotov6.ListResourceServer)
	if !ok {
		c.Fatal("the provider has no lists")
	}
	stream := ask(c, typ, "list", server.ListResource, &tfprotov6.ListResourceRequest{
		TypeName: typ, Config: c.value(c.schemas.ListResourceSchemas[typ], driver.Values{}), Limit: limit,
		IncludeResource: include,
	})
	return slices.Collect(stream.Results)
}

// act invokes an action, and returns its progress and its diagnostics. each is called for
// each line of progress, unless it is nil.
func (c *caller) act(typ string, values driver.Values, each func(string)) (progress []string,
	diags []*tfprotov6.Diagnostic) {
	c.Helper()
	server, ok := c.run.Server.(tfprotov6.ActionServer)
	if !ok {
		c.Fatal("the provider has no actions")
	}
	config := c.value(c.schemas.ActionSchemas[typ].Schema, values)
	valid := ask(c, typ, "validate", server.ValidateActionConfig,
		&tfprotov6.ValidateActionConfigRequest{ActionType: typ, Config: config})
	if len(valid.Diagnostics) > 0 {
		return nil, valid.Diagnostics
	}
	planned := ask(c, typ, "plan", server.PlanAction, &tfprotov6.PlanActionRequest{ActionType: typ, Config: config})
	if len(planned.Diagnostics) > 0 {
		return nil, planned.Diagnostics
	}
	stream := ask(c, typ, "invoke", server.InvokeAction,
		&tfprotov6.InvokeActionRequest{ActionType: typ, Config: config})
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
			if each != nil {
				each(e.Message)
			}
		case tfprotov6.CompletedInvokeActionEventType:
			diags = e.Diagnostics
		}
	}
	return progress, diags
}
