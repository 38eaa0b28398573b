// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// TestHeartbeats shows what heartbeats are and do in each API.
func TestHeartbeats(t *testing.T) { tell(t, "heartbeats.txt", "v2", "v3") }

// running are the keys of heartbeats.
const running = "/running/"

// beats are the heartbeats of a script.
type beats struct {
	open    map[string]*open // by the name of the run
	watched chan tftypes.Value
	claims  map[string]claim.Entry
	// lose is how many answers to writes of run.1 are lost from now on, lost how many were.
	lose, lost int
}

// open is an ephemeral resource that is open.
type open struct {
	*caller
	end func() []*tfprotov6.Diagnostic
}

// store does something with what holds claims, without the provider.
func (s *script) store(do func(claim.Store) error) {
	s.Helper()
	pool := &connection.Pool{World: s.network.Run("other")}
	defer func() { _ = pool.Close() }()
	at := connection.Settings{Endpoints: []string{etcdsim.ClientURL("s"), etcdsim.ClientURL("r")}, Clock: s.schedule.Clock("other")}
	var store claim.Store = claim.NewV2(at, pool)
	if s.kind == "v3" {
		store = claim.NewV3(cluster.New(at, pool), at, pool)
	}
	s.must(do(store))
}

// opens opens an ephemeral resource in a run. It returns nil unless that is open.
func (s *script) opens(run string, provider driver.Values, typ, block string) (*open, tftypes.Value, driver.Result) {
	s.Helper()
	c := s.call(run, provider)
	v, diags, end := c.open(typ, s.block(block))
	r := driver.ResultOf(typ, diags)
	if r.Err() != nil {
		c.run.Close()
		return nil, v, r
	}
	return &open{c, end}, v, r
}

// watchIn reads the data source in the background.
func (s *script) watchIn(values driver.Values) {
	s.beats.watched = make(chan tftypes.Value, 1)
	go func() {
		v, r := s.read(s.ws.Provider, "etcd_heartbeats", values)
		s.expect("the watch", told(r), "")
		s.beats.watched <- v
	}()
}

// loseAnswers loses answers to writes of run.1.
func (s *script) loseAnswers() {
	s.network.After = func(_ context.Context, c etcdsim.Call, _ proto.Message, err error) error {
		_, writes := c.Request.(*pb.TxnRequest)
		web := c.Request == nil && !strings.HasPrefix(c.Method, "GET") && !strings.HasPrefix(c.Method, "/")
		if err != nil || !writes && !web || c.Run != "run.1" || s.beats.lose == 0 {
			return err
		}
		s.beats.lose--
		s.beats.lost++
		return map[bool]error{true: status.Error(codes.Unavailable, "connection lost"), false: io.ErrUnexpectedEOF}[writes]
	}
}

var event = regexp.MustCompile(`"kind":tftypes.String<"([a-z]+)">, "name":tftypes.String<"([a-z0-9]+)">`)

// beatPhrases are the phrases about heartbeats and other ephemeral resources.
var beatPhrases map[string]func(s *script, rest string)

func init() { // a map that refers to itself
	beatPhrases = map[string]func(s *script, rest string){
		"beating": func(s *script, _ string) { // a cluster of r, s and t that serves both APIs
			s.network.V2, s.schedule.Twins = true, true // two watches may ask for one lease
			s.cluster = s.network.Form("3.5.35", "r", "s", "t")
			s.all(func(p *etcdsim.Process) { s.members[p.Name] = p })
			s.rest(length("10s"))
			s.ws.Provider = s.provider("r s t")
			s.loseAnswers()
		},
		"open": func(s *script, rest string) { // RUN TYPE BLOCK
			call, want := divided(rest)
			words := strings.SplitN(call, " ", 3)
			o, v, r := s.opens(words[0], s.ws.Provider, words[1], words[2])
			s.beats.open[words[0]], s.seen, s.actions = o, v, nil
			s.comes(r, want)
		},
		"close": func(s *script, rest string) {
			run, want := divided(rest)
			o := s.beats.open[run]
			s.comes(driver.ResultOf("", o.end()), want)
			o.run.Close()
		},
		"end": func(s *script, run string) { s.beats.open[run].run.Close() }, // the process
		"race": func(s *script, rest string) { // TYPE BLOCK: one run of four opens it
			call, want := divided(rest)
			typ, block, _ := strings.Cut(call, " ")
			var all sync.WaitGroup
			var opened [4]*open
			var values [4]tftypes.Value
			var results [4]driver.Result
			for i := range opened {
				all.Go(func() { opened[i], values[i], results[i] = s.opens(fmt.Sprint("run", i), s.ws.Provider, typ, block) })
			}
			all.Wait()
			owners := 0
			for i, o := range opened {
				if o == nil {
					s.comes(results[i], want)
					continue
				}
				owners++
				s.play("holds " + driver.Attribute(values[i], "value"))
				o.run.Close()
			}
			s.expect("owners", owners, 1)
		},
		"holds": func(s *script, want string) { // the key, "" if there is none
			s.store(func(store claim.Store) error {
				e, err := store.Get(s.Context(), running+"deploy")
				if e == nil {
					e = &claim.Entry{}
				}
				s.expect("the key", e.Value, want)
				return err
			})
		},
		"claim": pair(func(s *script, name, ttl string) {
			s.store(func(store claim.Store) (err error) {
				s.beats.claims[name], err = store.Create(s.Context(), running+name, "of "+name, length(ttl))
				return err
			})
		}),
		"renew": pair(func(s *script, name, ttl string) {
			s.store(func(store claim.Store) (err error) {
				s.beats.claims[name], err = store.Beat(s.Context(), s.beats.claims[name], length(ttl))
				return err
			})
		}),
		"release": func(s *script, name string) {
			s.store(func(store claim.Store) error { return store.Delete(s.Context(), s.beats.claims[name]) })
		},
		"stale": func(s *script, value string) { // the key has no time to live
			s.must(errOf(s.client("r").Put(s.Context(), running+"deploy", value)))
			s.web(http.MethodPut, etcdsim.ClientURL("r"), "/v2/keys/running/deploy?value="+value)
		},
		"no-claim": func(s *script, _ string) {
			s.must(errOf(s.client("r").Delete(s.Context(), running+"deploy")))
			s.web(http.MethodDelete, etcdsim.ClientURL("r"), "/v2/keys/running/deploy")
		},
		"watching": func(s *script, block string) { s.watchIn(s.block(block)); s.rest(length("1s")) },
		"watched":  func(s *script, _ string) { s.seen = <-s.beats.watched },
		"events": func(s *script, want string) { // successive equal ones once
			var out []string
			for _, m := range event.FindAllStringSubmatch(driver.Attribute(s.seen, "events"), -1) {
				out = append(out, m[2]+" "+m[1])
			}
			s.expect("the events", strings.Join(slices.Compact(out), ", "), want)
		},
		"lose-writes": func(s *script, n string) { s.beats.lose = int(s.number(n)) },
		"lost-writes": func(s *script, n string) { s.expect("lost answers", s.beats.lost, n) },
		"v2":          func(s *script, is string) { s.network.V2 = is == "on" }, // the API
	}
}
