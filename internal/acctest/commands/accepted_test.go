// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// late is an expression whose value is known only after apply.
const late = "terraform_data.late.output"

// Invalid values that a plan refuses are refused at apply if they become known
// only then, and nothing is changed. The corrected configuration applies, and
// its result can be destroyed.
func TestAccRefusedInTime(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	access := acctest.Access{Endpoints: c.Endpoints()}
	here := fmt.Sprintf("[%q]", c.Endpoints()[0])
	peer := acctest.DeadEndpoint(t)
	joins := func(resource, argument string) string {
		return fmt.Sprintf("resource %q \"x\" {\n  name = \"x\"\n  peer_urls = [%q]\n  wait_until = \"announced\"\n  %s\n}\n", resource, peer, argument)
	}
	config := func(argument string) string {
		return fmt.Sprintf("resource \"etcd_member_config\" \"x\" {\n  name = \"x\"\n  %s\n}\n", argument)
	}
	// OpenTofu does not open an ephemeral resource with values unknown at plan
	// unless something uses it.
	const beating = "ephemeral \"etcd_heartbeat\" \"x\" {\n  name = %s\n}\nresource \"terraform_data\" \"user\" {\n" +
		"  provisioner \"local-exec\" {\n    command = \"true\"\n    environment = { HEARTBEAT = ephemeral.etcd_heartbeat.x.key }\n  }\n}\n"
	for _, v := range []struct {
		name, resource string
		bad, good      string // expressions for %s
		summary, says  string
	}{
		{"endpoint without a host", joins("etcd_member", "endpoints = %s"), `["http://:2379"]`, here, "Invalid endpoint", `endpoints: "http://:2379" has no host`},
		{"empty endpoint", joins("etcd_learner", "endpoints = %s"), `[""]`, here, "Invalid endpoint", `endpoints: "" is empty`},
		{"endpoint of another scheme", joins("etcd_learner", "endpoints = %s"), `["ftp://x:1"]`, here, "Invalid endpoint", `endpoints: "ftp://x:1" has the scheme "ftp"`},
		{"endpoint that is null", joins("etcd_learner", "endpoints = %s"), `[null]`, here, "Invalid URL in endpoints", "endpoints has an element that is null"},
		{"same peer URL twice", strings.Replace(joins("etcd_learner", ""), fmt.Sprintf("[%q]", peer), "%s", 1), fmt.Sprintf("[%q, %q]", peer, strings.ToUpper(peer[:4])+peer[4:]+"/"), fmt.Sprintf("[%q]", peer),
			"Duplicate URL in peer_urls", "peer_urls contains " + peer + " twice"},
		{"negative timeout", joins("etcd_learner", "timeouts = { delete = %s }"), `"-5s"`, `"50s"`, "Invalid duration", `timeouts.delete is "-5s"`},
		{"no time at all", joins("etcd_learner", "timeouts = { create = %s }"), `"0s"`, `"50s"`, "Invalid duration", `timeouts.create is "0s"`},
		{"learner_id", joins("etcd_member", "learner_id = %s"), `"xyz"`, "null", "Invalid member ID", "xyz"},
		{"host to listen on", config("listen_peer_urls = %s"), `["http://infra1:2380"]`, `["http://localhost:2380", "http://[::1]:2380"]`, "Invalid URL in listen_peer_urls", "http://infra1:2380 names a host"},
		{"host to listen on for clients", config("listen_client_urls = %s"), `["http://infra1:2379"]`, `["http://0.0.0.0:2379"]`, "Invalid URL in listen_client_urls", "http://infra1:2379 names a host"},
		{"same client URL twice", config("client_urls = %s"), `["http://infra1:2379", "http://infra1:2379/"]`, `["http://infra1:2379"]`, "Duplicate URL in client_urls", "http://infra1:2379 twice"},
		{"peer that is null", config("join_peer_urls = %s"), `[null]`, `["http://infra1:2380"]`, "Invalid URL in join_peer_urls", "null"},
		{"lost after no time", config("replace_unreachable_after = %s"), `"-1m"`, `"1m"`, "Invalid duration", `replace_unreachable_after is "-1m"`},
		{"endpoint of a data source", "data \"etcd_cluster\" \"x\" {\n  endpoints = %s\n}\n", `["http://:2379"]`, here, "Invalid endpoint", `"http://:2379" has no host`},
		{"value of a rollout", "resource \"etcd_rollout\" \"x\" {\n  desired = { a = %s }\n}\n", "null", `"1"`, "Null Map Value", "null value"},
		{"initial member", "resource \"etcd_discovery_token\" \"x\" {\n  founders = %s\n}\n", `[null]`, `["a"]`, "Null Set Value", "null value"},
		{"heartbeat to expect", "data \"etcd_heartbeats\" \"x\" {\n  expected = %s\n}\n", `[null]`, `["a"]`, "Null Set Value", "null value"},
		{"name of a heartbeat", beating, `""`, `"x"`, "Invalid name of a heartbeat", `name = ""`},
	} {
		t.Run(v.name, func(t *testing.T) {
			w := configuration(t, access, "")
			write := func(value, before string) {
				w.Write("main.tf", required+access.ProviderConfig()+strings.Replace(v.resource, "%s", value, 1)+before)
			}
			write(v.bad, "")
			w.Plan().MustSay(v.summary).MustContain(t, v.summary, v.says)

			write("jsondecode("+late+")", fmt.Sprintf("resource \"terraform_data\" \"late\" {\n  input = jsonencode(%s)\n}\n", v.bad))
			w.Apply().MustFail().MustSay(v.summary).MustContain(t, v.summary, v.says)
			mustBeMembers(t, c, "infra1")
			recordOf(t, c)

			write(v.good, "")
			w.Apply().MustSucceed()
			w.Destroy().MustSucceed()
			mustBeMembers(t, c, "infra1")
			recordOf(t, c)
		})
	}
}

// A plan that can reach the cluster refuses a learner_id that no member has.
func TestAccLearnerIDOfNoMember(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	bad := fmt.Sprintf("resource \"etcd_member\" \"x\" {\n  name = \"x\"\n  peer_urls = [%q]\n  learner_id = \"abc\"\n}\n", acctest.DeadEndpoint(t))
	w := configuration(t, acctest.Access{Endpoints: c.Endpoints()}, bad)
	w.Plan().MustSay("No member has the learner_id").MustContain(t, "No member has the learner_id", "learner_id is abc", "terraform destroy -refresh=false")
}

// tamper replaces a text in the state.
func tamper(w *acctest.Workspace, t *testing.T, from, to string) {
	t.Helper()
	was := w.Read("terraform.tfstate")
	now := strings.Replace(was, from, to, 1)
	if now == was {
		t.Fatalf("%s is not in the state:\n%s", from, was)
	}
	w.Write("terraform.tfstate", now)
}

// Whatever is in the state, a plan and a destroy are possible, and a corrected
// configuration applies.
func TestAccStateThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	c := acctest.StartCluster(t, 1, etcdtest.Options{})
	url := acctest.DeadEndpoint(t)
	here := fmt.Sprintf("endpoints = [%q]", c.Endpoints()[0])
	learner := func(argument string) string {
		return fmt.Sprintf("resource \"etcd_learner\" \"x\" {\n  name = \"x\"\n  peer_urls = [%q]\n  wait_until = \"announced\"\n  %s\n}\n", url, argument)
	}
	at := acctest.Access{Endpoints: c.Endpoints()}
	written := fmt.Sprintf("\"endpoints\": [\n              %q\n", c.Endpoints()[0])
	for _, bad := range []string{`"http://:2379"`, `""`, `"ftp://x:1"`, "null"} {
		t.Run(bad, func(t *testing.T) {
			w := configuration(t, at, learner(here))
			w.Apply().MustSucceed()
			broken := strings.Replace(written, fmt.Sprintf("%q", c.Endpoints()[0]), bad, 1)
			tamper(w, t, written, broken)
			plan := w.Plan()
			plan.MustDo(map[string]string{"etcd_learner.x": "update"})
			if bad != "null" {
				mustWarn(plan.Outcome, "Endpoints of member x cannot be used")
			}
			w.Apply().MustSucceed()
			w.Plan().MustBeEmpty()

			tamper(w, t, written, broken)
			w.Destroy().MustSucceed()
			mustBeMembers(t, c, "infra1")
			recordOf(t, c)
		})
	}
	t.Run("and nothing else is known", func(t *testing.T) {
		w := configuration(t, at, learner(here))
		w.Apply().MustSucceed()
		tamper(w, t, written, strings.Replace(written, fmt.Sprintf("%q", c.Endpoints()[0]), `""`, 1))
		w.Write("main.tf", required+"provider \"etcd\" {}\n"+learner(here))
		mustWarn(w.Plan().Outcome, "Endpoints of member x cannot be used")
		w.Destroy("-refresh=false").MustSay("Cannot remove member x").MustContain(t, "Cannot remove member x", "\n  ETCD_CLUSTER_LOST="+clusterID(t, c)+":x terraform destroy -refresh=false")
		w.StateLost(clusterID(t, c), "x")
		mustWarn(w.Destroy("-refresh=false").MustSucceed(), "Member x was forgotten, not removed")
		if w.State("etcd_learner.x") != nil {
			t.Error("it is still in the state")
		}
	})
}

// mustWarn fails the test unless the only warning has this summary.
func mustWarn(o *acctest.Outcome, summary string) acctest.Diagnostic {
	o.TB.Helper()
	warnings := o.Warnings()
	if len(warnings) != 1 || warnings[0].Summary != summary {
		o.TB.Fatalf("%s: expected one warning, %q, got:\n%s", strings.Join(o.Args, " "), summary, o.Report())
	}
	return warnings[0]
}
