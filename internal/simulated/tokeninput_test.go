// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// machineAccess has one argument.
func machineAccess(name string, value any) driver.Values {
	access := map[string]any{"ca_cert": nil, "cert": nil, "key": nil, "username": nil}
	access[name] = value
	return driver.Values{"machine_access": access}
}

// The configuration of a token is refused before anything is asked.
func TestTokenInput(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		k := &tokenWorld{world: w, protocol: "v3", ws: driver.New(w, w.provider("r"))}
		valid := func(want string, all ...driver.Values) {
			w.Helper()
			for _, values := range all {
				k.ws.Resources = []driver.Resource{{Type: "etcd_discovery_token", Name: "this", Values: k.of(3, values)}}
				w.expect(fmt.Sprint(values), summaries(k.ws.Validate(w.Context(), w.start("validate"))), want)
			}
		}
		valid("Invalid Attribute Value", driver.Values{"size": 0}, driver.Values{"size": -1}, driver.Values{"size": 1000000000}, driver.Values{"advertised_endpoints": []any{}})
		valid("Invalid prefix", driver.Values{"prefix": "registry"})
		valid("Invalid Attribute Value Match", driver.Values{"protocol": "v4"}, driver.Values{"protocol": "V3"}, driver.Values{"protocol": ""})
		valid("Argument without effect", driver.Values{"service_url": "https://discovery.etcd.io"}, driver.Values{"protocol": "v2", "machine_access": map[string]any{"ca_cert": "/c"}})
		valid("Argument without effect, Argument without effect, Argument without effect", driver.Values{
			"protocol": "service", "prefix": "/my", "advertised_endpoints": []any{"http://10.0.0.1:2379"}, "machine_access": map[string]any{"ca_cert": "/c"},
		})
		valid("Invalid URL of a discovery service", driver.Values{"protocol": "service", "service_url": "discovery.example"})
		for _, endpoint := range []string{"ftp://10.0.0.2", "http://$(id):2379", "http://a;reboot", "http://a\u0085b:2379", `http://a"b`} {
			valid("Invalid endpoint", driver.Values{"advertised_endpoints": []any{endpoint}})
		}
		for _, name := range []string{"ca_cert", "cert", "key"} {
			for _, value := range []string{"", "ca.pem", "/x\nruncmd: [reboot]", "/x\u0085y", "/é", "/x\x1b[2J"} {
				valid("Invalid path in machine_access", machineAccess(name, value))
			}
			valid("", machineAccess(name, "/etc/my pki/$(id).pem"))
		}
		valid("Password in machine_access", machineAccess("username", "root:swordfish"))
		valid("Invalid username in machine_access", machineAccess("username", "a\nb"))
		valid("", driver.Values{"size": 1}, driver.Values{"size": 99}, driver.Values{"size": driver.Unknown{}},
			driver.Values{"prefix": driver.Unknown{}, "protocol": driver.Unknown{}, "service_url": driver.Unknown{}})
		w.expect("requests", w.calls, 0)
	})
}

// What should be considered is said once, before a token is made.
func TestTokenAdvice(t *testing.T) {
	t.Parallel()
	simulate(t, 1, "", func(w *world) {
		k := newToken(w, "v3")
		const upTo36 = "(For members up to etcd 3.6)"
		for _, test := range []struct {
			config driver.Values
			want   string
		}{
			{k.of(1), ""}, {k.of(9), ""}, {k.of(driver.Unknown{}), ""},
			{k.of(2), "(Even number of initial members)"},
			{k.of(11), "(Many initial members)"},
			{k.of(3, driver.Values{"protocol": "v2"}), upTo36},
			{k.of(3, driver.Values{"protocol": "service", "service_url": "https://discovery.example"}), upTo36},
			{k.of(3, driver.Values{"protocol": "service"}), "(The public discovery service is no longer maintained)"},
			{k.of(3, driver.Values{"prefix": "/my"}), "(Members look for the token elsewhere)"},
		} {
			_, _, r := k.plan(test.config)
			w.expect(fmt.Sprint(test.config), summaries(r), test.want)
		}
		k.up(k.of(2))
		k.plans(k.of(2), "no-op")
	})
}

// Terraform accepts the plan for each argument of a token that exists, complete or not, created
// or imported. A complete one is not replaced. Package driver checks the plans.
func TestEveryTokenPlan(t *testing.T) {
	tokens(t, func(k *tokenWorld) {
		k.up(k.of(3))
		id := k.id()
		for _, imported := range []bool{false, true} {
			if imported {
				k.ws.Forget(tokenAddress)
				k.ws.Resources = []driver.Resource{{Type: "etcd_discovery_token", Name: "this", Values: k.of(3)}}
				k.ok(k.ws.Import(k.Context(), k.start("import"), tokenAddress, k.importID(id)))
			}
			for _, complete := range []bool{false, true} {
				if complete && !imported {
					k.register("a", "b", "c")
				}
				k.refresh()
				for name, values := range map[string][]any{
					"size": {3, 5, driver.Unknown{}}, "protocol": {nil, "v2", "service", driver.Unknown{}}, "prefix": {nil, "/one", driver.Unknown{}},
					"service_url": {nil, serviceURL, "https://other.example", driver.Unknown{}}, "advertised_endpoints": {nil, []any{"http://r:1"}, driver.Unknown{}},
					"machine_access": {nil, map[string]any{"ca_cert": "/ca"}, driver.Unknown{}},
				} {
					for _, value := range values {
						config := k.of(3, driver.Values{name: value})
						_, got, r := k.plan(config)
						action, said, _ := strings.Cut(got, ": ")
						done := complete || imported
						if !strings.Contains(got, "Argument without effect") && (said != "" && !strings.HasPrefix(said, "(") || !slices.Contains([]string{"no-op", "update", "replace"}, action) || done && action == "replace") {
							k.Errorf("complete %v, %v: %s: %v", done, config, got, r)
						}
					}
				}
			}
		}
	})
}
