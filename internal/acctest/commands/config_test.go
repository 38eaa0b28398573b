// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// A member is named once: by its configuration, or by a name and peer URLs. Its
// peer URLs also come from one place. Values known only after apply are refused
// then, and nothing is changed.
func TestAccMemberArguments(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	access := acctest.Access{Endpoints: c.Endpoints()}
	const of = `{ id = "config-1", name = "x", peer_urls = %s }`
	known, open := fmt.Sprintf(of, `["http://10.255.0.9:2380"]`), fmt.Sprintf(of, "null")
	for name, v := range map[string]struct{ arguments, summary, says string }{
		"nothing":                   {``, "Neither config nor name", "config = etcd_member_config.node[each.key]"},
		"a name alone":              {`name = "x"`, "Missing peer_urls", `name = "x" is set without peer_urls`},
		"a name beside config":      {"name = \"x\"\n  config = " + known, "Both config and name", `name = "x" is set in addition to config`},
		"peer URLs beside config":   {"peer_urls = [\"http://10.255.0.9:2380\"]\n  config = " + known, "Peer URLs in two places", "the etcd_member_config of x has peer URLs as well"},
		"no peer URLs at all":       {"config = " + open, "Missing peer_urls", "The etcd_member_config of x has no peer URLs"},
		"no ID":                     {`config = { id = "", name = "x", peer_urls = ["http://10.255.0.9:2380"] }`, "Invalid Attribute Value Length", "config.id"},
		"a name that etcd refuses":  {`config = { id = "config-1", name = "a=b", peer_urls = ["http://10.255.0.9:2380"] }`, "Invalid member name", `"a=b"`},
		"a URL that etcd refuses":   {`config = { id = "config-1", name = "x", peer_urls = ["http://a"] }`, "Invalid URL in config.peer_urls", "http://a has no port"},
		"another object altogether": {`config = { name = "x" }`, "Incorrect attribute value type", `attribute "id" is required`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, resource := range []string{"etcd_member", "etcd_learner"} {
				text := func(arguments string) string {
					return required + access.ProviderConfig() + fmt.Sprintf("resource %q \"x\" {\n  %s\n}\n", resource, arguments)
				}
				w := configuration(t, access, "")
				w.Write("main.tf", text(v.arguments))
				w.Plan().MustSay(v.summary).MustContain(t, v.summary, v.says)
			}
		})
	}
	t.Run("known after apply", func(t *testing.T) {
		t.Parallel()
		w := configuration(t, access, "")
		w.Write("main.tf", required+access.ProviderConfig()+
			"resource \"terraform_data\" \"late\" {\n  input = "+open+"\n}\nresource \"etcd_member\" \"x\" {\n  config = terraform_data.late.output\n}\n")
		w.Apply().MustFail().MustSay("Missing peer_urls")
		mustBeMembers(t, c, "infra1")
		recordOf(t, c)
	})
}

// The configuration also works through a module's variable of any type. The
// name is known before anything is created.
func TestAccConfigThroughModule(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, etcdtest.Options{})
	access := acctest.Access{Endpoints: c.Endpoints()}
	for _, variable := range []string{"any", "object({ id = string, name = string, peer_urls = set(string) })"} {
		w := configuration(t, access, "resource \"etcd_member_config\" \"x\" {\n  name = \"x\"\n  peer_urls = [\"http://10.255.0.9:2380\"]\n  client_urls = [\"http://10.255.0.9:2379\"]\n}\n"+
			"module \"member\" {\n  source = \"./member\"\n  config = etcd_member_config.x\n}\n")
		if err := os.Mkdir(filepath.Join(w.Dir, "member"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.Write("member/main.tf", required+"variable \"config\" {\n  type = "+variable+"\n}\nresource \"etcd_member\" \"x\" {\n  config = var.config\n}\n")
		w.Run("get").MustSucceed()
		p := w.Plan()
		after := p.Changes()["module.member.etcd_member.x"].After
		if after["name"] != "x" || fmt.Sprint(after["peer_urls"]) != "[http://10.255.0.9:2380]" {
			t.Errorf("with %s the plan is %v", variable, after)
		}
	}
}
