package archtest

// Rule says what the packages of one place may import. Everything that it does not
// list is forbidden to them, but the standard library.
type Rule struct {
	// Place is a directory, or with /... behind it a directory and all below. The
	// first rule whose place matches a package is its rule.
	Place string
	// Imports are the places of our own that its source may import, and Third the
	// packages of others.
	Imports, Third []string
	// Tests and TestThird are what its tests may import beside that.
	Tests, TestThird []string
	// Pure is set for a decider: no clock, no input or output, no goroutine.
	Pure bool
	// Because is the reason, for whoever is told that the rule is broken.
	Because string
}

// leaves are the packages that stand at the bottom: names, refusals, bodies.
var leaves = []string{"id", "refusal", "wire"}

// and is leaves with more.
func and(more ...string) []string { return append(append([]string(nil), leaves...), more...) }

// TestThird are the packages of others that any test may import.
var TestThird = []string{
	"pgregory.net/rapid", "github.com/anishathalye/porcupine", "go.uber.org/goleak",
	"github.com/rogpeppe/go-internal/...", "github.com/santhosh-tekuri/jsonschema/v6", "go.yaml.in/yaml/v3",
}

// Rules is the import graph of the project, from the bottom up.
var Rules = []Rule{
	{Place: "id", Third: []string{"github.com/google/uuid"},
		Because: "id is a leaf: everything is named in it, so it knows nothing of what it names"},
	{Place: "refusal",
		Because: "refusal is a leaf: a code means the same to everybody, so it knows nobody"},
	{Place: "wire", Imports: []string{"id", "refusal"}, Third: []string{"github.com/go-json-experiment/json/...", "github.com/google/jsonschema-go/..."},
		Because: "wire is a leaf: both halves of every door import it, so it may know neither"},

	{Place: "board", Imports: leaves, Pure: true,
		Tests:   []string{"internal/control/...", "internal/store/memory"},
		Because: "board decides: what it needs arrives as arguments, so that it can be decided again, tested without a store and trusted by every store"},
	{Place: "machine", Imports: and("board"), Third: []string{"cel.dev/cel-go/...", "go.yaml.in/yaml/v3"}, Pure: true,
		Because: "machine decides: it may know the board that it runs on and no other decider, store or door"},
	{Place: "board/boardtest", Imports: and("agent", "board", "internal/control", "internal/control/boards"), Third: TestThird,
		Tests: []string{"internal/store/memory", "internal/store/postgres", "internal/store/sqlite", "internal/pgtest"}, TestThird: []string{"zombiezen.com/go/sqlite/..."},
		Because: "boardtest holds a store to the contract from outside: it may drive it through control, and must not know a driver"},

	{Place: "agent", Imports: leaves,
		Because: "an agent body is written once, in process or as a program: what it imports must not drag a store or a decider into it"},
	{Place: "agent/agenttest", Imports: and("agent"),
		Because: "agenttest stands in for the system behind an agent's surface, so it must not be that system"},

	{Place: "internal/store/gate", Imports: []string{"refusal"},
		Because: "the gate counts calls and must not know what they do"},
	{Place: "internal/store/migrations",
		Because: "migrations are data: they must not know who runs them"},
	{Place: "internal/store", Imports: []string{"board", "id", "machine"},
		Because: "the contract speaks in the deciders' rows and knows neither driver nor writer"},
	{Place: "internal/store/storetest", Imports: and("board", "internal/store", "internal/store/faults", "internal/control/...", "machine"), Third: TestThird,
		Because: "storetest holds every driver to one contract, so it must not know a driver"},
	{Place: "internal/store/faults", Imports: and("board", "internal/store", "machine"),
		Tests: []string{"board/boardtest", "internal/control/...", "internal/pgtest", "internal/store/..."}, TestThird: []string{"zombiezen.com/go/sqlite/..."},
		Because: "it stands between a writer and any store, so it must not know which, nor a rule of what passes through"},
	{Place: "internal/store/memory", Imports: and("board", "internal/store", "internal/store/gate", "machine"),
		Tests:   []string{"board/boardtest", "internal/store/storetest"},
		Because: "a driver keeps rows: rules live above it, and drivers never see each other"},
	{Place: "internal/store/sqlite", Imports: and("board", "internal/store", "internal/store/gate", "internal/store/migrations", "machine"),
		Third:   []string{"zombiezen.com/go/sqlite/...", "modernc.org/sqlite/...", "github.com/pressly/goose/v3"},
		Tests:   []string{"board/boardtest", "internal/store/storetest"},
		Because: "a driver keeps rows: rules live above it, and drivers never see each other"},
	{Place: "internal/store/postgres", Imports: and("board", "internal/store", "internal/store/gate", "internal/store/migrations", "machine"),
		Third:   []string{"github.com/jackc/pgx/v5/...", "github.com/pressly/goose/v3"},
		Tests:   []string{"board/boardtest", "internal/control/...", "internal/store/storetest", "internal/pgtest"},
		Because: "a driver keeps rows: rules live above it, and drivers never see each other"},
	{Place: "internal/pgtest", Third: []string{"github.com/jackc/pgx/v5/..."},
		Because: "it runs a real PostgreSQL for tests and must not know what the database is used for"},

	{Place: "internal/control/boards", Imports: and("agent", "board", "internal/control", "internal/store"),
		Tests:   []string{"internal/store/memory", "internal/store/sqlite"},
		Because: "an area knows its decider, the pipeline and the store's contract: a driver or another area would give its rules a second home"},
	{Place: "internal/control/machines", Imports: and("agent", "board", "internal/control", "internal/control/boards", "internal/store", "machine"),
		Tests:   []string{"internal/store/memory", "internal/store/sqlite"},
		Because: "an area knows its decider, the pipeline and the store's contract; a machine stands on a board, so this one knows the board's area too"},
	{Place: "internal/control", Imports: and("board"),
		Tests:   []string{"internal/store/memory", "internal/store/sqlite"},
		Because: "the pipeline carries calls and must not know what any area decides, nor which database it is"},

	{Place: "internal/program", Imports: and("agent"), Third: []string{"golang.org/x/sys/unix"},
		Tests:   []string{"agent/agenttest"},
		Because: "a program gets a surface and a summons: what runs it must not know a board, a machine or a store"},
	{Place: "internal/roster", Third: []string{"go.yaml.in/yaml/v3"},
		Because: "the roster reads a file and starts nothing"},
	{Place: "internal/draw", Imports: []string{"wire"},
		Because: "drawing turns nodes and edges into text: whose they are is nobody's business here"},
	{Place: "internal/timeline", Imports: and("machine", "internal/draw"),
		Because: "a timeline is read from entries: it must not know how they are stored or how agents are run"},
	{Place: "internal/runner", Imports: and("agent", "internal/control/...", "internal/timeline", "machine"),
		Tests:   []string{"internal/program", "internal/store/memory", "internal/store/sqlite"},
		Because: "the runner hands out what control claimed: it must not know SQL, nor how a body does its work"},
	{Place: "internal/lockfile", Third: []string{"golang.org/x/sys/unix"},
		Because: "a lock between processes is the same whatever is locked"},
	{Place: "internal/authority", Imports: []string{"id", "internal/lockfile", "refusal"},
		Because: "the authority record is kept outside the store, so what keeps it must not know boards or SQL"},
	{Place: "internal/archtest",
		Because: "what judges the shape must not be part of it"},

	{Place: ".", Imports: and("agent", "board", "internal/...", "machine"),
		Because: "the root assembles a system; commands and examples stand above it"},
	{Place: "internal/sim", Imports: and("agent", "board", "internal/control/...", "internal/store/...", "machine"),
		Tests: []string{"internal/pgtest"}, Third: TestThird,
		Because: "the simulation puts a whole system together, several times over; nobody may stand on it"},
	{Place: "internal/bench", Imports: and(".", "agent", "board", "internal/...", "machine"),
		Third:   []string{"zombiezen.com/go/sqlite/...", "github.com/jackc/pgx/v5/..."},
		Because: "a benchmark drives the system from outside, and its floors drive the databases raw"},
	{Place: "cmd/slate", Imports: and(".", "agent", "board", "internal/control/...", "internal/draw", "internal/program", "internal/roster", "internal/timeline", "machine"),
		Third:   []string{"github.com/alecthomas/kong", "golang.org/x/term", "golang.org/x/sys/unix"},
		Tests:   []string{"internal/..."},
		Because: "a command parses, wires, runs and closes: a door goes through the root and the methods of control, never to a store"},
	{Place: "examples/...", Imports: and("agent", "examples/..."),
		Tests: []string{".", "board", "machine", "internal/..."}, TestThird: []string{"cel.dev/cel-go/..."},
		Because: "an example's agents are what somebody else would write: they see the agent's surface and nothing inside"},
}

// RootIsFor lists who may import the root package.
var RootIsFor = []string{".", "cmd/...", "examples/...", "internal/bench"}

// RuleFor returns the rule of a directory, or nil.
func RuleFor(rules []Rule, dir string) *Rule {
	for i := range rules {
		if matches(rules[i].Place, dir) {
			return &rules[i]
		}
	}
	return nil
}
