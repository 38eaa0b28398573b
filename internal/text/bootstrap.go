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
