// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

// startOver is the advice if a bootstrap cannot be used again. It follows the
// condition, such as "If the cluster is gone for good".
const startOver = ", destroy what is left of it and start again:\n\n  terraform destroy -refresh=false\n  terraform apply"

// untaint is the advice for a resource that is replaced because it is tainted.
// Until a moved block is applied, the CLI uses the former address of the
// resource, and a diagnostic the new address.
const untaint = "If the resource is tainted, keep it. " + afterWith + ", or the one after \"from\" in a moved block that has not been applied yet:\n\n  terraform untaint 'ADDRESS'"

// renamed is the advice for a resource that is created because its address
// changed. The CLI refuses a moved block from an address that is still in the
// configuration, for example if two resources swap addresses.
const renamed = "If the resource had another address before (OLD_ADDRESS), add this block:\n\n" +
	"  moved {\n    from = OLD_ADDRESS\n    to   = ADDRESS\n  }\n\n" +
	"If OLD_ADDRESS is still in the configuration, Terraform refuses the block. Run this command instead. " +
	"If something else is at ADDRESS in the state, move that to an unused address first:\n\n" +
	"  terraform state mv 'OLD_ADDRESS' 'ADDRESS'"
