// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Nodes that are planned each by itself pass one after the other.
func TestChainsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &reconfigure.Chains{Clock: clock.System{}}
		done := make(chan string, 3)
		for _, name := range []string{"a", "b", "c"} {
			go func() {
				if err := c.Enter(t.Context(), name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				time.Sleep(9 * time.Second)
				c.Config(name)
				time.Sleep(50 * time.Second)
				c.Member(name)
				done <- name
			}()
		}
		begin := time.Now()
		for range 3 {
			<-done
		}
		if took := time.Since(begin); took != 3*59*time.Second {
			t.Errorf("took %v: they were not planned one after the other", took)
		}
	})
}

// Where nothing of the first is planned while the others wait, all are refused,
// and soon.
func TestChainsEntangled(t *testing.T) {
	for name, steps := range map[string]func(*reconfigure.Chains, string){
		"every rollout before any configuration": func(*reconfigure.Chains, string) {},
		"every configuration before any member":  func(c *reconfigure.Chains, name string) { c.Config(name) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &reconfigure.Chains{Clock: clock.System{}}
				if err := c.Enter(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				steps(c, "a")
				failed := make(chan error, 2)
				for _, name := range []string{"b", "c"} {
					go func() { failed <- c.Enter(t.Context(), name) }()
				}
				for range 2 {
					var e *reconfigure.Entangled
					if err := <-failed; !errors.As(err, &e) || e.Name != "a" || !slices.Equal(e.Waiting, []string{"b", "c"}) {
						t.Errorf("got %v", err)
					}
				}
				if err := c.Enter(t.Context(), "d"); err == nil {
					t.Error("d was let through afterwards")
				}
			})
		})
	}
}

// While a plan is applied nothing is held back, nor if the plan is interrupted.
func TestChainsWhileApplying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &reconfigure.Chains{Clock: clock.System{}}
		if err := c.Enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- c.Enter(ctx, "b") }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		waits := make(chan error, 1)
		go func() { waits <- c.Enter(t.Context(), "c") }()
		synctest.Wait()
		c.Applying()
		if err := <-waits; err != nil {
			t.Errorf("got %v", err)
		}
		if err := c.Enter(t.Context(), "d"); err != nil {
			t.Errorf("got %v", err)
		}
	})
}
