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
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdsim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// script is what a person does and sees, told by lines: a case of a file below testdata. The
// first word of a line says what happens, see phrases. What stands after " => " are the words
// of the error that a command must fail with, which a command without them must not. An
// address may be short: machine[a] is machine.node["a"]. $x is what a line "let x" has noted.
type script struct {
	*walker
	space  *space // the one that is typed in
	spaces map[string]*space
	vars   map[string]string
	was    map[string]uint64 // the members at the last mark
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
	other   *etcdsim.Process
	token   *tokenWorld
	beats   *beats
	calm    func() // ends a watch
	// kind is which of the kinds this case is played with. A line "KIND: LINE" is of one kind,
	// "!KIND: LINE" of all others.
	kind  string
	kinds []string
	// seen is a value that a line has read. counted are the requests before the last "since",
	// and sent those since then, by method and address.
	seen    tftypes.Value
	counted int
	sent    map[string]int
	// progress is that of an action, and then a line for when it begins with the words of when.
	progress, when, then string
	laters               int
	// states put states back that were kept, by name.
	states map[string]func()
}

// space is a directory of Terraform. Its configuration is a cluster of nodes, with more
// arguments than those of clusterOf.
type space struct {
	ws    *driver.Workspace
	names string
	image string
	more  driver.Values
	apart string // a name that has blocks of its own
	// learner is the last name, if it is a learner with these arguments.
	learner   string
	arguments driver.Values
	// unmanaged says that the machines were there before, with their user data.
	unmanaged bool
}

// scriptCase is a case of a file, which begins with "== NAME".
type scriptCase struct {
	name  string
	lines []string
	parts map[string][]string // of the file, which cases play; they begin with "-- NAME"
}

// casesIn reads a file below testdata. Before the first case is what the file is about.
func casesIn(t *testing.T, file string) (out []scriptCase) {
	t.Helper()
	parts, part := map[string][]string{}, ""
	for line := range strings.Lines(must.Read(t, "testdata/"+file)) {
		line = strings.TrimSpace(line)
		if name, begins := strings.CutPrefix(line, "== "); begins {
			out, part = append(out, scriptCase{name: name, parts: parts}), ""
		} else if name, begins := strings.CutPrefix(line, "-- "); begins {
			part = name
		} else if part != "" && line != "" && line[0] != '#' {
			parts[part] = append(parts[part], line)
		} else if len(out) > 0 && line != "" && line[0] != '#' {
			out[len(out)-1].lines = append(out[len(out)-1].lines, line)
		}
	}
	return out
}

// tell plays the cases of a file, each with each of the kinds, if there are any.
func tell(t *testing.T, file string, kinds ...string) {
	t.Parallel()
	for _, c := range casesIn(t, file) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if len(kinds) == 0 {
				c.play(t, "", nil)
			}
			for _, kind := range kinds {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					c.play(t, kind, kinds)
				})
			}
		})
	}
}

// play plays a case.
func (c scriptCase) play(t *testing.T, kind string, kinds []string) {
	// A cluster that was made without the provider is there from the start.
	verb, names, _ := strings.Cut(c.lines[0], " ")
	if !slices.Contains([]string{"found", "taken", "estate", "adopted", "cluster"}, verb) {
		names = ""
	}
	dir := t.TempDir()
	simulate(t, 1, names, func(w *world) {
		if names == "" {
			w.network.MaxLearners = 2 // one is a standby learner
		}
		s := newScript(w)
		s.parts, s.kind, s.kinds = c.parts, kind, kinds
		s.vars["dir"], s.vars["kind"] = dir, kind
		for _, line := range c.lines {
			if s.play(line); w.Failed() {
				w.Fatalf("at: %s", line)
			}
		}
		for _, p := range s.prints {
			if _, verb, _ := strings.Cut(p, ": "); !s.ran[verb] {
				t.Errorf("%s was not run", p)
			}
		}
	})
}

// newScript begins without a cluster of its own.
func newScript(w *world) *script {
	s := &script{
		walker: &walker{site: newSite(w), ran: map[string]bool{}}, spaces: map[string]*space{},
		states: map[string]func(){}, vars: map[string]string{"zeros": strings.Repeat("0", 64)},
		beats: &beats{open: map[string]*open{}, claims: map[string]claim.Entry{}},
	}
	s.use("main", s.ws)
	return s
}

// play plays a line.
func (s *script) play(line string) {
	s.Helper()
	only, rest, _ := strings.Cut(line, ": ")
	if kind, others := strings.CutPrefix(only, "!"); slices.Contains(s.kinds, kind) {
		if line = rest; (kind == s.kind) == others {
			return
		}
	}
	line = s.filled(line)
	verb, rest, _ := strings.Cut(line, " ")
	for _, some := range allPhrases() {
		if do := some[verb]; do != nil {
			do(s, strings.TrimSpace(rest))
			return
		}
	}
	s.Fatalf("%q is no phrase", verb)
}

// filled is a line with what is noted.
func (s *script) filled(line string) string {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(s.vars))) { // $ab is not $a
		line = strings.ReplaceAll(line, "$"+name, s.vars[name])
	}
	return line
}

// allPhrases are the phrases of each file.
func allPhrases() []map[string]func(*script, string) {
	return []map[string]func(*script, string){phrases, checks, calls, tokenPhrases, beatPhrases, filePhrases}
}

// A word has one meaning in all scripts.
func TestPhrasesHaveOneMeaning(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, some := range allPhrases() {
		for word := range some {
			if known[word] {
				t.Errorf("%q has two meanings", word)
			}
			known[word] = true
		}
	}
}

// use types in another space from now on.
func (s *script) use(name string, ws *driver.Workspace) {
	if s.spaces[name] == nil {
		if ws == nil {
			ws = driver.New(s, driver.Values{})
			ws.Machines = s.fleet
		}
		s.spaces[name] = &space{ws: ws, image: "one", more: driver.Values{}}
	}
	s.space = s.spaces[name]
	s.ws = s.space.ws
}

// configure writes the configuration of the space.
func (s *script) configure() {
	if s.space.names == "" {
		for _, r := range s.ws.Resources {
			if r.Type == "machine" {
				r.Values["image"] = s.space.image
			}
		}
		return
	}
	s.ws.Resources = clusterOf(s.space.names, s.space.image)
	maps.Copy(s.ws.Resources[0].Values, s.space.more)
	if name := s.space.apart; name != "" {
		last := s.ws.Resources[len(s.ws.Resources)-2:]
		last[0].Name, last[1].Name = name, name
		last[1].Values["machine_id"] = driver.Ref{Resource: "machine." + name, Attribute: "id"}
	}
	if last := &s.ws.Resources[len(s.ws.Resources)-1]; s.space.learner != "" && nodeNamed(last.Address()) == s.space.learner {
		last.Type = "etcd_learner"
		maps.Copy(last.Values, s.space.arguments)
		wanted, _ := s.ws.Resources[0].Values["members"].(map[string]any)
		wanted[s.space.learner] = maps.Clone(wanted[s.space.learner].(driver.Values))
		wanted[s.space.learner].(driver.Values)["learner"] = true
	}
	for i, r := range s.ws.Resources {
		for _, m := range s.ws.Moved {
			r = moves(r, m)
		}
		s.ws.Resources[i] = r
	}
	if s.space.unmanaged {
		for i, r := range s.ws.Resources {
			if r.Type == "machine" {
				delete(r.Values, "user_data")
				s.ws.Resources[i].ReplacedBy = []driver.Ref{{Resource: thisCluster, Attribute: fmt.Sprint("node.", r.Values["name"], ".id")}}
			}
		}
	}
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
func address(word string) string {
	for short, typ := range map[string]string{"machine[": "machine", "member[": "etcd_member", "learner[": "etcd_learner"} {
		if before, name, is := strings.Cut(word, short); is {
			return before + typ + `.node["` + strings.TrimSuffix(name, "]") + `"]`
		}
	}
	if before, is := strings.CutSuffix(word, "cluster"); is && (before == "" || strings.HasSuffix(before, "=")) {
		return before + thisCluster
	}
	return word
}

func addresses(words string) (out []string) {
	for _, word := range strings.Fields(words) {
		out = append(out, address(word))
	}
	return out
}

// command runs a command, of which a line may say what comes of it, see [script.comes].
func (s *script) command(rest string, run func(ctx context.Context, opts []driver.Option) (*driver.Plan, driver.Result)) {
	s.Helper()
	typed, want := divided(rest)
	var opts []driver.Option
	for _, o := range addresses(typed) {
		opts = append(opts, driver.Option(o))
	}
	begin := time.Now()
	plan, r := run(s.Context(), opts)
	s.took, s.actions = time.Since(begin), plan.Actions()
	s.comes(r, want)
}

// divided divides a line into what is typed and what comes of it.
func divided(line string) (typed, want string) {
	for _, sign := range []string{" => ", " == "} {
		if before, after, is := strings.Cut(" "+line+" ", sign); is {
			return strings.TrimSpace(before), sign + strings.TrimSpace(after)
		}
	}
	return line, ""
}

// comes fails the test unless a result is as it should be: it has the words of an error after
// "=>", or after "==" the actions of the plan and all that is said, or else no error.
func (s *script) comes(r driver.Result, want string) {
	s.Helper()
	s.said = r
	words, fails := strings.CutPrefix(want, " => ")
	all, exact := strings.CutPrefix(want, " == ")
	switch {
	case s.tries:
	case fails:
		s.fails(want, r, strings.Split(words, " & ")...)
	case exact:
		var did []string
		for _, a := range s.actions {
			did = append(did, strings.Fields(a)[0])
		}
		if got := strings.Trim(strings.Join(slices.Compact(did), ", ")+": "+told(r), ": "); got != all {
			s.Errorf("it comes to %q, want %q: %v", got, all, r)
		}
	default:
		s.ok(r)
	}
}

// value is a value in JSON, see [driver.FromJSON].
func (s *script) value(text string) any {
	s.Helper()
	v, err := driver.FromJSON(text)
	s.must(err)
	return v
}

// resource is a resource of the configuration.
func (s *script) resource(at string) *driver.Resource {
	s.Helper()
	i := slices.IndexFunc(s.ws.Resources, func(r driver.Resource) bool { return r.Address() == at })
	if i < 0 {
		s.Fatalf("the configuration has no %s", at)
	}
	return &s.ws.Resources[i]
}

// noted is what "let" notes.
func (s *script) noted(what string) string {
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
func TestRules(t *testing.T) { tell(t, "rules.txt") }

// TestAttacks shows what took healthy clusters, and what must pass beside it.
func TestAttacks(t *testing.T) { tell(t, "attacks.txt") }

// TestBadDays shows what holds on bad days.
func TestBadDays(t *testing.T) { tell(t, "days.txt") }

// TestRestores shows what a restore and its withdrawal do.
func TestRestores(t *testing.T) { tell(t, "restores.txt") }

// TestAnotherCluster shows that nothing takes the machines of a cluster that nothing names.
func TestAnotherCluster(t *testing.T) { tell(t, "another.txt") }

// TestImports shows what becomes of clusters and members that a state does not have.
func TestImports(t *testing.T) { tell(t, "imports.txt") }

// TestDeadEnds shows the ways out of what seems to have none.
func TestDeadEnds(t *testing.T) { tell(t, "deadends.txt") }

// TestNodes shows what members with nodes follow.
func TestNodes(t *testing.T) { tell(t, "nodes.txt") }

// TestPendingPeerURLs shows what ends a change of peer URLs.
func TestPendingPeerURLs(t *testing.T) { tell(t, "peerurls.txt") }

// TestInput shows what is said of input that only the cluster can detect.
func TestInput(t *testing.T) { tell(t, "input.txt") }

// TestHostile shows what hostile members and odd names can do: nothing.
func TestHostile(t *testing.T) { tell(t, "hostile.txt") }

// TestReads shows what the data source etcd_cluster and the action etcd_defragment do.
func TestReads(t *testing.T) { tell(t, "reads.txt") }

// TestQuorumLostIsRefusedSoon shows what a plan and an apply without a quorum cost.
func TestQuorumLostIsRefusedSoon(t *testing.T) { tell(t, "quorumlost.txt", "off", "frozen") }

// TestRestartIsNoLossOfQuorum shows what the restart of a majority does to an apply, whenever it
// begins.
func TestRestartIsNoLossOfQuorum(t *testing.T) { tell(t, "restarts.txt", "0s", "700ms", "1400ms") }

// TestMachinesStartAgain shows what becomes of machines that lose their data.
func TestMachinesStartAgain(t *testing.T) { tell(t, "machines.txt") }
