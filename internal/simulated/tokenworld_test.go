// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

const (
	tokenAddress = "etcd_discovery_token.this"
	serviceURL   = "https://d.example"
	serviceAt    = "https://d.example:443" // what is dialled
	registryKeys = "/v2/keys" + discovery.DefaultPrefix + "/"
)

// tokenWorld is an etcd_discovery_token, with the discovery cluster r or the discovery service
// that keeps it.
type tokenWorld struct {
	*world
	protocol   string
	ws         *driver.Workspace
	service    *etcdsim.Service
	registered int
}

// tokens runs a test for each protocol.
func tokens(t *testing.T, f func(k *tokenWorld)) {
	t.Parallel()
	for _, protocol := range []string{"v3", "v2", "service"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			simulate(t, 1, "", func(w *world) { f(newToken(w, protocol)) })
		})
	}
}

func newToken(w *world, protocol string) *tokenWorld {
	w.network.V2 = true
	w.cluster = w.network.Form("3.5.35", "r")
	w.members["r"] = w.cluster.Processes()[0]
	w.rest(10 * time.Second)
	return &tokenWorld{world: w, protocol: protocol, ws: driver.New(w, w.provider("r")), service: w.network.Service(serviceAt)}
}

// of are the arguments of a token for so many members, and others.
func (k *tokenWorld) of(size any, more ...driver.Values) driver.Values {
	out := driver.Values{"size": size, "protocol": k.protocol}
	if k.protocol == "service" {
		out["service_url"] = serviceURL
	}
	for _, values := range more {
		maps.Copy(out, values)
	}
	return out
}

// told are summaries, each once. What a plan says of every token of an old protocol is
// left out.
func told(r driver.Result) string {
	lines := strings.Split(summaries(r), ", ")
	slices.Sort(lines)
	return strings.Join(slices.DeleteFunc(slices.Compact(lines), func(s string) bool { return s == "(For members up to etcd 3.6)" }), ", ")
}

// plan plans for a configuration, without a refresh. It returns the action, and what is said.
func (k *tokenWorld) plan(config driver.Values, opts ...driver.Option) (*driver.Plan, string, driver.Result) {
	k.ws.Resources = []driver.Resource{{Type: "etcd_discovery_token", Name: "this", Values: config}}
	plan, r := k.ws.Plan(k.Context(), k.start("plan"), append(opts, driver.NoRefresh)...)
	action := ""
	if plan != nil {
		action = plan.Change(tokenAddress).Action
	}
	return plan, strings.Trim(action+": "+told(r), ": "), r
}

// plans expects the action of a plan and what it says.
func (k *tokenWorld) plans(config driver.Values, want string, opts ...driver.Option) {
	k.Helper()
	_, got, r := k.plan(config, opts...)
	if got != want {
		k.Errorf("planned %q, want %q: %v", got, want, r)
	}
}

// refused expects that a plan fails with the summary and these facts.
func (k *tokenWorld) refused(config driver.Values, summary string, facts []string, opts ...driver.Option) {
	k.Helper()
	_, got, r := k.plan(config, opts...)
	k.expect("the plan", got, summary)
	k.fails("the plan", r, facts...)
}

// up plans and applies, and returns the action and what is said.
func (k *tokenWorld) up(config driver.Values, opts ...driver.Option) string {
	plan, action, r := k.plan(config, opts...)
	if plan == nil {
		return action
	}
	applied := k.ws.Apply(k.Context(), k.start("apply"), plan)
	r.Diagnostics = append(r.Diagnostics, applied.Diagnostics...)
	return strings.Trim(plan.Change(tokenAddress).Action+": "+told(r), ": ")
}

func (k *tokenWorld) refresh() string {
	k.ws.Resources = nil
	return told(k.ws.Refresh(k.Context(), k.start("refresh")))
}

func (k *tokenWorld) destroy() string {
	k.ws.Resources = nil
	_, r := k.ws.Up(k.Context(), k.start("destroy"), driver.NoRefresh)
	return told(r)
}

// attr is an attribute in the state.
func (k *tokenWorld) attr(path ...string) string {
	if o := k.ws.State(tokenAddress); o != nil {
		return driver.Attribute(o.Value, path...)
	}
	return ""
}

func (k *tokenWorld) id() string { return k.attr("token") }

// complete expects whether all members have registered, by the state.
func (k *tokenWorld) complete(want bool) {
	k.Helper()
	k.expect("complete", k.attr("complete"), fmt.Sprintf("tftypes.Bool<%q>", fmt.Sprint(want)))
	k.expect("bootstrap.complete", k.attr("bootstrap", "complete"), k.attr("complete"))
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
		_, err := k.client("r").Put(k.Context(), discovery.DefaultPrefix+"/"+id+"/"+path, value)
		k.must(err)
	}
}

// register registers members with the token, the last ID first.
func (k *tokenWorld) register(names ...string) {
	k.Helper()
	for _, name := range names {
		k.registered++
		k.put(k.id(), fmt.Sprintf("%x", 0xff-k.registered), name+"="+etcdsim.PeerURL(name))
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
			_, err := k.client("r").Delete(k.Context(), key)
			k.must(err)
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

// silence hides the discovery cluster, or the service.
func (k *tokenWorld) silence(silent bool) {
	for _, address := range []string{serviceAt, etcdsim.ClientURL("r")} {
		if silent {
			k.network.Cut("", address)
		} else {
			k.network.Heal("", address)
		}
	}
}

// another puts another discovery cluster, or service, at the address.
func (k *tokenWorld) another() {
	k.service = k.network.Service(serviceAt)
	other := k.network.Form("3.5.35", "x").Processes()[0]
	k.network.Answer(etcdsim.ClientURL("r"), other)
}
