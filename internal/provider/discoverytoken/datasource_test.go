// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// dataSession reads the data source like Terraform.
type dataSession struct {
	t      *testing.T
	server tfprotov6.ProviderServer
	typ    tftypes.Type
	found  tftypes.Value
}

func (d *dataSession) state() tftypes.Value { return d.found }

func newDataSession(t *testing.T, endpoints any) *dataSession {
	t.Helper()
	d := &dataSession{t: t, server: providerserver.NewProtocol6(realProvider(t))()}
	schemas, err := d.server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	d.typ = schemas.DataSourceSchemas[typeName].ValueType()
	configured, err := d.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config: d.dynamic(schemas.Provider.ValueType(), attributes{"endpoints": endpoints}),
	})
	if err != nil || len(configured.Diagnostics) > 0 {
		t.Fatal(err, configured.Diagnostics)
	}
	return d
}

func (d *dataSession) dynamic(typ tftypes.Type, values attributes) *tfprotov6.DynamicValue {
	d.t.Helper()
	v, err := driver.Build(typ, values)
	if err != nil {
		d.t.Fatal(err)
	}
	out, err := tfprotov6.NewDynamicValue(typ, v)
	if err != nil {
		d.t.Fatal(err)
	}
	return &out
}

// read validates and reads; it stops at the first errors.
func (d *dataSession) read(config attributes) []string {
	d.t.Helper()
	value := d.dynamic(d.typ, config)
	valid, err := d.server.ValidateDataResourceConfig(d.t.Context(), &tfprotov6.ValidateDataResourceConfigRequest{TypeName: typeName, Config: value})
	if err != nil {
		d.t.Fatal(err)
	}
	if len(valid.Diagnostics) > 0 {
		return texts(driver.ResultOf(typeName, valid.Diagnostics))
	}
	resp, err := d.server.ReadDataSource(d.t.Context(), &tfprotov6.ReadDataSourceRequest{TypeName: typeName, Config: value})
	if err != nil {
		d.t.Fatal(err)
	}
	if resp.State != nil {
		if d.found, err = resp.State.Unmarshal(d.typ); err != nil {
			d.t.Fatal(err)
		}
	}
	return texts(driver.ResultOf(typeName, resp.Diagnostics))
}

func TestDataBadInput(t *testing.T) {
	const either = "error: Invalid Attribute Combination"
	url := "http://10.0.0.1:2379/v2/keys/_etcd/registry/mine"
	d := newDataSession(t, registryEndpoints)
	want(t, d.read(attributes{}), either)
	want(t, d.read(attributes{"token": "mine", "url": url}), either)
	want(t, d.read(attributes{"token": "a/b"}), "error: Invalid discovery token")
	want(t, d.read(attributes{"token": "mine", "prefix": "my"}), "error: Invalid prefix")
	want(t, d.read(attributes{"token": "mine", "protocol": "service"}), "error: Invalid Attribute Value Match")
	want(t, d.read(attributes{"url": url, "prefix": "/my"}), either)
	for _, input := range []string{"10.0.0.1:2379", "http:///v2/keys/_etcd/registry/mine", "http://10.0.0.1/v2/keys/mine", "https://discovery.etcd.io/new"} {
		want(t, d.read(attributes{"url": input}), "error: Invalid discovery URL")
	}
	want(t, newDataSession(t, unknown{}).read(attributes{"token": "mine"}), "error: The provider's endpoints are not known yet")
	want(t, newDataSession(t, nil).read(attributes{"token": "mine"}), "error: No discovery cluster to ask")
	dead := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	want(t, newDataSession(t, []string{dead}).read(attributes{"token": "mine"}), "error: The discovery cluster does not answer")
}

func TestDataOfAService(t *testing.T) {
	server := newService(t)
	d := newDataSession(t, nil)
	server.members = []string{`{"key":"/x/ff","value":"a=http://a.example:2380","createdIndex":7}`}
	want(t, d.read(attributes{"url": server.URL + "/" + firstToken}))
	got := d
	wantAttribute(t, got, "service", "protocol")
	wantAttribute(t, got, firstToken, "token")
	wantAttribute(t, got, `tftypes.Number<"3">`, "size")
	wantAttribute(t, got, `tftypes.Bool<"false">`, "complete")
	if members := driver.Attribute(d.state(), "members"); !strings.Contains(members, `"http://a.example:2380"`) {
		t.Errorf("members: got %s", members)
	}
	server.lost = true
	want(t, d.read(attributes{"url": server.URL + "/" + firstToken}), "error: The discovery service gave no usable answer")
}

// Tokens created with etcdctl and curl, as in the manual.
func TestAccData(t *testing.T) {
	t.Parallel()
	registry := etcdtest.Start(t, 1, etcdtest.Options{Version: etcdtest.V35, V2: true})
	base := registry.Endpoints()[0] + "/v2/keys/_etcd/registry/"
	client := registry.Client(t)
	for key, value := range map[string]string{
		"theirs/_config/size": "3", "theirs/members/ff": "b=http://10.0.0.2:2380",
		"bad/_config/size": "3 ", "lost/members/ff": "b=http://10.0.0.2:2380",
	} {
		if _, err := client.Put(t.Context(), "/_etcd/registry/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{"theirs/_config/size": "1", "theirs/aa": "a=http://10.0.0.1:2380"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, base+key, strings.NewReader("value="+value))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil || resp.StatusCode/100 != 2 {
			t.Fatal(resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	d := newDataSession(t, registry.Endpoints())
	want(t, d.read(attributes{"token": "bad"}), "error: Discovery token has an invalid size")
	want(t, d.read(attributes{"token": "lost"}), "error: No such discovery token")

	data := func(name string, path ...string) func(knownvalue.Check) statecheck.StateCheck {
		return func(v knownvalue.Check) statecheck.StateCheck {
			return statecheck.ExpectKnownValue("data.etcd_discovery_token."+name, jsonPath(path), v)
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(realProvider(t)),
		Steps: []resource.TestStep{{
			Config: fmt.Sprintf(`
provider "etcd" {
  endpoints = [%q]
}

data "etcd_discovery_token" "v3" {
  token = "theirs"
}

data "etcd_discovery_token" "v2" {
  token    = "theirs"
  protocol = "v2"
}

data "etcd_discovery_token" "url" {
  url = "%stheirs"
}
`, registry.Endpoints()[0], base),
			ConfigStateChecks: []statecheck.StateCheck{
				data("v3", "size")(knownvalue.Int64Exact(3)),
				data("v3", "complete")(knownvalue.Bool(false)),
				data("v3", "url")(knownvalue.Null()),
				data("v3", "members")(knownvalue.ListExact([]knownvalue.Check{knownvalue.ObjectExact(map[string]knownvalue.Check{
					"id": knownvalue.StringExact("ff"), "name": knownvalue.StringExact("b"),
					"peer_urls": knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("http://10.0.0.2:2380")}),
				})})),
				data("v2", "complete")(knownvalue.Bool(true)),
				data("v2", "url")(knownvalue.StringExact(base + "theirs")),
				data("url", "complete")(knownvalue.Bool(true)),
				data("url", "protocol")(knownvalue.StringExact("v2")),
				data("url", "prefix")(knownvalue.StringExact("/_etcd/registry")),
				data("url", "token")(knownvalue.StringExact("theirs")),
			},
		}},
	})
}
