package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAccPlanTry(t *testing.T) {
	f := NewFleet(t, FleetOptions{Founders: []string{"a", "b", "c", "d", "e"}, Static: os.Getenv("TRY_DISC") == ""})
	root, _ := moduleRoot()
	f.Write("user_data_override.tf", fmt.Sprintf(userData, filepath.Join(root, "examples", "cloud-init", "cloud-init.yaml.tftpl")))
	f.rollout("one")
	out := os.Getenv("TRY_OUT")
	put := func(name string, args ...string) {
		text := f.printed(args...)
		t.Logf("%s: %d lines", name, strings.Count(text, "\n"))
		os.WriteFile(out+"/"+name+".txt", []byte(text), 0o644)
	}
	put("create")
	f.Form()
	put("none")
	put("destroy", "-destroy")
	f.want("two")
	put("rolled")
	f.Drop("e")
	f.want("one")
	put("dropped")
	f.Drop("d")
	put("dropped2")
	f.Add("x", "y")
	put("dropped2added2")
}
