// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/scenario"
)

// runner runs the steps of a scenario in a simulated world. The first word of a step says what it
// is, see steps. A command must succeed, unless what comes of it stands after " => ". An address
// may be short: machine[a] is machine.node["a"]. $x is what a step "let x" has noted.
//
// In a judged scenario an oracle looks at every request. Commands may fail there, faults meet
// them, and a step that does not fit the moment does nothing, so that a shorter scenario is one, too.
type runner struct {
	*operator
	dir         *directory // the one in which commands run
	directories map[string]*directory
	vars        map[string]string
	was         map[string]uint64 // the members at the last mark
	before      []*pb.Member      // the members before the last command
	// said, actions and took are of the last command, kept is what was said before, and
	// planned is the last plan. tries says that a command may fail.
	said    driver.Result
	kept    driver.Result
	tries   bool
	actions []string
	took    time.Duration
	planned *driver.Plan
	prints  []string // what must be run
	parts   map[string][]string
	of      *etcdsim.Cluster // at the last mark
	other   *etcdsim.Process // a member of another cluster
	token   *tokenWorld
	beats   *beats
	calm    func() // ends a watch
	// kind is which of the kinds this scenario is run with. A step "KIND: STEP" is of one kind,
	// "!KIND: STEP" of all others.
	kind  string
	kinds []string
	// seen is a value that a step has read. counted are the requests before the last "since",
	// and sent those since then, by method and address.
	seen    tftypes.Value
	counted int
	sent    map[string]int
	// progress is that of an action, and then a step for when it begins with the words of when.
	progress, when, then string
	laters               int
	// states put states back that were kept, by name.
	states map[string]driver.Backup

	trial
}

// directory is a working directory of Terraform. Its configuration is a cluster of nodes, each
// with a machine and a member.
type directory struct {
	ws       *driver.Workspace
	names    []string
	learners map[string]bool
	image    string
	version  string
	rebuilt  map[string]any
	address  map[string]string // what the host of a node has after its name
	after    string            // replace_unreachable_after
	gone     []any             // restore, unless it is nil, in place of a cluster
	replaces string
	more     driver.Values // arguments of the etcd_cluster
	apart    string        // a name that has blocks of its own
	// arguments are those of a learner.
	arguments map[string]driver.Values
	// unmanaged says that the machines were there before, with their user data.
	unmanaged bool
	// first are the members that have create_before_destroy: "on" for all, or a name.
	first string
	// machine are the names of the machines whose IDs members have in place of those of their own.
	machine map[string]string
}

// createsFirst reports whether a resource has create_before_destroy.
func (d *directory) createsFirst(r driver.Resource) bool {
	return r.Type == "etcd_member" && (d.first == "on" || d.first != "" && d.first == r.Name)
}

func newDirectory(ws *driver.Workspace, image string) *directory {
	return &directory{
		ws: ws, image: image, more: driver.Values{}, learners: map[string]bool{}, rebuilt: map[string]any{},
		address: map[string]string{}, arguments: map[string]driver.Values{}, machine: map[string]string{},
	}
}

// scenariosIn are the scenarios of a file below testdata.
func scenariosIn(t *testing.T, file string) []scenario.Scenario {
	t.Helper()
	return scenario.Read(t, "testdata/"+file)
}

// runFile runs the scenarios of a file, each with each of the kinds, if there are any.
func runFile(t *testing.T, file string, kinds ...string) {
	t.Parallel()
	for _, c := range scenariosIn(t, file) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if len(kinds) == 0 {
				runScenario(t, c, "", nil)
			}
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					runScenario(t, c, kind, kinds)
				})
			}
		})
	}
}

// runScenario runs a scenario. What it does not expect, or what must not happen, fails the test.
func runScenario(t *testing.T, c scenario.Scenario, kind string, kinds []string) {
	t.Helper()
	// A cluster that was made without the provider is there from the start.
	verb, names, _ := strings.Cut(c.Steps[0], " ")
	if !slices.Contains([]string{"existing", "existing-members", "existing-nodes", "imported", "existing-cluster"},
		verb) {
		names = ""
	}
	dir := t.TempDir()
	simulate(t, c.Seed, names, func(w *world) {
		if names == "" {
			w.network.MaxLearners = 2 // one is a standby learner
		}
		s := newRunner(w)
		s.parts, s.kind, s.kinds = c.Parts, kind, kinds
		s.vars["kind"], s.vars["dir"] = kind, dir
		if c.Judged {
			s.judge()
		}
		for _, step := range c.Steps {
			if s.do(step); s.over() {
				w.Fatalf("at: %s", step)
			}
		}
		for _, p := range s.prints {
			if _, verb, _ := strings.Cut(p, ": "); !s.ran[verb] {
				t.Errorf("%s was not run", p)
			}
		}
	})
}

// newRunner begins without a cluster of its own.
func newRunner(w *world) *runner {
	s := &runner{
		operator: &operator{site: newSite(w), ran: map[string]bool{}}, directories: map[string]*directory{},
		states: map[string]driver.Backup{}, vars: map[string]string{"zeros": strings.Repeat("0", 64)},
		beats: &beats{open: map[string]*open{}, claims: map[string]claim.Entry{}},
	}
	s.use("main", s.ws)
	return s
}

// do runs a step of the scenario.
func (s *runner) do(step string) {
	s.Helper()
	step = strings.TrimSpace(step)
	s.steps = append(s.steps, step)
	calls, commands, faults := s.calls, s.commands, s.faultsPrepared()
	if s.run(step); s.oracle == nil {
		return
	}
	if s.commands == commands {
		faults = nil
	}
	s.coverage.add(kindsOf(step), faults)
	// All members may wait for ten minutes in each command, each for all others.
	most := 1_000 * max(25, len(s.wanted())*len(s.wanted()))
	if n := s.calls - calls; n > most*max(1, s.commands-commands) {
		s.oracle.wrong(step, "%d requests: something polls", n)
	}
}

// run runs a step, which may be a part of another one.
func (s *runner) run(step string) {
	s.Helper()
	only, rest, _ := strings.Cut(step, ": ")
	if kind, others := strings.CutPrefix(only, "!"); slices.Contains(s.kinds, kind) {
		if step = rest; (kind == s.kind) == others {
			return
		}
	}
	step = s.filled(step)
	verb, rest, _ := strings.Cut(step, " ")
	does, is := steps()[verb]
	if !is {
		s.Fatalf("%q is no step", verb)
	}
	does.run(s, strings.TrimSpace(rest))
}

// filled is a step with what is noted.
func (s *runner) filled(step string) string {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.vars))) { // $ab is not $a
		step = strings.ReplaceAll(step, "$"+name, s.vars[name])
	}
	return step
}

// step is a kind of step.
type step struct {
	// args are what follows its first word, and does is what it does, for the page of package scenario.
	args, does string
	run        func(s *runner, rest string)
}

// stepKinds are the steps by what they concern, with the titles of the page.
func stepKinds() []stepKind {
	return []stepKind{
		{"Configuration", configurationSteps},
		{"State", stateSteps},
		{"Commands", commandSteps},
		{"Outside of Terraform", outsideSteps},
		{"Faults of a judged scenario", faultSteps},
		{"What is expected", expectSteps},
		{"Other calls of the provider, servers and values", callSteps},
		{"Discovery tokens", tokenSteps},
		{"Heartbeats", heartbeatSteps},
		{"Files", fileSteps},
	}
}

type stepKind struct {
	title string
	steps map[string]step
}

// steps are all steps, by their first words.
var steps = sync.OnceValue(func() map[string]step {
	all := map[string]step{}
	for _, kind := range stepKinds() {
		for verb, does := range kind.steps {
			if _, is := all[verb]; is {
				panic(verb + " has two meanings")
			}
			all[verb] = does
		}
	}
	return all
})

// use runs commands in another directory from now on.
func (s *runner) use(name string, ws *driver.Workspace) {
	if s.directories[name] == nil {
		if ws == nil {
			ws = driver.New(s, driver.Values{})
			ws.Machines = s.fleet
		}
		s.directories[name] = newDirectory(ws, "one")
	}
	s.dir = s.directories[name]
	s.ws = s.dir.ws
}

// configure writes the configuration of the directory.
func (s *runner) configure() {
	d := s.dir
	if s.two != nil {
		s.configureSecond()
	}
	if len(d.names) == 0 {
		for _, r := range s.ws.Resources {
			if r.Type == "machine" {
				r.Values["image"] = d.image
			}
		}
		return
	}
	s.ws.Resources = clusterOf(strings.Join(d.names, " "), d.image)
	maps.Copy(s.ws.Resources[0].Values, d.more)
	s.set("members", d.members(s.ws.Resources[0].Values["members"]))
	if len(d.rebuilt) > 0 {
		s.set("rebuild", d.rebuilt)
	}
	if d.after != "" {
		s.set("replace_unreachable_after", d.after)
	}
	if d.version != "" {
		s.set("version", d.version)
	}
	if d.gone != nil {
		s.set("restore", restoreOf(d.replaces, d.gone...))
	}
	if name := d.apart; name != "" {
		last := s.ws.Resources[len(s.ws.Resources)-2:]
		last[0].Name, last[1].Name = name, name
		last[1].Values["machine_id"] = driver.Ref{Resource: "machine." + name, Attribute: "id"}
	}
	for i, r := range s.ws.Resources {
		name := nodeNamed(r.Address())
		switch {
		case d.version != "" && r.Type == "machine":
			r.Values["version"] = driver.Ref{Resource: thisCluster, Attribute: "node." + name + ".version"}
		case d.learners[name] && r.Type == "etcd_member":
			r.Type = "etcd_learner"
			maps.Copy(r.Values, d.arguments[name])
		}
		if d.unmanaged && r.Type == "machine" {
			delete(r.Values, "user_data")
			r.ReplacedBy = nodeOfMachine(r)
		}
		if of := d.machine[name]; slices.Contains(d.names, of) && r.Type != "machine" && name != "" {
			r.Values["machine_id"] = driver.Ref{Resource: machineOf(of), Attribute: "id"}
		}
		r.CreateBeforeDestroy = r.CreateBeforeDestroy || d.createsFirst(r)
		for _, m := range s.ws.Moved {
			r = moves(r, m)
		}
		s.ws.Resources[i] = r
	}
}

// members are the arguments of the nodes.
func (d *directory) members(of any) map[string]any {
	given, _ := of.(map[string]any)
	out := maps.Clone(given)
	for _, name := range d.names {
		v, _ := out[name].(driver.Values)
		if v = maps.Clone(v); d.address[name] != "" {
			host := "http://" + name + d.address[name] + ".example:"
			v["peer_urls"], v["client_urls"] = []any{host + "2380"}, []any{host + "2379"}
		}
		if d.learners[name] {
			v["learner"] = true
		}
		if out[name] != nil {
			out[name] = v
		}
	}
	return out
}

// moves is a resource after a move of it, or of what it refers to.
func moves(r driver.Resource, m driver.Moved) driver.Resource {
	to := func(at string) string {
		if rest, is := strings.CutPrefix(at, m.From); is && (rest == "" || rest[0] == '[') {
			return m.To + rest
		}
		return at
	}
	ref := func(r driver.Ref) driver.Ref { return driver.Ref{Resource: to(r.Resource), Attribute: r.Attribute} }
	var in func(v any) any
	in = func(v any) any {
		switch v := v.(type) {
		case driver.Ref:
			return ref(v)
		case driver.JSON:
			return driver.JSON(ref(driver.Ref(v)))
		case driver.Values:
			for name := range v {
				v[name] = in(v[name])
			}
		}
		return v
	}
	in(r.Values)
	r.Name = strings.TrimPrefix(to(r.Address()), r.Type+".")
	for i := range r.ReplacedBy {
		r.ReplacedBy[i] = ref(r.ReplacedBy[i])
	}
	for i := range r.After {
		r.After[i] = to(r.After[i])
	}
	return r
}

// address is an address that may be short.
func address(word string) string { return scenario.Address(word, "machine.node") }

func addresses(words string) (out []string) {
	for _, word := range strings.Fields(words) {
		out = append(out, address(word))
	}
	return out
}

// command runs a command, of which a step may say what comes of it, see [runner.comes].
func (s *runner) command(rest string,
	run func(ctx context.Context, opts []driver.Option) (*driver.Plan, driver.Result)) {
	s.Helper()
	typed, want := scenario.Divide(rest)
	ctx, end := s.begin()
	begin := time.Now()
	plan, r := run(ctx, s.options(addresses(typed)))
	s.took, s.actions = time.Since(begin), plan.Actions()
	end(r)
	s.comes(r, want)
}

// comes fails the test unless a result is as it should be: it has the words of an error after
// "=>", or after "==" the actions of the plan and all that is said, or else no error.
func (s *runner) comes(r driver.Result, want string) {
	s.Helper()
	s.said = r
	words, fails := strings.CutPrefix(want, " => ")
	all, exact := strings.CutPrefix(want, " == ")
	switch {
	case s.tries || s.oracle != nil && want == "":
	case fails:
		s.fails(want, r, strings.Split(words, " & ")...)
	case exact:
		var did []string
		for _, a := range s.actions {
			did = append(did, strings.Fields(a)[0])
		}
		if got := strings.Trim(strings.Join(slices.Compact(did), ", ")+": "+summaries(r), ": "); got != all {
			s.Errorf("it comes to %q, want %q: %v", got, all, r)
		}
	default:
		s.ok(r)
	}
}

// value is a value in JSON, see [driver.FromJSON].
func (s *runner) value(text string) any {
	s.Helper()
	v, err := driver.FromJSON(text)
	s.must(err)
	return v
}

// resource is a resource of the configuration.
func (s *runner) resource(at string) *driver.Resource {
	s.Helper()
	i := slices.IndexFunc(s.ws.Resources, func(r driver.Resource) bool { return r.Address() == at })
	if i < 0 {
		s.Fatalf("the configuration has no %s", at)
	}
	return &s.ws.Resources[i]
}

// noted is what "let" notes.
func (s *runner) noted(what string) string {
	s.Helper()
	kind, of, _ := strings.Cut(what, " ")
	switch kind {
	case "cluster":
		return s.id()
	case "listed": // the ID of the member at the usual peer URL of a name
		for _, m := range s.cluster.Members() {
			if slices.Contains(m.PeerURLs, etcdsim.PeerURL(of)) {
				return fmt.Sprintf("%x", m.ID)
			}
		}
	case "runs":
		return s.clusterID()
	case "member":
		return fmt.Sprintf("%x", s.ids()[of])
	case "statement":
		return s.statement()
	case "state":
		hash := fnv.New64()
		_, _ = hash.Write([]byte(s.ws.State(address(of)).Value.String()))
		return fmt.Sprintf("%x", hash.Sum64())
	case "file":
		return hashOf(of)
	case "stranger":
		return fmt.Sprintf("%x", s.clusterAt(s.other))
	case "token":
		return s.tokenID()
	case "seen":
		return driver.Attribute(s.seen, strings.Split(of, ".")...)
	case "attribute":
		words := strings.Fields(of)
		return driver.Attribute(s.ws.State(address(words[0])).Value, words[1:]...)
	}
	s.Fatalf("let cannot note %s", what)
	return ""
}

// TestRules shows the rules of safety.md.
func TestRules(t *testing.T) { runFile(t, "rules.txt") }

// TestAttacks shows what took healthy clusters, and what must pass beside it.
func TestAttacks(t *testing.T) { runFile(t, "attacks.txt") }

// TestBadDays shows what holds on bad days.
func TestBadDays(t *testing.T) { runFile(t, "days.txt") }

// TestRestores shows what a restore and its withdrawal do.
func TestRestores(t *testing.T) { runFile(t, "restores.txt") }

// TestAnotherCluster shows that nothing takes the machines of a cluster that nothing names.
func TestAnotherCluster(t *testing.T) { runFile(t, "another.txt") }

// TestImports shows what becomes of clusters and members that a state does not have.
func TestImports(t *testing.T) { runFile(t, "imports.txt") }

// TestDeadEnds shows the ways out of what seems to have none.
func TestDeadEnds(t *testing.T) { runFile(t, "deadends.txt") }

// TestNodes shows what members with nodes follow.
func TestNodes(t *testing.T) { runFile(t, "nodes.txt") }

// TestPendingPeerURLs shows what ends a change of peer URLs.
func TestPendingPeerURLs(t *testing.T) { runFile(t, "peerurls.txt") }

// TestInput shows what is said of input that only the cluster can detect.
func TestInput(t *testing.T) { runFile(t, "input.txt") }

// TestHostile shows what hostile members and odd names can do: nothing.
func TestHostile(t *testing.T) { runFile(t, "hostile.txt") }

// TestReads shows what the data source etcd_cluster and the action etcd_defragment do.
func TestReads(t *testing.T) { runFile(t, "reads.txt") }

// TestQuorumLostIsRefusedSoon shows what a plan and an apply without a quorum cost.
func TestQuorumLostIsRefusedSoon(t *testing.T) { runFile(t, "quorumlost.txt", "off", "frozen") }

// TestRestartIsNoLossOfQuorum shows what the restart of a majority does to an apply, whenever it
// begins.
func TestRestartIsNoLossOfQuorum(t *testing.T) { runFile(t, "restarts.txt", "0s", "700ms", "1400ms") }

// TestMachinesStartAgain shows what becomes of machines that lose their data.
func TestMachinesStartAgain(t *testing.T) { runFile(t, "machines.txt") }
