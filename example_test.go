package slate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/wire"
)

// A board keeps what anybody writes on it, in one order. A level accumulates; a
// premise is replaced by whoever knows its version.
func ExampleSystem_Create() {
	ctx := context.Background()
	sys, err := slate.Memory(ctx, slate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer sys.Close()

	b, _, err := sys.Create(ctx, wire.CreateBoard{Board: "outage", Regions: []wire.RegionDecl{
		{Name: "facts", Kind: wire.Level},
		{Name: "owner", Kind: wire.Premise},
	}}, board.Callables{})
	if err != nil {
		log.Fatal(err)
	}
	b.WriteLevel(ctx, "ann", wire.LevelWrite{Region: "facts", Content: json.RawMessage(`"the disk is full"`)})
	b.WritePremise(ctx, "bob", wire.PremiseWrite{Region: "owner", Expect: 0, Content: json.RawMessage(`"bob"`)})
	late, err := b.WritePremise(ctx, "cid", wire.PremiseWrite{Region: "owner", Expect: 0, Content: json.RawMessage(`"cid"`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(late.Refusal().Code)

	page, err := b.Changes(ctx, wire.Page{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range page.Entries {
		fmt.Println(e.Seq, e.Region, e.Writer, string(e.Content))
	}
	// Output:
	// CONFLICT
	// 1 facts ann "the disk is full"
	// 2 owner bob "bob"
}

// A machine asks its agents for what its states require, and moves on when it is
// there. Here the agents are functions; slate run starts programs instead.
func ExampleSystem_RunMachine() {
	ctx := context.Background()
	def, err := machine.Load("greeting.yaml", []byte(`
fsm:
  name: greeting
  version: 1
  initialState: ask
  context:
    name:     { type: string }
    greeting: { type: string }
  agents:
    asker:   { canTransition: [ask] }
    greeter: { canTransition: [greet] }
  states:
    ask:
      description: "Say who is to be greeted."
      requires:
        - { name: name, from: { agent: asker } }
      transitions:
        - { toState: greet, guards: [ { backend: cel, expression: "context.name != ''" } ] }
    greet:
      description: "Greet {{ context.name }}."
      requires:
        - { name: greeting, from: { agent: greeter } }
      transitions:
        - { toState: done }
    done: { description: "Greeted.", terminal: true }
  policy: { maxIterations: 3, maxExchangesPerStage: 10, maxExchangesPerAgentPerStage: 5, checkpointEvery: 5 }
`))
	if err != nil {
		log.Fatal(err)
	}
	sys, err := slate.Memory(ctx, slate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer sys.Close()

	result, err := sys.RunMachine(ctx, slate.RunOptions{
		Machine: def,
		Agents: map[string]slate.Agent{
			"asker": {Body: func(ctx context.Context, s *wire.Summons, b agent.Surface) error {
				_, err := b.UpdateContext(ctx, "name", "Ada")
				return err
			}},
			"greeter": {Body: func(ctx context.Context, s *wire.Summons, b agent.Surface) error {
				fmt.Println("the greeter is asked:", s.Objective)
				_, err := b.UpdateContext(ctx, "greeting", "Good day, Ada.")
				return err
			}},
		},
		Observe: func(e slate.Event) {
			if e.Kind == "fired" {
				fmt.Println("the machine goes from", e.State, "to", e.To)
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ended in", result.End.State)

	run, err := sys.Board("greeting").Replay(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	greeting, _ := run.Field("greeting")
	fmt.Println(string(greeting.Value), "by", greeting.Entries[0].Writer)
	// Output:
	// the machine goes from ask to greet
	// the greeter is asked: Greet Ada.
	// the machine goes from greet to done
	// ended in done
	// "Good day, Ada." by greeter
}

// An agent sees one board without its own name: what it writes is under it, and it is
// told when others have written.
func ExampleBoard_As() {
	ctx := context.Background()
	sys, err := slate.Memory(ctx, slate.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer sys.Close()
	b, _, err := sys.Create(ctx, wire.CreateBoard{Board: "plan",
		Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}, {Name: "goal", Kind: wire.Premise}},
		Agents:  []wire.AgentDecl{{Name: "planner"}, {Name: "reader"}},
	}, board.Callables{Notify: map[string]board.Notifier{
		"reader": func(_ context.Context, n wire.Notification) error {
			fmt.Println("the reader is told of", n.Regions)
			return nil
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	planner := b.As("planner")
	if _, err := planner.WritePremise(ctx, wire.PremiseWrite{Region: "goal", Content: json.RawMessage(`"ship"`)}); err != nil {
		log.Fatal(err)
	}
	goal, err := b.As("reader").Premise(ctx, "goal")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(goal.Value), "by", goal.Writer)
	// Output:
	// the reader is told of [goal]
	// "ship" by planner
}
