// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// Create implements [driver.Machines]. The machines of the first members exist. Another
// one starts its process as soon as the member is added.
func (p *play) Create(_ context.Context, values map[string]string) (id string, err error) {
	name := values["name"]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made[name]++
	id = fmt.Sprintf("%s-%d", name, p.made[name])
	if m := p.members[name]; m != nil && p.made[name] == 1 {
		p.machines[id] = m
		return id, nil
	}
	p.stopMachine(name)
	m := p.cluster.NewProcess(name, release)
	p.members[name], p.machines[id] = m, m
	p.set(name, true)
	go func() {
		clock := p.schedule.Clock("machine " + id)
		for clock.Sleep(p.Context(), time.Second) == nil && p.runs(name, m) {
			if m.Start() == nil {
				p.set(name, false)
				return
			}
		}
	}()
	return id, nil
}

// Destroy implements [driver.Machines].
func (p *play) Destroy(_ context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.machines[id]; m != nil && p.members[m.Name] == m {
		p.stopMachine(m.Name)
	}
	delete(p.machines, id)
	return nil
}

// runs reports whether a process is that of the machine of this name.
func (p *play) runs(name string, m *etcdsim.Process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members[name] == m
}

func (p *play) stopMachine(name string) {
	if m := p.members[name]; m != nil {
		m.PowerOff()
		p.set(name, true)
		delete(p.members, name)
	}
}

// Exists implements [driver.Machines].
func (p *play) Exists(_ context.Context, id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.machines[id] != nil
}
