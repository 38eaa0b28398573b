// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

const (
	tokenAddress = "etcd_discovery_token.this"
	serviceURL   = "https://d.example"
	serviceAt    = "https://d.example:443" // what is dialled
	registryKeys = "/v2/keys" + discovery.DefaultPrefix + "/"
)

// TestTokens shows what a token is and does in the discovery cluster or service that keeps it.
func TestTokens(t *testing.T) { runFile(t, "tokens.txt", "v3", "v2", "service") }

// TestTokenInput shows what the configuration of a token may be.
func TestTokenInput(t *testing.T) { runFile(t, "tokeninput.txt", "v3") }

// tokenWorld is the discovery cluster r and the discovery service, one of which keeps tokens.
type tokenWorld struct {
	*world
	protocol   string
	service    *etcdsim.Service
	registered int
}

func newToken(w *world, protocol string) *tokenWorld {
	w.network.V2 = true
	w.cluster = w.network.Form("3.5.35", "r")
	w.members["r"] = w.cluster.Processes()[0]
	w.rest(10 * time.Second)
	return &tokenWorld{world: w, protocol: protocol, service: w.network.Service(serviceAt)}
}

// of is the resource of a token for so many members, with more arguments.
func (k *tokenWorld) of(size any, more driver.Values) []driver.Resource {
	values := driver.Values{"size": size, "protocol": k.protocol}
	if k.protocol == "service" {
		values["service_url"] = serviceURL
	}
	maps.Copy(values, more)
	return []driver.Resource{{Type: "etcd_discovery_token", Name: "this", Values: values}}
}

// summaries are those of diagnostics, each once, with warnings in brackets. What a plan
// says of every token of an old protocol is left out.
func summaries(r driver.Result) string {
	var out []string
	for _, d := range r.Diagnostics {
		out = append(out, map[bool]string{true: "(" + d.Summary + ")", false: d.Summary}[d.Warning])
	}
	slices.Sort(out)
	return strings.Join(slices.DeleteFunc(slices.Compact(out),
		func(s string) bool { return s == "(For members up to etcd 3.6)" }), ", ")
}

// tokenID is the token in the state, "" without one.
func (s *runner) tokenID() string {
	if o := s.ws.State(tokenAddress); o != nil {
		return driver.Attribute(o.Value, "token")
	}
	return ""
}

// web sends a request as curl does.
func (w *world) web(method, address, path string) string {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, address+path, http.NoBody)
	w.must(err)
	resp, err := w.network.Run("curl").Web(address).RoundTrip(req)
	w.must(err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	w.must(err)
	return string(body)
}

// put writes a key below a token, as a member does that registers: an ID or "size".
func (k *tokenWorld) put(id, name, value string) {
	k.Helper()
	path := map[bool]string{true: "_config/size", false: name}[name == "size"]
	switch k.protocol {
	case "service":
		k.service.Put(id, path, value)
	case "v2":
		k.web(http.MethodPut, etcdsim.ClientURL("r"), registryKeys+id+"/"+path+"?value="+url.QueryEscape(value))
	default:
		if path == name {
			path = "members/" + name
		}
		k.must(errOf(k.client("r").Put(k.Context(), discovery.DefaultPrefix+"/"+id+"/"+path, value)))
	}
}

// forget deletes a token and its registrations by hand.
func (k *tokenWorld) forget(id string) {
	k.Helper()
	switch k.protocol {
	case "service":
		k.service.Put(id, "", "")
	case "v2":
		k.web(http.MethodDelete, etcdsim.ClientURL("r"), registryKeys+id+"?recursive=true")
	default:
		for _, key := range k.keys() {
			k.must(errOf(k.client("r").Delete(k.Context(), key)))
		}
	}
}

// size is the size of a token where it is kept, "" if it is not.
func (k *tokenWorld) size(id string) string {
	k.Helper()
	if k.protocol == "v3" {
		got, err := k.client("r").Get(k.Context(), discovery.DefaultPrefix+"/"+id+"/_config/size")
		k.must(err)
		for _, kv := range got.Kvs {
			return string(kv.Value)
		}
		return ""
	}
	address, path := serviceAt, "/"
	if k.protocol == "v2" {
		address, path = etcdsim.ClientURL("r"), registryKeys
	}
	_, value, _ := strings.Cut(k.web(http.MethodGet, address, path+id+"/_config/size"), `"value":"`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// inToken finds the token that a request is about.
var inToken = regexp.MustCompile(`_etcd/registry/([0-9a-f]{32})`)

// writesToken reports whether a request creates a token.
func writesToken(c etcdsim.Call) bool {
	txn, ok := c.Request.(*pb.TxnRequest)
	return ok && len(txn.Compare) > 0 || strings.HasPrefix(c.Method, http.MethodPut) ||
		strings.HasPrefix(c.Method, "GET /new?")
}

// lose loses the answer to the next creation of a token, and then all answers, if forever.
func (k *tokenWorld) lose(written, forever bool) {
	broken := map[bool]error{true: status.Error(codes.Unavailable, "connection lost"),
		false: io.ErrUnexpectedEOF}[k.protocol == "v3"]
	before := k.network.Before
	lost := func(c etcdsim.Call) error {
		k.network.Before, k.network.After = before, nil
		if forever {
			k.network.Cut("", c.Address)
		}
		return broken
	}
	k.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		if err := before(ctx, c); err != nil || written || !writesToken(c) {
			return err
		}
		return lost(c)
	}
	k.network.After = func(_ context.Context, c etcdsim.Call, _ proto.Message, err error) error {
		if err != nil || !written || !writesToken(c) {
			return err
		}
		return lost(c)
	}
}

// meet does something as soon as an apply looks for a token, whose ID is "looked".
func (s *runner) meet(do func()) {
	before := s.network.Before
	s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
		err := before(ctx, c)
		if id := inToken.FindStringSubmatch(fmt.Sprint(c.Method, c.Request)); id != nil &&
			strings.HasPrefix(c.Run, "apply") {
			s.network.Before, s.vars["looked"] = before, id[1]
			do()
		}
		return err
	}
}

// tokenSteps are the steps about tokens.
var tokenSteps map[string]step

func init() { // steps run steps
	tokenSteps = map[string]step{
		"registry": {
			"", "a discovery registry of the kind of this scenario",
			func(s *runner, _ string) {
				s.token = newToken(s.world, s.kind)
				s.ws.Provider = s.provider("r")
			},
		},
		// A token for one member, of a service: a discovery cluster would need a provider block of
		// its own. Nothing is left at the end.
		"token": {
			"", "a token for one member, of a service",
			func(s *runner, _ string) {
				s.token, s.names = newToken(s.world, "service"), ""
				s.ws.Resources = s.token.of(1, nil)
			},
		},
		"wants": {
			"SIZE [ARGUMENTS]", "the configuration has an etcd_discovery_token",
			pair(func(s *runner, size, text string) {
				more, _ := s.value(cmp.Or(text, "{}")).(driver.Values)
				s.ws.Resources = s.token.of(s.value(size), more)
			}),
		},
		"register": {
			"NAMES", "members register with the token",
			each(func(s *runner, name string) {
				s.token.registered++
				s.token.put(s.tokenID(), fmt.Sprintf("%x", 0xff-s.token.registered), name+"="+etcdsim.PeerURL(name))
			}),
		},
		"complete": {
			"", "the token in the state is complete",
			func(s *runner, _ string) {
				s.run("state " + tokenAddress)
				s.run("is complete true")
				s.run("is bootstrap.complete true")
			},
		},
		"entry": {
			"TOKEN KEY VALUE", "a key of a token is written by hand",
			func(s *runner, rest string) {
				words := strings.SplitN(rest, " ", 3)
				s.token.put(words[0], words[1], words[2])
			},
		},
		"delete-token": {
			"TOKEN", "the token is deleted",
			func(s *runner, id string) { s.token.forget(id) },
		},
		"size": {
			"TOKEN PATTERN", "the size that is kept of a token",
			pair(func(s *runner, id, want string) { s.like("the size of "+id, s.token.size(id), "^(?:"+want+")$") }),
		},
		"minted": {
			"N", "how many tokens the service has made",
			func(s *runner, n string) { s.expect("tokens of the service", s.token.service.Minted(), n) },
		},
		"service-fails": {
			"CODE", "the service answers with this status",
			func(s *runner, code string) { s.token.service.Fail(int(s.number(code))) },
		},
		"another": {
			"", "another registry answers at the addresses",
			func(s *runner, _ string) {
				s.token.service = s.network.Service(serviceAt)
				s.run("other-cluster 3.5.35")
			},
		},
		"denied": {
			"", "the registry denies everything from now on",
			func(s *runner, _ string) {
				before := s.network.Before
				s.network.Before = func(ctx context.Context, c etcdsim.Call) error {
					return cmp.Or(before(ctx, c), rpctypes.ErrGRPCPermissionDenied)
				}
			},
		},
		"on-token-request": {
			"STEP", "the step, when the next apply asks for a token",
			func(s *runner, line string) { s.meet(func() { s.run(line) }) },
		},
		"answer": {
			"lost|forever lost", "the answer that has a new token is lost",
			func(s *runner, how string) {
				s.token.lose(strings.Contains(how, "lost"), strings.Contains(how, "forever"))
			},
		},
		// The next plan changes the token in place or not at all, or replaces it, if it may.
		"plans": {
			"ACTION ARGUMENTS",
			"with these arguments the plan changes the token in place, or not at all, or does the action",
			pair(func(s *runner, may, text string) {
				more, _ := s.value(text).(driver.Values)
				was := s.ws.Resources
				s.ws.Resources = s.token.of(3, nil)
				maps.Copy(s.ws.Resources[0].Values, more)
				plan, r := s.ws.Plan(s.Context(), s.start("plan"), driver.NoRefresh)
				s.ws.Resources = was
				if strings.Contains(summaries(r), "Argument without effect") {
					return
				}
				if r.Err() != nil || !slices.Contains([]string{"no-op", "update", may},
					plan.Change(tokenAddress).Action) {
					s.Errorf("%v: %v: %v", more, plan, r)
				}
			}),
		},
	}
}

// TestHeartbeats shows what heartbeats are and do in each API.
func TestHeartbeats(t *testing.T) { runFile(t, "heartbeats.txt", "v2", "v3") }

// running are the keys of heartbeats.
const running = "/running/"

// beats are the heartbeats of a scenario.
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
func (s *runner) store(do func(claim.Store) error) {
	s.Helper()
	pool := &connection.Pool{World: s.network.Run("other")}
	defer func() { _ = pool.Close() }()
	at := connection.Settings{Endpoints: []string{etcdsim.ClientURL("s"), etcdsim.ClientURL("r")},
		Clock: s.schedule.Clock("other")}
	var store claim.Store = claim.NewV2(at, pool)
	if s.kind == "v3" {
		store = claim.NewV3(cluster.New(at, pool), at, pool)
	}
	s.must(do(store))
}

// opens opens an ephemeral resource in a run. It returns nil unless that is open.
func (s *runner) opens(run string, provider driver.Values, typ, block string) (*open, tftypes.Value, driver.Result) {
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
func (s *runner) watchIn(values driver.Values) {
	s.beats.watched = make(chan tftypes.Value, 1)
	go func() {
		v, r := s.read(s.ws.Provider, "etcd_heartbeats", values)
		s.expect("the watch", summaries(r), "")
		s.beats.watched <- v
	}()
}

// loseAnswers loses answers to writes of run.1.
func (s *runner) loseAnswers() {
	s.network.After = func(_ context.Context, c etcdsim.Call, _ proto.Message, err error) error {
		_, writes := c.Request.(*pb.TxnRequest)
		web := c.Request == nil && !strings.HasPrefix(c.Method, "GET") && !strings.HasPrefix(c.Method, "/")
		if err != nil || !writes && !web || c.Run != "run.1" || s.beats.lose == 0 {
			return err
		}
		s.beats.lose--
		s.beats.lost++
		return map[bool]error{true: status.Error(codes.Unavailable, "connection lost"),
			false: io.ErrUnexpectedEOF}[writes]
	}
}

var event = regexp.MustCompile(`"kind":tftypes.String<"([a-z]+)">, "name":tftypes.String<"([a-z0-9]+)">`)

// heartbeatSteps are the steps about heartbeats and other ephemeral resources.
var heartbeatSteps map[string]step

func init() { // steps run steps
	heartbeatSteps = map[string]step{
		"v2-cluster": {
			"", "a cluster of r, s and t that serves the v2 and the v3 API",
			func(s *runner, _ string) {
				s.network.V2, s.schedule.Twins = true, true // two watches may ask for one lease
				s.cluster = s.network.Form("3.5.35", "r", "s", "t")
				s.all(func(p *etcdsim.Process) { s.members[p.Name] = p })
				s.rest(length("10s"))
				s.ws.Provider = s.provider("r s t")
				s.loseAnswers()
			},
		},
		"open": {
			"RUN TYPE ARGUMENTS [=> ERROR]", "a run opens an ephemeral resource",
			func(s *runner, rest string) {
				call, want := scenario.Divide(rest)
				words := strings.SplitN(call, " ", 3)
				o, v, r := s.opens(words[0], s.ws.Provider, words[1], words[2])
				s.beats.open[words[0]], s.seen, s.actions = o, v, nil
				s.comes(r, want)
			},
		},
		"close": {
			"RUN [=> ERROR]", "the run closes it",
			func(s *runner, rest string) {
				run, want := scenario.Divide(rest)
				o := s.beats.open[run]
				s.comes(driver.ResultOf("", o.end()), want)
				o.run.Close()
			},
		},
		"end": {
			"RUN", "the provider process of the run ends",
			func(s *runner, run string) { s.beats.open[run].run.Close() },
		},
		"race": {
			"TYPE ARGUMENTS", "four runs open it at once, and one of them succeeds",
			func(s *runner, rest string) {
				call, want := scenario.Divide(rest)
				typ, block, _ := strings.Cut(call, " ")
				var all sync.WaitGroup
				var opened [4]*open
				var values [4]tftypes.Value
				var results [4]driver.Result
				for i := range opened {
					all.Go(func() {
						opened[i], values[i],
							results[i] = s.opens(fmt.Sprint("run", i), s.ws.Provider, typ, block)
					})
				}
				all.Wait()
				owners := 0
				for i, o := range opened {
					if o == nil {
						s.comes(results[i], want)
						continue
					}
					owners++
					s.run("holds " + driver.Attribute(values[i], "value"))
					o.run.Close()
				}
				s.expect("owners", owners, 1)
			},
		},
		"holds": {
			"[VALUE]", "the value of the key, if there is one",
			func(s *runner, want string) { // the key, "" if there is none
				s.store(func(store claim.Store) error {
					e, err := store.Get(s.Context(), running+"deploy")
					if e == nil {
						e = &claim.Entry{}
					}
					s.expect("the key", e.Value, want)
					return err
				})
			},
		},
		"claim": {
			"NAME TTL", "another program claims the key",
			pair(func(s *runner, name, ttl string) {
				s.store(func(store claim.Store) (err error) {
					s.beats.claims[name], err = store.Create(s.Context(), running+name, "of "+name, length(ttl))
					return err
				})
			}),
		},
		"renew": {
			"NAME TTL", "the other program renews its claim",
			pair(func(s *runner, name, ttl string) {
				s.store(func(store claim.Store) (err error) {
					s.beats.claims[name], err = store.Beat(s.Context(), s.beats.claims[name], length(ttl))
					return err
				})
			}),
		},
		"release": {
			"NAME", "the other program releases its claim",
			func(s *runner, name string) {
				s.store(func(store claim.Store) error { return store.Delete(s.Context(), s.beats.claims[name]) })
			},
		},
		"stale": {
			"VALUE", "the key has this value, and no time to live",
			func(s *runner, value string) {
				s.must(errOf(s.client("r").Put(s.Context(), running+"deploy", value)))
				s.web(http.MethodPut, etcdsim.ClientURL("r"), "/v2/keys/running/deploy?value="+value)
			},
		},
		"no-claim": {
			"", "the key is deleted",
			func(s *runner, _ string) {
				s.must(errOf(s.client("r").Delete(s.Context(), running+"deploy")))
				s.web(http.MethodDelete, etcdsim.ClientURL("r"), "/v2/keys/running/deploy")
			},
		},
		"watching": {
			"ARGUMENTS", "etcd_heartbeats is read in the background",
			func(s *runner, block string) { s.watchIn(s.block(block)); s.rest(length("1s")) },
		},
		"watched": {
			"", "it has been read",
			func(s *runner, _ string) { s.seen = <-s.beats.watched },
		},
		"events": {
			"EVENTS", "what it saw, successive equal ones once",
			func(s *runner, want string) {
				var out []string
				for _, m := range event.FindAllStringSubmatch(driver.Attribute(s.seen, "events"), -1) {
					out = append(out, m[2]+" "+m[1])
				}
				s.expect("the events", strings.Join(slices.Compact(out), ", "), want)
			},
		},
		"lose-writes": {
			"N", "how many answers to writes of run.1 are lost from now on",
			func(s *runner, n string) { s.beats.lose = int(s.number(n)) },
		},
		"lost-writes": {
			"N", "how many were lost",
			func(s *runner, n string) { s.expect("lost answers", s.beats.lost, n) },
		},
		"v2": {
			"on|off", "whether the servers serve the v2 API",
			func(s *runner, is string) { s.network.V2 = is == "on" },
		},
	}
}
