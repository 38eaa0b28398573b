// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	fwresource "github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"go.uber.org/goleak"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(etcdtest.Collected{M: m}) }

// world is what the resource under test observes: which cluster responds, and when.
type world struct {
	mu      sync.Mutex
	answers membership.ClusterID // 0 for none
	all     bool                 // every cluster that is asked for responds
	stale   bool                 // only a fresh observation sees it
	fails   error                // every response is this error instead
	looks   int
}

func (w *world) set(f func(*world)) func() {
	return func() { w.mu.Lock(); defer w.mu.Unlock(); f(w) }
}

func (w *world) look(_ context.Context, _ *backend.Backend, want membership.ClusterID, fresh bool) (membership.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	switch {
	case w.fails != nil:
		return membership.Snapshot{}, w.fails
	case w.stale && !fresh, w.answers == 0 && !w.all:
		return membership.Snapshot{}, errors.New("nobody answers")
	case w.all:
		return membership.Snapshot{ClusterID: want}, nil
	}
	return membership.Snapshot{ClusterID: w.answers, Members: []membership.Member{{ID: 1, Name: "x"}}}, nil
}

// testProvider has no arguments, and only the resource under test.
type testProvider struct{ *world }

func (p testProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "etcd"
}

func (p testProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{}
}

func (p testProvider) Configure(_ context.Context, _ provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	resp.ResourceData = &backend.Backend{Run: &backend.Run{Random: bytes.NewReader(bytes.Repeat([]byte{1}, 64))}}
}

func (p testProvider) Resources(context.Context) []func() fwresource.Resource {
	return []func() fwresource.Resource{func() fwresource.Resource {
		return &clusterResource{look: p.look}
	}}
}

func (p testProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (w *world) factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){"etcd": providerserver.NewProtocol6WithError(testProvider{w})}
}

const address = "etcd_initial_cluster.this"

func config(arguments string) string {
	return "resource \"etcd_initial_cluster\" \"this\" {\n" + arguments + "\n}\n"
}

const (
	three = `members = { a = ["http://127.0.0.1:23801"], b = ["http://localhost:23812", "http://127.0.0.1:23802"], c = ["http://127.0.0.1:23803"] }`
	// other is three, spelled differently.
	other = `members = { c = ["HTTP://127.0.0.1:23803/"], a = ["http://127.0.0.1:23801"], b = ["http://127.0.0.1:23802", "http://localhost:23812"] }`
	five  = `members = { for i in range(5) : "m${i}" => ["http://10.0.0.${i + 1}:2380"] }`

	threeText = "a=http://127.0.0.1:23801,b=http://127.0.0.1:23802,b=http://localhost:23812,c=http://127.0.0.1:23803"
)

func pathTo(path ...string) tfjsonpath.Path {
	p := tfjsonpath.New(path[0])
	for _, step := range path[1:] {
		p = p.AtMapKey(step)
	}
	return p
}

func plan(action plancheck.ResourceActionType, more ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: append([]plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}, more...)}
}

func unknown(path ...string) plancheck.PlanCheck {
	return plancheck.ExpectUnknownValue(address, pathTo(path...))
}

func planned(value knownvalue.Check, path ...string) plancheck.PlanCheck {
	return plancheck.ExpectKnownValue(address, pathTo(path...), value)
}

func has(value knownvalue.Check, path ...string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, pathTo(path...), value)
}

func exactly(s string) knownvalue.Check { return knownvalue.StringExact(s) }

// The whole life: planned, created, unknown, formed, and frozen throughout.
func TestAccLife(t *testing.T) {
	t.Parallel()
	w := &world{}
	const token = "01010101010101010101010101010101"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config: config(three),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate,
					unknown("cluster_token"), unknown("cluster_id"), unknown("member_ids"),
					unknown("bootstrap", "token"), unknown("bootstrap", "environment", "ETCD_INITIAL_CLUSTER_TOKEN"), unknown("bootstrap", "cluster_id"),
					planned(exactly(threeText), "bootstrap", "environment", "ETCD_INITIAL_CLUSTER"),
					planned(exactly(threeText), "initial_cluster"), planned(knownvalue.Bool(false), "complete"),
					planned(knownvalue.Bool(false), "bootstrap", "complete"), planned(exactly("a,b,c"), "bootstrap", "founders"),
					planned(knownvalue.Int64Exact(3), "bootstrap", "size"), planned(exactly("static"), "bootstrap", "protocol"),
				),
				ConfigStateChecks: []statecheck.StateCheck{
					has(exactly(token), "cluster_token"), has(exactly(threeText), "initial_cluster"), has(knownvalue.Bool(false), "complete"),
					has(knownvalue.MapExact(map[string]knownvalue.Check{
						"ETCD_INITIAL_CLUSTER": exactly(threeText), "ETCD_INITIAL_CLUSTER_TOKEN": exactly(token),
					}), "bootstrap", "environment"),
					has(exactly("static"), "bootstrap", "protocol"), has(knownvalue.Null(), "bootstrap", "registry_endpoints"),
				},
			},
			// No cluster responds, and another spelling changes nothing.
			{Config: config(other), ConfigPlanChecks: plan(plancheck.ResourceActionNoop)},
			// While no cluster responds, it may have formed and be unreachable:
			// other arguments are refused.
			{Config: config(five), ExpectError: message("It is not known whether its cluster")},
			{Config: config("members = {}"), ExpectError: message("It is not known whether its cluster")},
			{Config: config(three + "\n cluster_token = \"tok-1\""), ExpectError: message("It is not known whether its cluster")},
			// Another cluster responds: it is not ours, and proves nothing
			// about ours.
			{
				PreConfig: w.set(func(w *world) { w.answers = 7 }),
				Config:    config(three), ConfigPlanChecks: plan(plancheck.ResourceActionNoop, planned(knownvalue.Bool(false), "complete")),
			},
			{Config: config(five), ExpectError: message("Cluster 7 answers at the provider's endpoints, which may have been started in its place.")},
			// The state is out of date.
			{
				PreConfig: w.set(func(w *world) { w.all, w.stale = true, true }),
				Config:    config(five), ExpectError: message("has formed. Another bootstrap would make initial members of a second cluster"),
			},
			{
				PreConfig: w.set(func(w *world) { w.stale = false }),
				Config:    config(five), ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
					planned(knownvalue.Bool(true), "complete"), planned(knownvalue.Bool(true), "bootstrap", "complete")),
			},
			{
				PreConfig: w.set(func(w *world) { w.answers, w.all, w.stale, w.looks = 0, false, false, 0 }),
				Config:    config("members = {}\n cluster_token = \"tok-2\""), // as if all initial members were replaced
				ConfigPlanChecks: plan(plancheck.ResourceActionNoop, planned(knownvalue.MapSizeExact(3), "members"),
					planned(exactly(token), "cluster_token"), planned(knownvalue.Bool(true), "complete")),
			},
		},
	})
	if w.looks != 0 {
		t.Errorf("a cluster that has formed was looked at %d times", w.looks)
	}
}

// With configured members and token, a resource finds the cluster that it once
// described.
func TestAccFoundAgain(t *testing.T) {
	t.Parallel()
	w := &world{answers: 0x2718c185704f1b71}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{
			Config: config(three + "\n cluster_token = \"tok-1\""),
			ConfigPlanChecks: plan(plancheck.ResourceActionCreate, unknown("complete"), unknown("bootstrap", "complete"),
				planned(exactly("2718c185704f1b71"), "cluster_id"), planned(exactly("2718c185704f1b71"), "bootstrap", "cluster_id"),
				planned(exactly("tok-1"), "bootstrap", "token")),
			ConfigStateChecks: []statecheck.StateCheck{
				has(knownvalue.Bool(true), "complete"), has(knownvalue.Bool(true), "bootstrap", "complete"),
				has(knownvalue.MapExact(map[string]knownvalue.Check{
					"a": exactly("f7875276d5273a18"), "b": exactly("6085adc6bb1f46fc"), "c": exactly("af92976edcf7c038"),
				}), "member_ids"),
			},
		}},
	})
}

// A cluster that responds needs no bootstrap, unless it is the described
// cluster. A taint looks like a creation, and so does a lost state.
func TestAccClusterExists(t *testing.T) {
	t.Parallel()
	w := &world{answers: 7}
	exists := message("cluster 7 answers at the provider's endpoints, with x (1)")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{Config: config(three), ExpectError: exists},
			{Config: config(three + "\n cluster_token = \"tok-1\""), ExpectError: exists},
			{
				PreConfig: w.set(func(w *world) {
					w.fails = &connection.Unreachable{Answers: []connection.Answer{{Endpoint: "http://h:1", Err: &connection.Error{Endpoint: "http://h:1", Kind: connection.WrongPassword, Err: errors.New("no")}}}}
				}),
				Config: config(three), ExpectError: message("something answers at the provider's endpoints that refuses this provider"),
			},
			{
				PreConfig: w.set(func(w *world) { w.fails = nil }),
				Config:    config(three), ExpectError: exists,
			},
			{
				Config: config(three), ResourceName: address, ImportState: true, ImportStateId: "8",
				ExpectError: message("At the provider's endpoints cluster 7 answers, with x (1). Nothing was imported."),
			},
			{
				Config: config(three), ResourceName: address, ImportState: true, ImportStateId: "g",
				ExpectError: message("is not a cluster ID"),
			},
			{
				Config: config(three), ResourceName: address, ImportState: true, ImportStateId: "7", ImportStatePersist: true,
			},
			// Values that cannot be read back do not cause a difference,
			// whatever the configuration has.
			{Config: config(three), ConfigPlanChecks: plan(plancheck.ResourceActionNoop, planned(knownvalue.Bool(true), "complete"))},
			{
				PreConfig: w.set(func(w *world) { w.answers = 0 }),
				Config:    config(five + "\n cluster_token = \"tok-1\""), ConfigPlanChecks: plan(plancheck.ResourceActionNoop,
					planned(exactly("7"), "cluster_id"), planned(knownvalue.Bool(true), "bootstrap", "complete")),
			},
			{Taint: []string{address}, PreConfig: w.set(func(w *world) { w.answers = 7 }), Config: config(three), ExpectError: exists},
		},
	})
}

// Addresses that are known only after the apply.
func TestAccUnknownMembers(t *testing.T) {
	t.Parallel()
	w := &world{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{{
			Config: `resource "terraform_data" "url" { input = "http://10.0.0.1:2380" }` + "\n" +
				config(`members = { a = [terraform_data.url.output] }`),
			ConfigPlanChecks: plan(plancheck.ResourceActionCreate, unknown("initial_cluster"), unknown("cluster_id"),
				planned(knownvalue.Int64Exact(1), "bootstrap", "size"),
				planned(exactly("a"), "bootstrap", "founders")),
			ConfigStateChecks: []statecheck.StateCheck{has(exactly("a=http://10.0.0.1:2380"), "initial_cluster")},
		}},
	})
}

func TestAccBadInput(t *testing.T) {
	t.Parallel()
	var steps []resource.TestStep
	for _, c := range []struct{ arguments, text string }{
		{`members = {}`, "members is empty; a cluster is formed by at least one member."},
		{`members = { a = [] }`, `Entry "a": Expected name=url, such as infra1=https://10.0.0.1:2380.`},
		{`members = { "a=b" = ["http://h:1"] }`, `Entry "a=b": The member name "a=b" contains '=' or ','`},
		{`members = { a = ["http://h"] }`, `Entry "a=http://h": http://h has no port, and etcd assumes none.`},
		{`members = { a = ["http://h:1/x"] }`, `Entry "a=http://h:1/x": http://h:1/x has a path; etcd accepts none here.`},
		{`members = { a = ["http://0.0.0.0:1"] }`, `http://0.0.0.0:1 is an address to listen on`},
		{`members = { a = ["http://h:1"], b = ["http://H:1"] }`, `Its peer URL is in the list twice; each belongs to one member.`},
		{
			`members = { a = ["http://h:1"], b = ["http://127.0.0.1:1"] }`,
			"http://127.0.0.1:1 of b can be reached on its own machine only, and a is elsewhere. Give the URL at which the others reach b.",
		},
		{three + "\n cluster_token = \"a b\"", `cluster_token = "a b" contains`},
		{three + "\n cluster_token = \"\"", `cluster_token = "" is empty. It may hold letters, digits, "-", "_" and "." only. Leave it out to have one made.`},
	} {
		steps = append(steps, resource.TestStep{Config: config(c.arguments), ExpectError: message(c.text), PlanOnly: true})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: (&world{}).factories(), Steps: steps})
}

// message matches a text regardless of the CLI's line breaks.
func message(text string) *regexp.Regexp {
	words := strings.Fields(text)
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(strings.Join(words, `[\s│╷╵]+`))
}

func TestIsFormed(t *testing.T) {
	w := &world{}
	r := &clusterResource{look: w.look}
	m := model{ClusterID: stringValue("2a")}
	for _, tt := range []struct {
		answers membership.ClusterID
		formed  bool
		other   string
	}{{0, false, ""}, {0x2a, true, ""}, {7, false, "7"}} {
		w.answers = tt.answers
		formed, other := r.isFormed(t.Context(), m, false)
		got := ""
		if other != nil {
			got = fmt.Sprint(other.ClusterID)
		}
		if formed != tt.formed || got != tt.other {
			t.Errorf("%s answers: %v, %q", tt.answers, formed, got)
		}
	}
}

// restoreArgument returns a valid argument restore.
func restoreArgument(more string) string {
	return "restore = {\n snapshot = \"/backup.db\"\n sha256 = \"" + strings.Repeat("AB", 32) + "\"\n" + more + "\n}\n"
}

// Arguments that etcdutl or the machine would refuse are refused before there is a machine.
func TestAccRestoreInput(t *testing.T) {
	t.Parallel()
	w := &world{}
	good := strings.Repeat("ab", 32)
	step := func(argument, says string) resource.TestStep {
		return resource.TestStep{Config: config(three + "\n" + argument), PlanOnly: true, ExpectError: regexp.MustCompile(says)}
	}
	at := func(snapshot, sha256 string) string {
		return fmt.Sprintf("restore = {\n snapshot = %q\n sha256 = %q\n}", snapshot, sha256)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			step(at("backup.db", good), "neither a URL nor an absolute path"),
			step(at("ftp://h/x", good), "neither a URL nor an absolute path"),
			step(at("https://", good), "neither a URL nor an absolute path"),
			step(at("https://joe:secret@h/x", good), "has a user name"),
			step(at("https://h/x y", good), "must be percent-encoded"),
			step(at("/x\n", good), "has control characters"),
			step(at("/x", "abc"), "Invalid SHA-256"),
			step(restoreArgument("revision_bump = 5"), "Invalid revision_bump"),
			step(restoreArgument("mark_compacted = true"), "Invalid revision_bump"),
			step(restoreArgument(`replaces_cluster = "x"`), "hexadecimal"),
			step(restoreArgument(`replaces_cluster = "2a"`), "Take the snapshot first"),
		},
	})
}

// The snapshot is part of the start of the cluster, permanently.
func TestAccRestoreLife(t *testing.T) {
	t.Parallel()
	w := &world{}
	sum := strings.Repeat("ab", 32)
	bumped := restoreArgument("revision_bump = 1000\nmark_compacted = true")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps: []resource.TestStep{
			{
				Config:           config(three + "\n" + bumped),
				ConfigPlanChecks: plan(plancheck.ResourceActionCreate, planned(exactly("/backup.db"), "bootstrap", "environment", "ETCD_JOIN_RESTORE")),
				ConfigStateChecks: []statecheck.StateCheck{
					has(exactly(sum), "bootstrap", "environment", "ETCD_JOIN_RESTORE_SHA256"),
					has(exactly("1000"), "bootstrap", "environment", "ETCD_JOIN_RESTORE_BUMP"),
					has(knownvalue.Null(), "bootstrap", "replaces_cluster"),
				},
			},
			{PreConfig: w.set(func(w *world) { w.all = true }), RefreshState: true},
			{Config: config(three), ConfigPlanChecks: plan(plancheck.ResourceActionNoop)},
			{Config: config(three + "\n" + restoreArgument("")), ConfigPlanChecks: plan(plancheck.ResourceActionNoop)},
			{Config: config(three + "\n" + restoreArgument("revision = 7\nreplaces_cluster = \"2a\"")), ExpectError: regexp.MustCompile("restore.replaces_cluster is 2a")},
		},
	})
}
