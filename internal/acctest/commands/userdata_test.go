// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/userdata"
)

// Other bytes replace the machine, so user data has the same ones on every CLI: those that
// the provider makes.
func TestAccUserData(t *testing.T) {
	acctest.OnEach(t, func(t *testing.T, cli string) {
		w := acctest.NewWorkspace(t, acctest.WorkspaceOptions{CLI: cli})
		script := joinscript.Static().Base64Gzip
		options := map[string]any{
			"etcd": map[string]any{"path": "/usr/bin"}, "environment": map[string]any{"ETCD_LOG_OUTPUTS": "<a> & \"ü\" $b \\"}, "extra": map[string]any{"hostname": "a"},
		}
		kinds := map[string]func(userdata.Node, userdata.Options) (string, error){"cloud_config": userdata.CloudConfig, "ignition": userdata.Ignition}
		text, wants := "", map[string]string{}
		for name, write := range kinds {
			for _, compress := range []bool{false, true} {
				options["compress"] = compress
				o, _, err := userdata.Parse(options)
				must.Succeed(t, err)
				want, err := write(userdata.Node{Environment: map[string]string{"ETCD_NAME": "a"}, JoinScriptBase64Gzip: script, Format: userdata.Format}, o)
				must.Succeed(t, err)
				given, err := json.Marshal(options)
				must.Succeed(t, err)
				resource := fmt.Sprintf("%s_%v", name, compress)
				wants["terraform_data."+resource] = want
				text += fmt.Sprintf("resource \"terraform_data\" %q {\n  input = provider::etcd::%s(local.node, jsondecode(%q))\n}\n", resource, name, given)
			}
		}
		node := "locals {\n  node = { environment = { ETCD_NAME = \"a\" }, join_script_base64gzip = %q, version = null, start = { format = %d } }\n}\n"
		w.Write("main.tf", acctest.Required+fmt.Sprintf(node, script, userdata.Format)+text)
		w.Apply().MustSucceed()
		for address, want := range wants {
			if got, _ := w.State(address)["output"].(map[string]any); got["value"] != want {
				t.Errorf("%s: %v\nwant %s", address, got, want)
			}
		}
		w.Plan().MustBeEmpty()
	})
}
