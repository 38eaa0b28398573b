// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Independent nodes are planned one after the other, even if the refresh of a
// machine takes minutes before its member is planned.
func TestPlanOrderOfNodesOfTheirOwn(t *testing.T) {
	for _, machine := range []time.Duration{0, 59 * time.Second, 61 * time.Second, memberLimit - time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var o PlanOrder
			done := make(chan string, 3)
			for _, name := range []string{"a", "b", "c"} {
				go func() {
					if err := o.Enter(t.Context(), name); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					time.Sleep(configLimit - time.Second)
					o.Config(name)
					time.Sleep(machine)
					o.Member(name)
					done <- name
				}()
			}
			begin := time.Now()
			for range 3 {
				<-done
			}
			if took := time.Since(begin); took != 3*(configLimit-time.Second+machine) {
				t.Errorf("took %v: they were not planned one after the other", took)
			}
		})
	}
}

// While the provider reads or plans any resource, the plan makes progress.
func TestPlanOrderWaitsForProgress(t *testing.T) {
	for what, configured := range map[string]bool{"etcd_member_config": false, "etcd_member": true} {
		synctest.Test(t, func(t *testing.T) {
			var o PlanOrder
			if err := o.Enter(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			limit := configLimit
			if configured {
				limit = memberLimit
				o.Config("a")
			}
			begin := time.Now()
			got := make(chan error, 1)
			go func() { got <- o.Enter(t.Context(), "b") }()
			for range 5 {
				time.Sleep(limit - time.Second)
				o.progressed()
			}
			var e *NodesDependOnEachOther
			if err := <-got; !errors.As(err, &e) || e.Resource != what || e.Name != "a" {
				t.Errorf("got %v, want that the %s of a was not planned", err, what)
			}
			if took := time.Since(begin); took != 5*(limit-time.Second)+limit {
				t.Errorf("refused after %v", took)
			}
		})
	}
}

// If nothing of the first node is planned while the others wait, all are refused.
func TestPlanOrderOfNodesThatDependOnEachOther(t *testing.T) {
	for name, steps := range map[string]func(*PlanOrder){
		"every rollout before any configuration": func(*PlanOrder) {},
		"every configuration before any member":  func(o *PlanOrder) { o.Config("a") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o PlanOrder
				if err := o.Enter(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				steps(&o)
				failed := make(chan error, 2)
				for _, name := range []string{"b", "c"} {
					go func() { failed <- o.Enter(t.Context(), name) }()
				}
				for range 2 {
					var e *NodesDependOnEachOther
					if err := <-failed; !errors.As(err, &e) || e.Name != "a" || !slices.Equal(e.Waiting, []string{"b", "c"}) {
						t.Errorf("got %v", err)
					}
				}
				if err := o.Enter(t.Context(), "d"); err == nil {
					t.Error("d was let through afterwards")
				}
			})
		})
	}
}

// Nothing is held back during an apply, or after the plan is interrupted.
func TestPlanOrderWhileApplying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o PlanOrder
		if err := o.Enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- o.Enter(ctx, "b") }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := o.Enter(ctx, "b"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		waits := make(chan error, 1)
		go func() { waits <- o.Enter(t.Context(), "c") }()
		synctest.Wait()
		o.StartApply()
		if err := <-waits; err != nil {
			t.Errorf("got %v", err)
		}
		if err := o.Enter(t.Context(), "d"); err != nil || !o.IsApplying() {
			t.Errorf("got %v", err)
		}
	})
}
