// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// importID is the ID with which a token is imported.
func (k *tokenWorld) importID(id string) string {
	return map[string]string{"v3": "", "v2": "v2:", "service": "service:" + serviceURL + "/"}[k.protocol] + id
}

// An imported token is as one that was created. One that is not there, or that no registry
// answers for, is not imported.
func TestTokenImport(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		take := func(id string) string {
			k.ws.Resources = []driver.Resource{{Type: "etcd_discovery_token", Name: "this", Values: k.of(3)}}
			return told(k.ws.Import(k.Context(), k.start("import"), tokenAddress, id))
		}
		k.up(k.of(3))
		k.refresh()
		state, id := k.ws.State(tokenAddress).Value, k.id()
		k.ws.Forget(tokenAddress)
		k.silence(true)
		k.expect("silent", take(k.importID(id)), k.byProtocol("The discovery service gave no usable answer", "Cannot import the token"))
		k.silence(false)
		missing := strings.Repeat("0", 32)
		k.expect("not there", take(k.importID(missing)), k.byProtocol("The discovery service gave no usable answer", "No such discovery token"))
		k.expect("no ID", take("my:"+k.importID(id)), "Invalid import ID")
		k.expect("import", take(k.importID(id)+k.byProtocol("//", "")), "")
		if got := k.ws.State(tokenAddress).Value; !got.Equal(state) {
			t.Errorf("imported\n%s\nwant\n%s", got, state)
		}
		k.plans(k.of(3), "no-op")
		k.plans(k.of(5), k.replaced()[:len("replace")])
		k.ws.Forget(tokenAddress)
		k.put(id, "size", "x")
		k.expect("bad size", take(k.importID(id)), "(Discovery token has an invalid size)")
	})
}

// The data source reads what members have registered, by token or by the URL that members take.
func TestTokenData(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		k.up(k.of(2))
		id := k.id()
		at := driver.Values{"token": id, "protocol": k.protocol}
		if k.protocol == "service" {
			at = driver.Values{"url": serviceURL + "/" + id}
		}
		byURL := maps.Clone(at)
		if k.protocol == "v2" {
			byURL = driver.Values{"url": etcdsim.ClientURL("r") + registryKeys + id}
		}
		c := k.call("read", k.ws.Provider)
		defer c.run.Close()
		see := func(what, size, complete, members string) {
			k.Helper()
			for _, config := range []driver.Values{at, byURL} {
				v, diags := c.read("etcd_discovery_token", config)
				got := []string{said(diags)}
				for _, name := range []string{"id", "token", "protocol", "size", "complete"} {
					got = append(got, driver.Attribute(v, name))
				}
				k.expect(what, strings.Join(got, " "), fmt.Sprintf(` %s %[1]s %s tftypes.Number<"%s"> tftypes.Bool<"%s">`, id, k.protocol, size, complete))
				if shown := driver.Attribute(v, "members"); !strings.Contains(shown, members) {
					k.Errorf("%s: %s", what, shown)
				}
			}
		}
		fails := func(what, service, cluster string) {
			k.Helper()
			for _, config := range []driver.Values{at, byURL} {
				_, diags := c.read("etcd_discovery_token", config)
				k.expect(what, said(diags), k.byProtocol(service, cluster))
			}
		}
		const noService = "The discovery service gave no usable answer"
		k.register("b")
		see("one of two", "2", "false", `"http://b.example:2380"`)
		k.register("a", "late")
		see("two of two", "2", "true", `"http://a.example:2380"`)
		k.put(id, "size", "2 ")
		fails("bad size", "Discovery token has an invalid size", "Discovery token has an invalid size")
		k.forget(id)
		fails("deleted", noService, "No such discovery token")
		k.silence(true)
		fails("silent", noService, "Cannot read the token")
	})
}

// The data source needs endpoints that are known, unless a URL has them, and one place.
func TestTokenDataInput(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		for want, endpoints := range map[string]any{"The provider's endpoints are not known yet": driver.Unknown{}, "No discovery cluster to ask": nil} {
			c := w.call("read "+want, driver.Values{"endpoints": endpoints})
			_, diags := c.read("etcd_discovery_token", driver.Values{"token": "mine"})
			w.expect("without endpoints", said(diags), want)
			c.run.Close()
		}
		c := w.call("input", driver.Values{"endpoints": []any{etcdsim.ClientURL("r")}})
		defer c.run.Close()
		const either = "Invalid Attribute Combination"
		url := etcdsim.ClientURL("r") + registryKeys + "mine"
		for _, test := range []struct {
			values driver.Values
			want   string
		}{
			{driver.Values{}, either},
			{driver.Values{"token": "mine", "url": url}, either},
			{driver.Values{"url": url, "prefix": "/my"}, either},
			{driver.Values{"token": "a/b"}, "Invalid discovery token"},
			{driver.Values{"token": "mine", "prefix": "my"}, "Invalid prefix"},
			{driver.Values{"token": "mine", "protocol": "service"}, "Invalid Attribute Value Match"},
			{driver.Values{"url": "10.0.0.1:2379"}, "Invalid discovery URL"},
			{driver.Values{"url": "http:///v2/keys/_etcd/registry/mine"}, "Invalid discovery URL"},
			{driver.Values{"url": "http://10.0.0.1/v2/keys/mine"}, "Invalid discovery URL"},
			{driver.Values{"url": "https://discovery.etcd.io/new"}, "Invalid discovery URL"},
		} {
			_, diags := c.read("etcd_discovery_token", test.values)
			w.expect(fmt.Sprint(test.values), said(diags), test.want)
		}
	})
}

// Other access for the machines is a change in place, while they are known to wait for the
// token, or have formed the cluster.
func TestTokenAccess(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		if k.protocol == "service" {
			return // it has no arguments for access
		}
		url := "https://registry.example:2379"
		advertised := k.of(3, driver.Values{"advertised_endpoints": []any{url}})
		shown := func() string {
			return k.attr("environment", "ETCD_DISCOVERY_ENDPOINTS") + strings.TrimSuffix(k.attr("environment", "ETCD_DISCOVERY"), registryKeys+k.id())
		}
		k.up(k.of(3))
		k.expect("advertised", k.up(advertised)+" "+shown(), "update "+url)
		k.expect("and not", k.up(k.of(3))+" "+shown(), "update "+etcdsim.ClientURL("r"))
		const refused = "Cannot change the discovery token"
		k.silence(true)
		k.refused(advertised, refused, []string{"gave no usable answer"})
		k.silence(false)
		k.register("a", "b", "c")
		k.refused(advertised, refused, []string{"Registered: a, b, c"})
		k.refresh()
		if k.protocol == "v3" {
			access := map[string]any{"ca_cert": "/ca.pem", "cert": "/c.pem", "key": "/k.pem", "username": "registrar"}
			k.expect("access", k.up(k.of(3, driver.Values{"machine_access": access})), "update")
			for name, want := range map[string]string{"CACERT": "/ca.pem", "CERT": "/c.pem", "KEY": "/k.pem", "USER": "registrar", "TOKEN": k.id()} {
				k.expect(name, k.attr("environment", "ETCD_DISCOVERY_"+name), want)
			}
		}
		k.expect("advertised", k.up(advertised)+" "+shown(), "update "+url)
	})
}

// While the endpoints are not known, nothing is asked, and no token is given up.
func TestTokenWithUnknownEndpoints(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		k.up(k.of(3))
		k.ws.Provider = driver.Values{"endpoints": driver.Unknown{}}
		if k.protocol == "service" {
			k.plans(k.of(5), "replace") // it needs none
			return
		}
		calls := k.calls
		k.expect("refresh", k.refresh(), "")
		k.plans(k.of(3), "no-op")
		k.refused(k.of(5), mayNotReplace, []string{"known after apply only"})
		k.ws.Forget(tokenAddress)
		k.plans(k.of(3), "create")
		k.expect("requests", k.calls-calls, 0)
	})
}
