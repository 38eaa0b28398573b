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
	const either = "error: Either token or url: Set token to read it from the discovery cluster at the provider's endpoints, or url to a discovery URL. Set one of them, not both."
	const example = ". It is what members take as --discovery, such as \"http://10.0.0.1:2379/v2/keys/_etcd/registry/TOKEN\"."
	url := "http://10.0.0.1:2379/v2/keys/_etcd/registry/mine"
	d := newDataSession(t, registryEndpoints)
	want(t, d.read(attributes{}), either)
	want(t, d.read(attributes{"token": "mine", "url": url}), either)
	want(t, d.read(attributes{"token": "a/b"}), "error: Invalid discovery token: token = \"a/b\" contains \"/\". Every member puts the token into a key of the discovery cluster, "+
		"so it may hold letters, digits, \"-\", \"_\" and \".\" only.")
	want(t, d.read(attributes{"token": "mine", "prefix": "my"}), "error: Invalid prefix: prefix = \"my\" does not begin with \"/\". It is an absolute key, such as \"/_etcd/registry\".")
	want(t, d.read(attributes{"token": "mine", "protocol": "service"}), "error: Unknown protocol: protocol = \"service\" is neither \"v3\" nor \"v2\". "+
		"For a discovery service give the token's url, and leave protocol out.")
	want(t, d.read(attributes{"url": url, "prefix": "/my"}), "error: Argument without effect: prefix cannot be combined with url: it follows from the URL.")
	for input, problem := range map[string]string{
		"10.0.0.1:2379": "is not a URL",
		"ftp://10.0.0.1/v2/keys/_etcd/registry/mine":  "is not an http or https URL",
		"http:///v2/keys/_etcd/registry/mine":         "has no host",
		"http://u:p@10.0.0.1/v2/keys/_etcd/registry/": "holds more than scheme, host and path",
		"http://10.0.0.1/v2/keys/mine":                "has a prefix that is the root of the key space",
		"http://10.0.0.1/v2/keys/a/b c":               "has a token that contains a space",
		"https://discovery.etcd.io/new":               "does not end with a token of 32 hexadecimal digits",
	} {
		want(t, d.read(attributes{"url": input}), "error: Invalid discovery URL: url "+problem+example)
	}
	want(t, newDataSession(t, unknown{}).read(attributes{"token": "mine"}), "error: The provider's endpoints are not known yet: "+
		"The provider of this data source is configured with values that are known after apply only. Add a depends_on with the resource that they come from, so that it is read during apply.")
	want(t, newDataSession(t, nil).read(attributes{"token": "mine"}), "error: No discovery cluster to ask: The provider of this resource has no endpoints. "+
		"Set endpoints in the provider block that the resource uses, or the environment variable ETCDCTL_ENDPOINTS, to the client URLs of the etcd that holds the token.")
	dead := fmt.Sprintf("http://127.0.0.1:%d", etcdtest.ReservePort(t))
	want(t, newDataSession(t, []string{dead}).read(attributes{"token": "mine"}), "error: The discovery cluster does not answer: Cannot read the token; nothing was changed. "+
		"What each endpoint answered: "+dead+": connection refused. Check that the discovery cluster runs and can be reached from here, then apply again.")
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
	want(t, d.read(attributes{"url": server.URL + "/" + firstToken}), "error: The discovery service gave no usable answer: Cannot read the token: "+
		server.URL+"/"+firstToken+" answered 400 unable to GET token. Nothing was changed.")
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
	want(t, d.read(attributes{"token": "bad"}), "error: Discovery token has an invalid size: Token bad says \"3 \" where its size should be. "+
		"Members that start with it exit with \"discovery: size key is bad\".")
	want(t, d.read(attributes{"token": "lost"}), "error: No such discovery token: The discovery cluster answers and has no token lost under /_etcd/registry.")

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
