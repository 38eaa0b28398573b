// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"context"
	"crypto/rand"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// testProvider has endpoints as its only argument, and the resource under test
// as its only resource.
type testProvider struct {
	resource func() *tokenResource
	random   io.Reader
	pool     *connection.Pool
}

func (p *testProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "etcd"
}

func (p *testProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"endpoints": schema.ListAttribute{ElementType: types.StringType, Optional: true},
	}}
}

func (p *testProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config struct {
		Endpoints types.List `tfsdk:"endpoints"`
	}
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	raw, err := config.Endpoints.ToTerraformValue(ctx)
	if err != nil {
		resp.Diagnostics.AddError("endpoints", err.Error())
	}
	b := &backend.Backend{
		Run:      &backend.Run{Random: p.random},
		Pool:     p.pool,
		Unknown:  !raw.IsFullyKnown(),
		Settings: connection.Settings{DialTimeout: time.Second, RequestTimeout: 3 * time.Second},
	}
	if !b.Unknown {
		resp.Diagnostics.Append(config.Endpoints.ElementsAs(ctx, &b.Settings.Endpoints, false)...)
	}
	resp.ResourceData, resp.DataSourceData = b, b
}

func (p *testProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return p.resource() }}
}

func (p *testProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{NewDataSource}
}

// realProvider returns a provider with the resource that users get.
func realProvider(t *testing.T) provider.Provider {
	t.Helper()
	pool := &connection.Pool{}
	t.Cleanup(func() { _ = pool.Close() })
	return &testProvider{pool: pool, random: rand.Reader, resource: func() *tokenResource { return NewResource().(*tokenResource) }}
}

// fakeProvider returns a provider whose resource uses a fake discovery cluster.
func fakeProvider(fake *fakeRegistry) provider.Provider {
	return &testProvider{random: fake, resource: func() *tokenResource {
		return &tokenResource{
			Resource: backend.Resource{Type: typeSuffix},
			open:     func(*backend.Backend, model) discovery.Registry { return fake },
		}
	}}
}

func factories(p provider.Provider) map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){"etcd": providerserver.NewProtocol6WithError(p)}
}

// fakeRegistry is a discovery cluster in memory with configurable responses. As
// an [io.Reader] it is the randomness of tokens: 0101…, 0202….
type fakeRegistry struct {
	mu     sync.Mutex
	tokens map[string]discovery.Status
	made   byte

	// Errors that the methods return if set, without any effect; with
	// lateCreate, Create takes effect anyway.
	createErr, statusErr, deleteErr error
	lateCreate                      bool
	// Number of calls, by method.
	calls map[string]int
}

var _ io.Reader = (*fakeRegistry)(nil)

func newFake() *fakeRegistry {
	return &fakeRegistry{tokens: map[string]discovery.Status{}, calls: map[string]int{}}
}

const (
	firstToken  = "01010101010101010101010101010101"
	secondToken = "02020202020202020202020202020202"
)

func (f *fakeRegistry) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	for i := range p {
		p[i] = f.made
	}
	return len(p), nil
}

func (f *fakeRegistry) Create(_ context.Context, token string, size int) (discovery.Place, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["create"]++
	if f.createErr != nil && !f.lateCreate {
		return discovery.Place{}, f.createErr
	}
	if s, ok := f.tokens[token]; ok {
		return discovery.Place{}, &discovery.ExistsError{Size: s.Size}
	}
	f.tokens[token] = discovery.Status{Size: size}
	return discovery.Place{Token: token}, f.createErr
}

func (f *fakeRegistry) Status(_ context.Context, token string) (discovery.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["status"]++
	if f.statusErr != nil {
		return discovery.Status{}, f.statusErr
	}
	s, ok := f.tokens[token]
	if !ok {
		return s, discovery.ErrNotFound
	}
	return s, nil
}

func (f *fakeRegistry) Delete(_ context.Context, token string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["delete"]++
	if f.deleteErr != nil {
		return f.deleteErr
	}
	if _, ok := f.tokens[token]; !ok {
		return discovery.ErrNotFound
	}
	delete(f.tokens, token)
	return nil
}

// register registers members, up to the size.
func (f *fakeRegistry) register(token string, names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.tokens[token]
	for _, name := range names {
		if len(s.Members) < s.Size {
			s.Members = append(s.Members, discovery.Member{
				ID: membership.MemberID(0xa0 + len(s.Members)), Name: name, PeerURLs: []string{"http://" + name + ".example:2380"},
			})
		}
	}
	f.tokens[token] = s
}

// resize overwrites the size of a token.
func (f *fakeRegistry) resize(token string, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.tokens[token]
	s.Size = size
	f.tokens[token] = s
}

// forget deletes a token.
func (f *fakeRegistry) forget(token string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.tokens, token)
}

// unreachable returns the error of every endpoint if the discovery cluster is gone.
func unreachable() error {
	return &connection.Unreachable{Answers: []connection.Answer{
		{Endpoint: "http://10.0.0.1:2379", Err: errRefused},
		{Endpoint: "http://10.0.0.2:2379", Err: errTimeout},
	}}
}

// unsure returns the error of a create whose response was lost.
func unsure() error {
	return &discovery.UnsureError{Place: discovery.Place{Token: firstToken}, Err: unreachable()}
}

type plainError string

func (e plainError) Error() string { return string(e) }

const (
	errRefused = plainError("connection refused")
	errTimeout = plainError("no answer in time")
)
