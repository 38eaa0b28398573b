// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// What a token goes through is tested in package simulated. The tests here try every
// configuration, on a registry in memory.

// testProvider has the resource under test, whose tokens are in a registry in memory.
type testProvider struct{ registry *fakeRegistry }

func (testProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "etcd"
}

func (testProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerschema.Schema{}
}

func (p testProvider) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = &backend.Backend{
		Run: &backend.Run{Random: p.registry}, Settings: connection.Settings{Endpoints: []string{"http://10.0.0.1:2379", "http://10.0.0.2:2379"}},
	}
}

func (p testProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource {
		return &tokenResource{
			Resource: backend.Resource{Type: typeSuffix},
			open:     func(*backend.Backend, model) discovery.Registry { return p.registry },
		}
	}}
}

func (testProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

// fakeRegistry keeps tokens in memory. As an [io.Reader] it is the randomness of tokens:
// 0101…, 0202….
type fakeRegistry struct {
	tokens map[string]discovery.Status
	made   byte
}

var _ io.Reader = (*fakeRegistry)(nil)

const firstToken = "01010101010101010101010101010101"

func (f *fakeRegistry) Read(p []byte) (int, error) {
	f.made++
	for i := range p {
		p[i] = f.made
	}
	return len(p), nil
}

func (f *fakeRegistry) Create(_ context.Context, token string, size int) (discovery.Place, error) {
	f.tokens[token] = discovery.Status{Size: size}
	return discovery.Place{Token: token}, nil
}

func (f *fakeRegistry) Status(_ context.Context, token string) (discovery.Status, error) {
	s, ok := f.tokens[token]
	if !ok {
		return s, discovery.ErrNotFound
	}
	return s, nil
}

func (f *fakeRegistry) Delete(_ context.Context, token string) error {
	delete(f.tokens, token)
	return nil
}

// register registers members.
func (f *fakeRegistry) register(token string, names ...string) {
	s := f.tokens[token]
	s.Members = nil
	for i, name := range names {
		s.Members = append(s.Members, discovery.Member{ID: membership.MemberID(0xa0 + i), Name: name, PeerURLs: []string{"http://" + name + ".example:2380"}})
	}
	f.tokens[token] = s
}

const (
	typeName = "etcd_discovery_token"
	address  = typeName + ".this"
)

type (
	attributes = driver.Values
	unknown    = driver.Unknown
)

// session is a workspace with one resource.
type session struct {
	t        *testing.T
	w        *driver.Workspace
	registry *fakeRegistry

	// Read once for the tests of every plan.
	schema *schema.Schema
	prior  *model
}

func newSession(t *testing.T) *session {
	t.Helper()
	return &session{t: t, w: driver.New(t, attributes{}), registry: &fakeRegistry{tokens: map[string]discovery.Status{}}}
}

func (s *session) start(context.Context) (*driver.Run, error) {
	return &driver.Run{Server: providerserver.NewProtocol6(testProvider{s.registry})()}, nil
}

func (s *session) configure(values attributes) {
	s.w.Resources = []driver.Resource{{Type: typeName, Name: "this", Values: values}}
}

// state is the resource in the state.
func (s *session) state() tftypes.Value {
	if o := s.w.State(address); o != nil {
		return o.Value
	}
	return tftypes.Value{}
}

// validate returns the errors and warnings of a configuration.
func (s *session) validate(config attributes) []string {
	s.configure(config)
	return texts(s.w.Validate(s.t.Context(), s.start))
}

// plan plans for a configuration, without a refresh. The plan is nil if there is an error.
func (s *session) plan(config attributes) (*driver.Plan, []string) {
	s.configure(config)
	plan, r := s.w.Plan(s.t.Context(), s.start, driver.NoRefresh)
	return plan, texts(r)
}

// up plans and applies.
func (s *session) up(config attributes) {
	s.t.Helper()
	s.configure(config)
	_, r := s.w.Up(s.t.Context(), s.start)
	if err := r.Err(); err != nil {
		s.t.Fatal(err)
	}
}

// texts writes diagnostics as "warning: Summary: Detail".
func texts(r driver.Result) []string {
	var out []string
	for _, d := range r.Diagnostics {
		kind := "error"
		if d.Warning {
			kind = "warning"
		}
		out = append(out, kind+": "+d.Summary+": "+d.Detail)
	}
	return out
}

// want compares diagnostics, each in the form "error: Summary".
func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(got, want string) bool { return strings.HasPrefix(got+": ", want+": ") }) {
		t.Errorf("diagnostics:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}
