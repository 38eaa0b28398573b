// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

// Add notes that the plan which is being made adds a member through these
// endpoints. The order in which resources are planned is not known, so whoever
// comes second, the new member or one that is in state, finds the other.
func (c *Cluster) Add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, name)
}

// Added returns the first name that [Cluster.Add] was told of, "" before.
func (c *Cluster) Added() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.added) == 0 {
		return ""
	}
	return c.added[0]
}
