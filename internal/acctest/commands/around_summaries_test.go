// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package commands

// withoutMachine ends the summary of the warning for a configured member without
// machine_id, which also contains the member's name. The tests of the plan rules
// count it. They identify refusals only by their outcome.
const withoutMachine = "machine_id"

// destroyInstead is the command that every refusal of a plan contains.
const destroyInstead = "terraform destroy -refresh=false"
