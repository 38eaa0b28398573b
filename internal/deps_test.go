package internal

import (
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/google/uuid"
	_ "github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	_ "github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	_ "github.com/hashicorp/terraform-plugin-framework/providerserver"
	_ "github.com/hashicorp/terraform-plugin-log/tflog"
	_ "github.com/hashicorp/terraform-plugin-testing/helper/resource"
	_ "go.etcd.io/etcd/client/v2"
	_ "go.etcd.io/etcd/client/v3"
	_ "go.uber.org/goleak"
)
