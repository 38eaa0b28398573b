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
)

// calls are the phrases of what package driver leaves out, and of values.
var calls map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	calls = map[string]func(s *script, rest string){
		"login": func(s *script, block string) { s.ws.Provider = s.block(block) }, // a provider block
		"validate": func(s *script, rest string) {
			_, want := divided(rest + " ")
			s.actions = nil
			s.comes(s.ws.Validate(s.Context(), s.start("validate")), want)
		},
		"read": func(s *script, rest string) { // a data source
			s.ask(rest, func(typ string, block driver.Values) (r driver.Result) {
				s.seen, r = s.read(s.ws.Provider, typ, block)
				return r
			})
		},
		"invoke": func(s *script, rest string) { // an action
			s.ask(rest, func(typ string, block driver.Values) driver.Result {
				c := s.call("invoke", s.ws.Provider)
				defer c.run.Close()
				lines, diags := c.act(typ, block, func(line string) {
					if s.when != "" && strings.HasPrefix(line, s.when) {
						s.play(s.then)
					}
				})
				s.progress = strings.Join(lines, "; ")
				return driver.ResultOf("", diags)
			})
		},
		"list": func(s *script, rest string) { // a list resource, with a limit and with or without the resources
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
		"names": func(s *script, want string) { s.expect("the list", strings.TrimSpace(s.progress), want) },
		"progress": func(s *script, want string) { // without IDs, durations and sizes
			s.expect("progress", regexp.MustCompile(` \([0-9a-f]+\)|(?: in |:)[^;]*`).ReplaceAllString(s.progress, ""), want)
		},
		"when":    func(s *script, rest string) { s.when, s.then, _ = strings.Cut(rest, " | ") }, // an action says so
		"state":   func(s *script, at string) { s.seen = s.ws.State(address(at)).Value },
		"is":      pair(func(s *script, at, want string) { s.expect(at, plain.ReplaceAllString(s.sees(at), "$1"), want) }),
		"matches": pair(func(s *script, at, pattern string) { s.like(at, s.sees(at), pattern) }),
		"misses": pair(func(s *script, at, words string) {
			s.check(!strings.Contains(s.sees(at), words), "%s is %s", at, s.sees(at))
		}),
		"note":  pair(func(s *script, name, value string) { s.vars[name] = value }), // what stands for $NAME
		"tells": func(s *script, pattern string) { s.like("the last command", fmt.Sprint(s.said.Diagnostics), pattern) },
		// A cluster that was there before, processes, and connections of a run, or of all.
		"cluster": func(s *script, names string) { s.ws.Provider = s.provider(names) },
		"all-run": func(s *script, version string) { // this version
			for _, p := range s.cluster.Processes() {
				p.PowerOff()
				p.Version = etcdsim.Version(version)
				s.must(p.Start())
			}
			s.rest(10 * time.Second)
		},
		"second": func(s *script, name string) { // cluster
			s.other = s.network.Form(release, name).Processes()[0]
			s.rest(10 * time.Second)
		},
		"learner": func(s *script, name string) { // is added by hand, and started
			s.addByHand(name)
			s.members[name] = s.cluster.NewProcess(name, release)
			s.restart(name, "")
		},
		"answers": pair(func(s *script, at, name string) { s.network.Answer(at, s.members[name]) }), // URL NAME
		"publish": func(s *script, rest string) { // NAME, of a process, another one, and more client URLs
			words := strings.Fields(rest)
			s.members[words[0]].Publish(words[1], words[2:]...)
			for _, at := range words[2:] {
				s.network.Answer(at, s.members[words[0]])
			}
		},
		// What answers at a URL lies in its lists: about the peer URL of a, or it lists another member.
		"moves-a": pair(func(s *script, at, url string) {
			s.lies(at, func(list *pb.MemberListResponse) {
				list.Members[slices.IndexFunc(list.Members, func(m *pb.Member) bool { return m.Name == "a" })].PeerURLs = []string{url}
			})
		}),
		"lists": pair(func(s *script, at, text string) {
			m, _ := s.value(text).([]any)
			s.lies(at, func(list *pb.MemberListResponse) {
				list.Members = append(list.Members, &pb.Member{ID: 0xbad, Name: fmt.Sprint(m[0]), PeerURLs: []string{fmt.Sprint(m[1])}})
			})
		}),
		"printable": func(s *script, _ string) { // is what was said
			if got := fmt.Sprint(s.said); strings.ContainsAny(got, "\x1b\u2028") || strings.Contains(got, "\nbootcmd") {
				s.Errorf("it says %q", got)
			}
		},
		"stall":     each(func(s *script, name string) { s.members[name].Stall() }),
		"power-off": each(func(s *script, name string) { s.members[name].PowerOff() }),
		"writes": func(s *script, n string) { // to whatever answers for a
			for range s.number(n) {
				s.must(errOf(s.network.Run("test").Client(etcdsim.ClientURL("a"), etcdsim.ClientURL("a")).Put(s.Context(), "key", "")))
			}
		},
		"crash": pair(func(s *script, d, names string) { // processes, for a time
			s.play("power-off " + names)
			if s.schedule.Clock("crash").Sleep(s.Context(), length(d)) == nil {
				for _, name := range strings.Fields(names) {
					_ = s.members[name].Start() // it may be removed by now
				}
			}
		}),
		"hang-up": func(s *script, _ string) { s.must(s.pool.Close()) }, // of the last provider process
		"split":   each(func(s *script, name string) { s.cluster.Split(s.members[name]) }),
		"hide":    each(func(s *script, name string) { s.network.Cut("", etcdsim.ClientURL(name)) }),
		"hear-before": func(s *script, method string) { // a call of the protocol of that kind
			s.called = func(called string) {
				if called == method {
					s.hear()
				}
			}
		},
		"ca": func(s *script, fits string) { // of the provider, for the servers
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
		"later": pair(func(s *script, after, line string) {
			s.laters++
			clock := s.schedule.Clock(fmt.Sprint("later ", s.laters))
			go func() {
				if clock.Sleep(s.Context(), length(after)) == nil {
					s.play(line)
				}
			}()
		}),
		"freeze": each(func(s *script, name string) { s.members[name].Freeze() }),
		"thaw":   each(func(s *script, name string) { s.members[name].Thaw() }),
		"cut":    func(s *script, run string) { s.all(func(p *etcdsim.Process) { s.network.Cut(run, p.ClientURL) }) },
		"heal":   func(s *script, run string) { s.all(func(p *etcdsim.Process) { s.network.Heal(run, p.ClientURL) }) },
		"kill": func(s *script, killed string) {
			s.each = func(run string) error { return map[bool]error{true: errKilled}[run == killed] }
		},
		// Requests of all runs, and those of a method or to an address, or "METHOD ADDRESS".
		"since": func(s *script, _ string) {
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
		"requests": func(s *script, n string) { s.expect("requests", s.calls-s.counted, n) },
		"sent": func(s *script, rest string) { // a pattern of how many
			at := strings.LastIndex(rest, " ")
			s.like("requests of "+rest[:at], fmt.Sprint(s.sent[rest[:at]]), "^(?:"+rest[at+1:]+")$")
		},
		"within": func(s *script, limit string) { s.check(s.took <= length(limit), "it took %v", s.took) }, // the last command
		"lasts":  func(s *script, least string) { s.check(s.took >= length(least), "it took %v", s.took) },
	}
}

// plain matches a value that is not a text.
var plain = regexp.MustCompile(`^tftypes\.(?:Bool|Number)<"([^"]*)">$`)

// sees is an attribute of what a line has read.
func (s *script) sees(path string) string {
	return driver.Attribute(s.seen, strings.Split(path, ".")...)
}

// block are the arguments of a block.
func (s *script) block(text string) driver.Values {
	s.Helper()
	v, ok := s.value(text).(driver.Values)
	if !ok {
		s.Fatalf("%s is no block", text)
	}
	return v
}

func (s *script) number(text string) int64 {
	s.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	s.must(err)
	return n
}

// ask makes a call that a line describes: TYPE BLOCK.
func (s *script) ask(rest string, call func(typ string, block driver.Values) driver.Result) {
	s.Helper()
	said, want := divided(rest)
	typ, block, _ := strings.Cut(said, " ")
	begin := time.Now()
	r := call(typ, s.block(cmp.Or(block, "{}")))
	s.took, s.actions = time.Since(begin), nil
	s.comes(r, want)
}

// lies changes the lists that are answered at a URL, as they are.
func (s *script) lies(at string, how func(*pb.MemberListResponse)) {
	s.network.After = func(_ context.Context, c etcdsim.Call, answer proto.Message, err error) error {
		if list, ok := answer.(*pb.MemberListResponse); ok && c.Address == at {
			how(list)
		}
		return err
	}
}

// identified is the name of a member in a list, which has its ID as its identity and beside
// its name.
func (s *script) identified(r tfprotov6.ListResourceResult) string {
	s.Helper()
	identity, err := r.Identity.IdentityData.Unmarshal(tftypes.Object{AttributeTypes: map[string]tftypes.Type{"cluster_id": tftypes.String, "member_id": tftypes.String}})
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
	configured, err := r.Server.ConfigureProvider(w.Context(), &tfprotov6.ConfigureProviderRequest{Config: c.value(c.schemas.Provider, provider), TerraformVersion: "1.14.0"})
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
	valid := ask(c, "data."+typ, "validate", c.run.Server.ValidateDataResourceConfig, &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typ, Config: config})
	if len(valid.Diagnostics) > 0 {
		return out, driver.ResultOf("data."+typ, valid.Diagnostics)
	}
	resp := ask(c, "data."+typ, "read", c.run.Server.ReadDataSource, &tfprotov6.ReadDataSourceRequest{TypeName: typ, Config: config})
	if resp.State != nil {
		out = c.unmarshal(resp.State, schema)
	}
	return out, driver.ResultOf("data."+typ, resp.Diagnostics)
}

// open opens an ephemeral resource. The function closes it.
func (c *caller) open(typ string, values driver.Values) (out tftypes.Value, diags []*tfprotov6.Diagnostic, end func() []*tfprotov6.Diagnostic) {
	c.Helper()
	server := c.run.Server
	schema := c.schemas.EphemeralResourceSchemas[typ]
	config := c.value(schema, values)
	valid := ask(c, typ, "validate", server.ValidateEphemeralResourceConfig, &tfprotov6.ValidateEphemeralResourceConfigRequest{TypeName: typ, Config: config})
	if len(valid.Diagnostics) > 0 {
		return out, valid.Diagnostics, nil
	}
	resp := ask(c, typ, "open", server.OpenEphemeralResource, &tfprotov6.OpenEphemeralResourceRequest{TypeName: typ, Config: config})
	if resp.Result != nil {
		out = c.unmarshal(resp.Result, schema)
	}
	return out, resp.Diagnostics, func() []*tfprotov6.Diagnostic {
		closed := ask(c, typ, "close", server.CloseEphemeralResource, &tfprotov6.CloseEphemeralResourceRequest{TypeName: typ, Private: resp.Private})
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
		TypeName: typ, Config: c.value(c.schemas.ListResourceSchemas[typ], driver.Values{}), Limit: limit, IncludeResource: include,
	})
	return slices.Collect(stream.Results)
}

// act invokes an action, and returns its progress and its diagnostics. each is called for
// each line of progress, unless it is nil.
func (c *caller) act(typ string, values driver.Values, each func(string)) (progress []string, diags []*tfprotov6.Diagnostic) {
	c.Helper()
	server, ok := c.run.Server.(tfprotov6.ActionServer)
	if !ok {
		c.Fatal("the provider has no actions")
	}
	config := c.value(c.schemas.ActionSchemas[typ].Schema, values)
	valid := ask(c, typ, "validate", server.ValidateActionConfig, &tfprotov6.ValidateActionConfigRequest{ActionType: typ, Config: config})
	if len(valid.Diagnostics) > 0 {
		return nil, valid.Diagnostics
	}
	planned := ask(c, typ, "plan", server.PlanAction, &tfprotov6.PlanActionRequest{ActionType: typ, Config: config})
	if len(planned.Diagnostics) > 0 {
		return nil, planned.Diagnostics
	}
	stream := ask(c, typ, "invoke", server.InvokeAction, &tfprotov6.InvokeActionRequest{ActionType: typ, Config: config})
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
