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
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
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
		"when":  func(s *script, rest string) { s.when, s.then, _ = strings.Cut(rest, " | ") }, // an action says so
		"state": func(s *script, at string) { s.seen = s.ws.State(address(at)).Value },
		"is": func(s *script, rest string) {
			at, want, _ := strings.Cut(rest, " ")
			s.expect(at, plain.ReplaceAllString(s.sees(at), "$1"), want)
		},
		"matches": func(s *script, rest string) {
			at, pattern, _ := strings.Cut(rest, " ")
			if got := s.sees(at); !regexp.MustCompile(pattern).MatchString(got) {
				s.Errorf("%s is %s, want %s", at, got, pattern)
			}
		},
		"misses": func(s *script, rest string) {
			at, words, _ := strings.Cut(rest, " ")
			if got := s.sees(at); strings.Contains(got, words) {
				s.Errorf("%s is %s", at, got)
			}
		},
		"note": func(s *script, rest string) { // what stands for $NAME
			name, value, _ := strings.Cut(rest, " ")
			s.vars[name] = value
		},
		"tells": func(s *script, pattern string) { // the last command
			if got := fmt.Sprint(s.said.Diagnostics); !regexp.MustCompile(pattern).MatchString(got) {
				s.Errorf("it says %s, want %s", got, pattern)
			}
		},
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
		"learner": func(s *script, name string) { s.startLearner(name) },
		"answers": func(s *script, rest string) { // URL NAME
			at, name, _ := strings.Cut(rest, " ")
			s.network.Answer(at, s.members[name])
		},
		"publish": func(s *script, rest string) { // NAME, of a process, another one, and more client URLs
			words := strings.Fields(rest)
			s.members[words[0]].Publish(words[1], words[2:]...)
			for _, at := range words[2:] {
				s.network.Answer(at, s.members[words[0]])
			}
		},
		// What answers at a URL lies in its lists: about the peer URL of a, or it lists another member.
		"moves-a": func(s *script, rest string) {
			at, url, _ := strings.Cut(rest, " ")
			s.lies(at, func(list *pb.MemberListResponse) {
				list.Members[slices.IndexFunc(list.Members, func(m *pb.Member) bool { return m.Name == "a" })].PeerURLs = []string{url}
			})
		},
		"lists": func(s *script, rest string) {
			at, text, _ := strings.Cut(rest, " ")
			m, _ := s.value(text).([]any)
			s.lies(at, func(list *pb.MemberListResponse) {
				list.Members = append(list.Members, &pb.Member{ID: 0xbad, Name: fmt.Sprint(m[0]), PeerURLs: []string{fmt.Sprint(m[1])}})
			})
		},
		"printable": func(s *script, _ string) { // is what was said
			if got := fmt.Sprint(s.said); strings.ContainsAny(got, "\x1b\u2028") || strings.Contains(got, "\nbootcmd") {
				s.Errorf("it says %q", got)
			}
		},
		"stall":     each(func(s *script, name string) { s.members[name].Stall() }),
		"power-off": each(func(s *script, name string) { s.members[name].PowerOff() }),
		"writes": func(s *script, n string) { // to whatever answers for a
			for range s.number(n) {
				_, err := s.network.Run("test").Client(etcdsim.ClientURL("a"), etcdsim.ClientURL("a")).Put(s.Context(), "key", "")
				s.must(err)
			}
		},
		"crash": func(s *script, rest string) { // processes, for a time
			d, names, _ := strings.Cut(rest, " ")
			s.play("power-off " + names)
			if s.schedule.Clock("crash").Sleep(s.Context(), length(d)) == nil {
				for _, name := range strings.Fields(names) {
					_ = s.members[name].Start() // it may be removed by now
				}
			}
		},
		"split": each(func(s *script, name string) { s.cluster.Split(s.members[name]) }),
		"hide":  each(func(s *script, name string) { s.network.Cut("", etcdsim.ClientURL(name)) }),
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
		"later": func(s *script, rest string) {
			after, line, _ := strings.Cut(rest, " ")
			s.laters++
			clock := s.schedule.Clock(fmt.Sprint("later ", s.laters))
			go func() {
				if clock.Sleep(s.Context(), length(after)) == nil {
					s.play(line)
				}
			}()
		},
		"freeze": each(func(s *script, name string) { s.members[name].Freeze() }),
		"thaw":   each(func(s *script, name string) { s.members[name].Thaw() }),
		"cut": func(s *script, run string) {
			for _, p := range s.cluster.Processes() {
				s.network.Cut(run, p.ClientURL)
			}
		},
		"heal": func(s *script, run string) {
			for _, p := range s.cluster.Processes() {
				s.network.Heal(run, p.ClientURL)
			}
		},
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
			if n := s.sent[rest[:at]]; !regexp.MustCompile("^(?:" + rest[at+1:] + ")$").MatchString(fmt.Sprint(n)) {
				s.Errorf("%d requests: %s", n, rest)
			}
		},
		"within": func(s *script, limit string) { // the last command
			if s.took > length(limit) {
				s.Errorf("it took %v", s.took)
			}
		},
		"lasts": func(s *script, least string) {
			if s.took < length(least) {
				s.Errorf("it took %v", s.took)
			}
		},
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
