// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

var (
	registryEndpoints = []string{"http://10.0.0.1:2379", "http://10.0.0.2:2379"}
	ofThree           = attributes{"size": 3}
)

// want compares diagnostics. They show the first 8 digits of a token.
func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	for i := range want {
		want[i] = strings.NewReplacer(firstToken, firstToken[:8]+"…", secondToken, secondToken[:8]+"…").Replace(want[i])
	}
	if len(got) != len(want) || (len(got) > 0 && !reflect.DeepEqual(got, want)) {
		t.Errorf("diagnostics:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func wantAttribute(t *testing.T, s interface{ state() tftypes.Value }, want string, path ...string) {
	t.Helper()
	if got := driver.Attribute(s.state(), path...); got != want {
		t.Errorf("%s: got %s, want %s", strings.Join(path, "."), got, want)
	}
}

func wantAction(t *testing.T, p planned, want string) {
	t.Helper()
	if p.action != want {
		t.Errorf("planned %s, want %s\nplan %s", p.action, want, p.value)
	}
}

// wantRefusal fails the test unless a plan is refused with that text alone.
func wantRefusal(t *testing.T, p planned, refused text.Message) {
	t.Helper()
	want(t, p.texts, "error: "+refused.Summary+": "+refused.Detail)
}

func TestCreate(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	p := s.up(ofThree)
	wantAction(t, p, "create")
	for path, want := range map[string]string{
		"token": "(unknown)", "id": "(unknown)", "environment": "(unknown)", "url": "",
		"protocol": "v3", "prefix": "/_etcd/registry", "service_url": "",
		"bootstrap.environment": "(unknown)",
	} {
		if got := driver.Attribute(p.value, strings.Split(path, ".")...); got != want {
			t.Errorf("planned %s: got %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"size", "complete", "members", "bootstrap.size", "bootstrap.complete"} {
		path := strings.Split(path, ".")
		if got := driver.Attribute(p.value, path...); strings.Contains(got, "nknown") || got != driver.Attribute(s.state(), path...) {
			t.Errorf("planned %s: got %q, want what was applied: %q", path, got, driver.Attribute(s.state(), path...))
		}
	}
	wantAttribute(t, s, firstToken, "token")
	wantAttribute(t, s, firstToken, "id")
	wantAttribute(t, s, firstToken, "environment", "ETCD_DISCOVERY_TOKEN")
	wantAttribute(t, s, "http://10.0.0.1:2379,http://10.0.0.2:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
	wantAttribute(t, s, driver.Attribute(s.state(), "environment"), "bootstrap", "environment")
	if fake.tokens[firstToken].Size != 3 {
		t.Errorf("made %+v, want size 3", fake.tokens)
	}
	want(t, s.refresh())
	wantAction(t, s.plan(ofThree), "no-op")
}

// Refreshes and plans do not write or create anything.
func TestHundredRefreshes(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	for range 100 {
		want(t, s.refresh())
		wantAction(t, s.plan(ofThree), "no-op")
	}
	if fake.calls["create"] != 1 || fake.calls["delete"] != 0 {
		t.Errorf("calls: %v, want one create", fake.calls)
	}
}

// Before completion each of these creates a new token, after it none does.
func TestChanges(t *testing.T) {
	base := attributes{"size": 3, "prefix": "/one"}
	changes := map[string]attributes{
		"another size":       {"size": 5, "prefix": "/one"},
		"another prefix":     {"size": 3, "prefix": "/two"},
		"size not known yet": {"size": unknown{}, "prefix": "/one"},
	}
	for _, complete := range []bool{false, true} {
		fake := newFake()
		s := newSession(t, fakeProvider(fake), registryEndpoints)
		s.carryOut(s.plan(base))
		action := "replace"
		if complete {
			action = "no-op"
			fake.register(firstToken, "c", "a", "b")
			want(t, s.refresh())
			wantAttribute(t, s, `tftypes.Bool<"true">`, "complete")
			wantAttribute(t, s, `tftypes.Bool<"true">`, "bootstrap", "complete")
		}
		for name, config := range changes {
			if p := s.plan(config); p.action != action {
				t.Errorf("complete %t, %s: planned %s, want %s", complete, name, p.action, action)
			}
		}
	}
}

func TestAdvertisedEndpointsChangeInPlace(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	p := s.up(attributes{"size": 3, "advertised_endpoints": []string{"https://registry.example:2379"}})
	wantAction(t, p, "update")
	wantAttribute(t, s, firstToken, "token")
	wantAttribute(t, s, "https://registry.example:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
	wantAction(t, s.up(ofThree), "update")
	wantAttribute(t, s, "http://10.0.0.1:2379,http://10.0.0.2:2379", "environment", "ETCD_DISCOVERY_ENDPOINTS")
	if fake.calls["create"] != 1 {
		t.Errorf("calls: %v, want one create", fake.calls)
	}
}

// The access of a machine consists of the names of files and of a user.
func TestMachineAccess(t *testing.T) {
	s := newSession(t, fakeProvider(newFake()), registryEndpoints)
	s.up(ofThree)
	p := s.up(attributes{"size": 3, "machine_access": map[string]any{
		"ca_cert": "/etc/etcd/ca.pem", "cert": "/etc/etcd/client.pem", "key": "/etc/etcd/client-key.pem", "username": "registrar",
	}})
	wantAction(t, p, "update")
	for name, value := range map[string]string{
		"ETCD_DISCOVERY_CACERT": "/etc/etcd/ca.pem", "ETCD_DISCOVERY_CERT": "/etc/etcd/client.pem",
		"ETCD_DISCOVERY_KEY": "/etc/etcd/client-key.pem", "ETCD_DISCOVERY_USER": "registrar", "ETCD_DISCOVERY_TOKEN": firstToken,
	} {
		wantAttribute(t, s, value, "environment", name)
		wantAttribute(t, s, value, "bootstrap", "environment", name)
	}
}

// A complete token is not read again: the token, or the discovery cluster, may be gone.
func TestCompleteIsSticky(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	fake.register(firstToken, "c", "a", "b")
	want(t, s.refresh())
	wantAttribute(t, s, `tftypes.Bool<"true">`, "complete")
	members := driver.Attribute(s.state(), "members")
	if i, j := strings.Index(members, `"c"`), strings.Index(members, `"a"`); i < 0 || j < i || !strings.Contains(members, `"http://c.example:2380"`) {
		t.Errorf("members are not in order of registration: %s", members)
	}
	asked := fake.calls["status"]

	fake.forget(firstToken)
	want(t, s.refresh())
	wantAction(t, s.plan(ofThree), "no-op")
	fake.statusErr = unreachable()
	want(t, s.refresh())
	wantAction(t, s.plan(ofThree), "no-op")
	wantAttribute(t, s, members, "members")
	if fake.calls["status"] != asked {
		t.Error("the discovery cluster was asked for a complete token")
	}
}

func TestVanishedBeforeCompletion(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	fake.forget(firstToken)
	want(t, s.refresh(), "warning: Discovery token removed from the discovery cluster: Token "+firstToken+" is no longer under /_etcd/registry. "+
		"At the last refresh its 3 initial members had not all registered. It is kept in the state, because the cluster may have formed since then. "+
		"If it has formed, no action is needed. If it has not, members that wait on the token cannot form it.\n\n"+
		"If the cluster never formed, or is gone for good, destroy what is left of it and start again:\n\n  terraform destroy -refresh=false\n  terraform apply")
	wantAction(t, s.plan(ofThree), "no-op")
	wantRefusal(t, s.plan(attributes{"size": 5}), text.DiscoveryMayHaveFormed("replace", text.DiscoveryTokenGone))
	want(t, s.destroy())
	wantAction(t, s.up(ofThree), "create")
	wantAttribute(t, s, secondToken, "token")
}

func TestUnreachableAtRefresh(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	fake.statusErr = unreachable()
	want(t, s.refresh(), "warning: Discovery token not checked: What the state says of token "+firstToken+" is kept as it is. "+
		"What each endpoint answered: http://10.0.0.1:2379: connection refused; http://10.0.0.2:2379: no answer in time.")
	wantAction(t, s.plan(ofThree), "no-op")
}

func TestUnknownProviderConfiguration(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	later := s.clone(unknown{})
	calls := fake.calls["status"]
	want(t, later.refresh())
	wantAction(t, later.plan(ofThree), "no-op")
	wantRefusal(t, later.plan(attributes{"size": 5}), text.DiscoveryMayHaveFormed("replace", text.DiscoveryEndpointsLater))
	fresh := newSession(t, fakeProvider(fake), unknown{})
	wantAction(t, fresh.plan(ofThree), "create")
	if fake.calls["status"] != calls {
		t.Error("the discovery cluster was asked although nobody knows where it is")
	}
}

func TestSizeOverwritten(t *testing.T) {
	fake := newFake()
	s := newSession(t, fakeProvider(fake), registryEndpoints)
	s.up(ofThree)
	fake.resize(firstToken, 5)
	want(t, s.refresh(), "warning: The size of the discovery token was changed: Token "+firstToken+" was made for size 3 and says 5 now. Members go by what it says. "+
		"As long as fewer than both have registered, the plan replaces the token; find out which program writes to the discovery cluster.")
	p := s.plan(ofThree)
	wantAction(t, p, "replace")
	want(t, s.carryOut(p))
	wantAttribute(t, s, secondToken, "token")
	if len(fake.tokens) != 1 {
		t.Errorf("in the discovery cluster: %v, want the second token alone", fake.tokens)
	}

	fake.statusErr = &discovery.BadSizeError{Value: "abc"}
	want(t, s.refresh(), "warning: Discovery token has an invalid size: Token "+secondToken+" says \"abc\" where its size should be. "+
		"Members that start with it exit with \"discovery: size key is bad\". The plan replaces the token, unless all may have registered before.")
	wantAction(t, s.plan(ofThree), "replace")
}

func TestCreateFailures(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		config attributes
		want   string
	}{
		"unreachable": {
			unreachable(), ofThree,
			"error: The discovery cluster does not answer: Cannot create the token; nothing was changed. " +
				"What each endpoint answered: http://10.0.0.1:2379: connection refused; http://10.0.0.2:2379: no answer in time. Check that the discovery cluster runs and can be reached from here, then apply again.",
		},
		"denied": {
			&discovery.DeniedError{Endpoint: "http://10.0.0.1:2379", Err: plainError("wrong user name or password")}, ofThree,
			"error: The discovery cluster denies access: Cannot create the token; nothing was changed. http://10.0.0.1:2379: wrong user name or password.\n\n" +
				"Check username and password of the provider. " + needsReadWrite,
		},
		"occupied": {
			&discovery.OthersError{Keys: []string{"/_etcd/registry/pods/a"}, More: 7}, attributes{"size": 3},
			"error: The discovery token's place is not empty: Below /_etcd/registry/01010101…/ there are keys that are not the token's: \"/_etcd/registry/pods/a\" and 7 more. " +
				"A token is created only where no other key exists. Nothing was changed.\n\nChoose another prefix, or apply again: the provider makes another token.",
		},
		"exists": {
			&discovery.ExistsError{Size: 5}, attributes{"size": 3},
			"error: The discovery token exists already: Token 01010101… is in the discovery cluster under /_etcd/registry, for size 5. A token serves one cluster only, so it is not adopted. " +
				"Nothing was changed. If it is yours, import it with the ID \"TOKEN\", with the token in place of TOKEN. Otherwise apply again: the provider makes another token.",
		},
		"exists with a bad size": {
			&discovery.ExistsError{}, attributes{"size": 3, "prefix": "/my"},
			"error: The discovery token exists already: Token 01010101… is in the discovery cluster under /my, with a size that is not a number. A token serves one cluster only, so it is not adopted. " +
				"Nothing was changed. If it is yours, import it with the ID \"/my:TOKEN\", with the token in place of TOKEN. Otherwise apply again: the provider makes another token.",
		},
		"other": {
			plainError("boom"), ofThree,
			"error: Discovery failed: Cannot create the token: boom. Fix what the discovery cluster reports, then apply again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake()
			fake.createErr = test.err
			s := newSession(t, fakeProvider(fake), registryEndpoints)
			want(t, s.carryOut(s.plan(test.config)), test.want)
			if !s.state().IsNull() {
				t.Error("there is a state, which Terraform would destroy at the next apply")
			}
		})
	}
	s := newSession(t, fakeProvider(newFake()), nil)
	want(t, s.carryOut(s.plan(ofThree)), "error: No discovery cluster to ask: The provider of this resource has no endpoints. Set endpoints in the provider block that the resource uses, "+
		"or the environment variable ETCDCTL_ENDPOINTS, to the client URLs of the etcd that holds the token.")
}

// The discovery cluster dies between the write and its response: the next apply
// uses the same token and does not create a second one.
func TestUnsureCreate(t *testing.T) {
	warning := "warning: Not known whether the token was written: The discovery cluster took the request for token " + firstToken + " and did not answer. " +
		"The token is kept in the state, so that no second one is made: the next plan looks for it, and the next apply writes it if it is missing. " +
		"Until then machines that start with it may exit with \"size key not found\" and start again. " +
		"What each endpoint answered: http://10.0.0.1:2379: connection refused; http://10.0.0.2:2379: no answer in time."
	for _, written := range []bool{true, false} {
		fake := newFake()
		fake.createErr, fake.lateCreate = unsure(), written
		s := newSession(t, fakeProvider(fake), registryEndpoints)
		want(t, s.carryOut(s.plan(ofThree)), warning)
		wantAttribute(t, s, firstToken, "token")

		// Still unreachable: no decision is made.
		fake.createErr, fake.statusErr = nil, unreachable()
		s.refresh()
		wantAction(t, s.plan(ofThree), "no-op")

		fake.statusErr = nil
		want(t, s.refresh())
		p := s.plan(ofThree)
		if written {
			wantAction(t, p, "no-op")
		} else {
			wantAction(t, p, "update")
			want(t, p.texts, "warning: The token was not written last time: The discovery cluster answers now and has no token "+firstToken+". This plan writes it, under the same name.")
			want(t, s.carryOut(p))
		}
		wantAttribute(t, s, firstToken, "token")
		if len(fake.tokens) != 1 || fake.tokens[firstToken].Size != 3 {
			t.Errorf("in the discovery cluster: %v, want the first token alone", fake.tokens)
		}
		// From here on it behaves like any other token.
		want(t, s.refresh())
		wantAction(t, s.plan(ofThree), "no-op")
		fake.forget(firstToken)
		if len(s.refresh()) != 1 || s.state().IsNull() {
			t.Error("a token that was seen and then removed may have been complete: it must stay in the state, with a warning")
		}
	}
}
