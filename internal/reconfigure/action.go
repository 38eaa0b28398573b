// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

// Action is what the engine does to a member. Package text has a summary of its
// failure for each.
type Action string

// String implements fmt.Stringer.
func (a Action) String() string { return string(a) }

// The actions. A decision can refuse the first five (see [Refusal]).
const (
	ActionAdd     Action = "add"
	ActionPromote Action = "promote"
	ActionRemove  Action = "remove"
	ActionReplace Action = "replace"
	ActionUpdate  Action = "update"

	ActionRead   Action = "read"
	ActionRecord Action = "record" // write its ownership record
	ActionImport Action = "import"
	ActionReach  Action = "reach" // find its cluster
	ActionForget Action = "forget"
)

// Actions that do not add or remove a member.
const (
	actionDefragment Action = "defragment"
	ActionSave       Action = "save"
)

// liftsAlarm reports whether an action can help to clear an alarm. Under an alarm
// no lock between processes can be taken, so such an action continues without it.
func (a Action) liftsAlarm() bool {
	return a == ActionRemove || a == actionDefragment
}
