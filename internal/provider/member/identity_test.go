// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package member_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
)

const typeName = "etcd_member"

// protocol acts as a Terraform that supports resource identities, which not
// every CLI of the tests does.
type protocol struct {
	t        *testing.T
	server   tfprotov6.ProviderServer
	typ      tftypes.Object
	identity tftypes.Object
}

func newProtocol(t *testing.T, endpoints []string) *protocol {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	server, err := providerserver.NewProtocol6WithError(provider.NewWithPool("test", pool)())()
	if err != nil {
		t.Fatal(err)
	}
	p := &protocol{t: t, server: server}
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	p.typ = schemas.ResourceSchemas[typeName].ValueType().(tftypes.Object)
	identities, err := server.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		t.Fatal(err)
	}
	p.identity = identities.IdentitySchemas[typeName].ValueType().(tftypes.Object)
	list := make([]tftypes.Value, len(endpoints))
	for i, e := range endpoints {
		list[i] = tftypes.NewValue(tftypes.String, e)
	}
	config := p.object(schemas.Provider.ValueType().(tftypes.Object), map[string]tftypes.Value{
		"endpoints": tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, list),
	})
	configured, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: p.dynamic(config)})
	p.must(err, configured.Diagnostics)
	return p
}

// object returns a value of typ, with null for values that are not given.
func (p *protocol) object(typ tftypes.Object, values map[string]tftypes.Value) tftypes.Value {
	out := map[string]tftypes.Value{}
	for name, attribute := range typ.AttributeTypes {
		out[name] = tftypes.NewValue(attribute, nil)
		if v, ok := values[name]; ok {
			out[name] = v
		}
	}
	return tftypes.NewValue(typ, out)
}

func (p *protocol) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		p.t.Fatal(err)
	}
	return &d
}

func (p *protocol) must(err error, diags []*tfprotov6.Diagnostic) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, d := range diags {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			p.t.Fatalf("%s: %s", d.Summary, d.Detail)
		}
	}
}

func (p *protocol) of(cluster, member uint64) *tfprotov6.ResourceIdentityData {
	p.t.Helper()
	return &tfprotov6.ResourceIdentityData{IdentityData: p.dynamic(tftypes.NewValue(p.identity, map[string]tftypes.Value{
		"cluster_id": tftypes.NewValue(tftypes.String, fmt.Sprintf("%x", cluster)),
		"member_id":  tftypes.NewValue(tftypes.String, fmt.Sprintf("%x", member)),
	}))}
}

// mustBe fails the test unless the identity is that of the member.
func (p *protocol) mustBe(what string, got *tfprotov6.ResourceIdentityData, cluster, member uint64) {
	p.t.Helper()
	if got == nil {
		p.t.Fatalf("%s sets no identity", what)
	}
	v, err := got.IdentityData.Unmarshal(p.identity)
	if err != nil {
		p.t.Fatal(err)
	}
	want, err := p.of(cluster, member).IdentityData.Unmarshal(p.identity)
	if err != nil {
		p.t.Fatal(err)
	}
	if !v.Equal(want) {
		p.t.Errorf("%s: the identity is %s, want %s", what, v, want)
	}
}

// change plans and applies, and returns the new state and identity.
func (p *protocol) change(prior *tfprotov6.DynamicValue, identity *tfprotov6.ResourceIdentityData, values map[string]tftypes.Value) (*tfprotov6.DynamicValue, *tfprotov6.ResourceIdentityData) {
	p.t.Helper()
	proposed := map[string]tftypes.Value{}
	if prior != nil {
		was, err := prior.Unmarshal(p.typ)
		if err == nil {
			err = was.As(&proposed)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	} else {
		prior = p.dynamic(tftypes.NewValue(p.typ, nil))
		for _, computed := range []string{"id", "cluster_id", "role", "client_urls", "version", "environment", "initial_cluster", "wait_until"} {
			proposed[computed] = tftypes.NewValue(p.typ.AttributeTypes[computed], tftypes.UnknownValue)
		}
	}
	for name, v := range values {
		proposed[name] = v
	}
	config := p.dynamic(p.object(p.typ, values))
	plan, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, PriorState: prior, ProposedNewState: p.dynamic(p.object(p.typ, proposed)), Config: config, PriorIdentity: identity,
	})
	p.must(err, plan.Diagnostics)
	applied, err := p.server.ApplyResourceChange(p.t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: typeName, PriorState: prior, PlannedState: plan.PlannedState, Config: config,
		PlannedPrivate: plan.PlannedPrivate, PlannedIdentity: plan.PlannedIdentity,
	})
	p.must(err, applied.Diagnostics)
	return applied.NewState, applied.NewIdentity
}

// A member is imported by its identity. Every response about it contains the
// identity: creation, update, refresh, and the refresh that finds it gone.
func TestIdentity(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{Names: []string{"a", "b", "c"}})
	list, err := cluster.Client(t).MemberList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, b := list.Header.ClusterId, cluster.MemberID(t, cluster.Member("b"))
	p := newProtocol(t, cluster.Endpoints())

	imported, err := p.server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: typeName, Identity: p.of(id, b)})
	p.must(err, imported.Diagnostics)
	p.mustBe("import", imported.ImportedResources[0].Identity, id, b)
	other, err := p.server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: typeName, Identity: p.of(id+1, b)})
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("the endpoints answer for cluster %x", id); len(other.Diagnostics) != 1 || !strings.Contains(other.Diagnostics[0].Detail, want) {
		t.Errorf("of another cluster: %+v, want %q", other.Diagnostics, want)
	}

	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	urls := tftypes.Set{ElementType: tftypes.String}
	object := tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"id": tftypes.String, "name": tftypes.String, "peer_urls": urls, "founder": tftypes.Bool, "founders": tftypes.Number,
	}}
	config := map[string]tftypes.Value{
		"config": tftypes.NewValue(object, map[string]tftypes.Value{
			"id": text("config-0000000000000001"), "name": text("b"), "founder": tftypes.NewValue(tftypes.Bool, true), "founders": tftypes.NewValue(tftypes.Number, 3),
			"peer_urls": tftypes.NewValue(urls, []tftypes.Value{text(cluster.Member("b").PeerURL())}),
		}),
	}
	state, identity := p.change(nil, nil, config)
	p.mustBe("creation", identity, id, b)
	config["endpoints"] = tftypes.NewValue(tftypes.List{ElementType: tftypes.String}, []tftypes.Value{text(cluster.Endpoints()[0])})
	state, identity = p.change(state, identity, config)
	p.mustBe("update", identity, id, b)

	read := func() *tfprotov6.ReadResourceResponse {
		t.Helper()
		resp, err := p.server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: typeName, CurrentState: state, CurrentIdentity: identity})
		p.must(err, resp.Diagnostics)
		return resp
	}
	p.mustBe("refresh", read().NewIdentity, id, b)
	etcdtest.Eventually(t, "b is removed", func() error {
		_, err := cluster.ClientFor(t, cluster.Member("a")).MemberRemove(etcdtest.WaitContext(t), b)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
	var gone *tfprotov6.ReadResourceResponse
	etcdtest.Eventually(t, "b leaves the state", func() error { // an observation serves for a while
		gone = read()
		v, err := gone.NewState.Unmarshal(p.typ)
		if err == nil && !v.IsNull() {
			err = fmt.Errorf("b is in the state: %s", v)
		}
		return err
	})
	p.mustBe("the refresh that finds it gone", gone.NewIdentity, id, b)
}
