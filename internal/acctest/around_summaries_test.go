// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

// These are parts of the summaries of the warnings that tests of the plan rules
// count. The tests identify refusals only by their outcome.
const (
	// everyVoterGoes is the summary for a plan that removes every voter.
	everyVoterGoes = "This plan removes every voter"
	// withoutMachine ends the summary for a configured member without
	// machine_id, which also contains the member's name.
	withoutMachine = "machine_id"
)

// destroyInstead is the command that every refusal of a plan contains.
const destroyInstead = "terraform destroy -refresh=false"
