// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package examples

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// overrideFile changes where an example looks, and nothing else of it.
const overrideFile = "live_override.tf"

// live are the examples that need a server, each with what makes it and what
// the reader is to see there: they are planned and applied.
var live = map[string]func(t *testing.T, w *acctest.Workspace){
	"backup":                             liveBackup,
	"data-sources/etcd_cluster":          liveCluster,
	"data-sources/etcd_discovery_token":  liveDiscoveryToken,
	"data-sources/etcd_heartbeats":       liveHeartbeats,
	"ephemeral-resources/etcd_heartbeat": liveHeartbeat,
	"import-existing":                    liveImport,
	"registry":                           liveRegistry,
}

// server starts a cluster and points the example's provider at it; alias is
// that of the provider, "" for none.
func server(t *testing.T, w *acctest.Workspace, members int, alias, more string, o etcdtest.Options) *etcdtest.Cluster {
	t.Helper()
	b := etcdtest.Start(t, members, o)
	w.Write(overrideFile, acctest.Access{Alias: alias, Endpoints: b.Endpoints()}.ProviderConfig()+strings.ReplaceAll(more, "ENDPOINT", b.Endpoints()[0]))
	return b
}

func etcdctl(t *testing.T, b *etcdtest.Cluster, args ...string) string {
	t.Helper()
	out, err := b.Etcdctl(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outputs are those in the state.
func outputs(t *testing.T, w *acctest.Workspace) map[string]any {
	t.Helper()
	var all map[string]struct{ Value any }
	if err := json.Unmarshal(w.Run("output", "-json").MustSucceed().Stdout, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for name, o := range all {
		out[name] = o.Value
	}
	return out
}

func mustOutput(t *testing.T, w *acctest.Workspace, want map[string]any) {
	t.Helper()
	if got := outputs(t, w); !reflect.DeepEqual(got, want) {
		t.Errorf("outputs %v\nwant    %v", got, want)
	}
}

// mustWarn fails the test unless the only diagnostic is that of a check.
func mustWarn(t *testing.T, o *acctest.Outcome, matching string) {
	t.Helper()
	all := o.Diagnostics
	if len(all) != 1 || all[0].Summary != "Check block assertion failed" || !regexp.MustCompile(matching).MatchString(all[0].Detail) {
		t.Errorf("%s: %v\nwant what matches %s", strings.Join(o.Args, " "), all, matching)
	}
}

func mustPlan(t *testing.T, w *acctest.Workspace) *acctest.Plan {
	t.Helper()
	plan := w.Plan()
	if plan.ExitCode != 2 {
		t.Fatalf("the plan's exit code is %d, want 2: outputs are to change\n%s", plan.ExitCode, plan)
	}
	return plan
}

// The week turns: the file of the same day is replaced, and then nothing is left
// to do.
func liveBackup(t *testing.T, w *acctest.Workspace) {
	b := server(t, w, 3, "", "", etcdtest.Options{})
	week, err := filepath.Abs(w.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} {
		w.Write("etcd-"+day+".db", "of the week before")
	}
	w.Apply("-var=directory=" + week).MustSucceed().MustBeQuiet()
	backup, ok := outputs(t, w)["backup"].(map[string]any)
	if !ok {
		t.Fatal("there is no output")
	}
	status := etcdtest.EtcdutlStatus(t, fmt.Sprint(backup["path"]))
	if fmt.Sprint(backup["revision"]) != fmt.Sprint(max(status.Revision, 1)) || backup["member"] == b.Leader(t).Name {
		t.Errorf("the output is %v, and etcdutl reads %+v", backup, status)
	}
}

func liveCluster(t *testing.T, w *acctest.Workspace) {
	b := server(t, w, 3, "", "", etcdtest.Options{})
	mustPlan(t, w).MustBeQuiet()
	w.Apply().MustSucceed().MustBeQuiet()
	var status []struct{ Status struct{ Version string } }
	if err := json.Unmarshal([]byte(etcdctl(t, b, "endpoint", "status", "-w", "json")), &status); err != nil {
		t.Fatal(err)
	}
	version := "voter, " + status[0].Status.Version
	endpoints := []any{}
	for _, e := range b.Endpoints() {
		endpoints = append(endpoints, e)
	}
	mustOutput(t, w, map[string]any{"endpoints": endpoints, "members": map[string]any{"infra1": version, "infra2": version, "infra3": version}})
	w.Plan().MustBeEmpty()

	b.Member("infra3").Kill()
	b.Leader(t)
	const advice = `^infra3 \([0-9a-f]+\) does not answer \(http://[0-9.:]+: connection refused\).*\nNo further voter may fail`
	mustWarn(t, mustPlan(t, w).Outcome, advice)
	mustWarn(t, w.Apply().MustSucceed(), advice)
	members, ok := outputs(t, w)["members"].(map[string]any)
	if third := fmt.Sprint(members["infra3"]); !ok || !regexp.MustCompile(`^voter, infra3 \([0-9a-f]+\) does not answer`).MatchString(third) {
		t.Errorf("infra3 is shown as %q", third)
	}
}

func liveDiscoveryToken(t *testing.T, w *acctest.Workspace) {
	const token = "/_etcd/registry/5a3c7d0e4b1f4c52a9e86b1d0f7c2e93"
	// The URL of the registry stands in the example itself.
	b := server(t, w, 1, "registry", "data \"etcd_discovery_token\" \"old\" {\n  url = \"ENDPOINT/v2/keys"+token+"\"\n}\n", etcdtest.Options{Version: etcdtest.V35, V2: true})
	for key, value := range map[string]string{
		"/_config/size": "2", "/members/8e9e05c52164694d": "infra1=http://10.0.1.10:2380",
	} {
		etcdctl(t, b, "put", token+key, value)
	}
	for key, value := range map[string]string{
		"/_config/size": "1", "/8e9e05c52164694d": "infra2=http://10.0.1.11:2380",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.Endpoints()[0]+"/v2/keys"+token+key, strings.NewReader(url.Values{"value": {value}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusCreated {
			t.Fatal(resp.Status)
		}
	}
	mustPlan(t, w).MustBeQuiet()
	w.Apply().MustSucceed().MustBeQuiet()
	mustOutput(t, w, map[string]any{"registered": []any{"infra1"}})
	old := w.State("data.etcd_discovery_token.old")
	if members := fmt.Sprint(old["members"]); old["complete"] != true || !strings.Contains(members, "infra2") {
		t.Errorf("by its URL: %v", old)
	}
	w.Plan().MustBeEmpty()
}

// beats puts a key with a time to live in seconds.
func beats(t *testing.T, b *etcdtest.Cluster, name, seconds string) {
	t.Helper()
	lease := regexp.MustCompile(`[0-9a-f]{8,}`).FindString(etcdctl(t, b, "lease", "grant", seconds))
	etcdctl(t, b, "put", "--lease="+lease, "/running/"+name, "beat of "+name)
}

func liveHeartbeats(t *testing.T, w *acctest.Workspace) {
	b := server(t, w, 1, "", "data \"etcd_heartbeats\" \"now\" {\n  watch = \"2s\"\n}\n", etcdtest.Options{})
	for _, name := range []string{"web1", "web2", "web3"} {
		beats(t, b, name, "600")
	}
	w.Apply().MustSucceed().MustBeQuiet()
	mustOutput(t, w, map[string]any{"seen": []any{}})

	beats(t, b, "web2", "1") // its last
	etcdtest.Until(t, "its key ends", func() bool { return etcdctl(t, b, "get", "/running/web2") == "" })
	mustWarn(t, w.Plan().Outcome, `^No beat from web2\.$`)
	mustWarn(t, w.Apply().MustSucceed(), `^No beat from web2\.$`)
}

func liveHeartbeat(t *testing.T, w *acctest.Workspace) {
	b := server(t, w, 1, "", "", etcdtest.Options{})
	beats(t, b, "scheduler", "600") // by one that is stuck
	if plan := w.Plan(); plan.ExitCode != 2 {
		t.Fatal(plan)
	}
	left := func() string { return etcdctl(t, b, "get", "--prefix", "/running/") }
	if left() != "" {
		t.Errorf("the plan leaves %q", left())
	}
	run := w.Apply().MustSucceed().MustBeQuiet()
	if !strings.Contains(string(run.Stdout), "deploying 1.4.2") {
		t.Errorf("nothing was deployed:\n%s", run)
	}
	if left() != "" {
		t.Errorf("the apply leaves %q", left())
	}
	var now struct{ Header struct{ Revision int64 } }
	if err := json.Unmarshal([]byte(etcdctl(t, b, "get", "/", "-w", "json")), &now); err != nil {
		t.Fatal(err)
	}
	// An empty store is at revision 1. Then: the stuck one's key, and its
	// deletion; by the plan and by the apply two keys, made and deleted.
	if least := int64(1 + 2 + 2*4); now.Header.Revision < least {
		t.Errorf("at revision %d, want %d or more: not everybody beat", now.Header.Revision, least)
	}
}
