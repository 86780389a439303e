package machines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/machine"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// target is the board that a call acts on.
type target struct{ ref id.Ref }

func (t target) Wants() []board.Want {
	return []board.Want{{Ref: t.ref, Areas: []string{store.MachineArea}}}
}

// begin returns the board, and the machine run on it if there is one.
func (t target) begin(turn *control.Turn) (*board.State, *held) {
	return turn.Board(t.ref), turn.Area(store.MachineArea, t.ref).(*held)
}

// running is begin for a call that needs a run: of a machine, and open.
func (t target) running(turn *control.Turn) (*board.State, *held, *refusal.Refusal) {
	st, h := t.begin(turn)
	if !st.Found() {
		return nil, nil, st.Open(turn.Env)
	}
	if h.run == nil {
		return nil, nil, refusal.New(refusal.NoMachine, string(t.ref.Board), "no machine runs on board %q", t.ref.Board).
			WithFix("open one with slate run")
	}
	return st, h, st.Open(turn.Env)
}

// take puts what the reducer decided on the board: its records, in order and with
// the positions it gave them, a checkpoint when it is time for one, and the run's
// outcome when it ended.
func (t target) take(turn *control.Turn, st *board.State, h *held, step machine.Step) error {
	for _, r := range step.Records {
		e, err := st.Put(turn.Env, r.Region, r.Writer, r.Key, r.Content, r.Blobs)
		if err != nil {
			return fmt.Errorf("machines: %w", err)
		}
		if e.Seq != r.Seq {
			return fmt.Errorf("machines: the board gave position %d to what the reducer numbered %d", e.Seq, r.Seq)
		}
	}
	if step.Checkpoint || step.Ended != nil {
		h.change.Checkpoint = &store.Checkpoint{Seq: h.run.Position(), Body: h.run.Checkpoint()}
	}
	st.Touch()
	end := step.Ended
	switch {
	case end == nil:
	case end.Terminal:
		st.Finish(turn.Env, wire.Settled, "", step.Unfinished)
	default:
		st.Finish(turn.Env, wire.Aborted, end.Reason, nil)
	}
	return nil
}

// open starts a machine on a new board, or joins the one that runs there.
type open struct {
	target
	def    *machine.Definition
	limits wire.RunLimits
	by     string
}

// Opened says what opening a machine came to.
type Opened struct {
	// Run is the board's run; Joined is set when the machine was there already.
	Run    int64
	Joined bool
	// Ended is set when the machine had ended before.
	Ended *machine.End
}

func (c open) Decide(turn *control.Turn) (any, error) {
	st, h := c.begin(turn)
	if h.run != nil {
		if have := h.run.Definition().Digest(); have != c.def.Digest() {
			return nil, refusal.New(refusal.MachineDiffers, string(c.ref.Board),
				"board %q runs machine %q version %d with digest %.12s; this document has digest %.12s",
				c.ref.Board, h.run.Definition().Name, h.run.Definition().Version, have, c.def.Digest()).
				WithFix("move the run to this document with slate machine migrate, or run it on another board")
		}
		return Opened{Run: st.Row().Runs, Joined: true, Ended: h.run.Ended()}, nil
	}
	if st.Found() {
		return nil, refusal.New(refusal.BoardExists, string(c.ref.Board), "board %q exists and no machine runs on it", c.ref.Board).
			WithFix("run the machine on another board")
	}
	create := wire.CreateBoard{Board: c.ref.Board, Limits: c.limits, Writer: c.by}
	for _, r := range c.def.Regions() {
		create.Regions = append(create.Regions, wire.RegionDecl{Name: r.Name, Kind: r.Kind, Window: r.Window, Owner: r.Owner})
	}
	for _, a := range c.def.Agents {
		// A machine's agents are summoned, not notified, and write through summonses.
		create.Agents = append(create.Agents, wire.AgentDecl{Name: a.Name, WritesTo: wire.Only(), SubscribesTo: wire.Only()})
	}
	if _, err := st.Create(turn.Env, create); err != nil {
		return nil, err
	}
	turn.PutBlob(c.ref.Tenant, board.Blob{Digest: c.def.Digest(), Content: c.def.Source()})
	h.run = machine.New(c.def)
	h.change.Digest = c.def.Digest()
	step := h.run.Open(st.Head()+1, st.Stamp(turn.Now))
	pin(step, c.def.Digest())
	if err := c.take(turn, st, h, step); err != nil {
		return nil, err
	}
	return Opened{Run: st.Row().Runs, Ended: step.Ended}, nil
}

// pin makes the first record of a step keep the definition's text.
func pin(step machine.Step, digest id.Digest) {
	if len(step.Records) > 0 {
		step.Records[0].Blobs = append(step.Records[0].Blobs, digest)
	}
}

// update is one updateContext of one agent under one summons.
type update struct {
	target
	write machine.Write
	blobs []id.Digest
}

func (c update) Wants() []board.Want {
	w := c.target.Wants()
	w[0].Keys = []string{c.write.IdemKey}
	w[0].Blobs = c.blobs
	return w
}

func (c update) Decide(turn *control.Turn) (any, error) {
	st, h, closed := c.running(turn)
	if closed != nil {
		return nil, closed
	}
	w := c.write
	if first, ok := st.Keyed(w.IdemKey); ok {
		// Of an erased value nothing is left to compare.
		differs := first.Region != w.Field || (first.Erased == nil && !sameValue(first.Content, w.Value))
		// Another value through a summons that is no longer live is no repeat: the
		// reducer says what it is.
		if !differs || h.run.Live(w.Agent, w.Entry, w.Attempt, w.Generation) {
			return c.updated(h.run, wire.Updated{Seq: first.Seq, Repeated: true, Differs: differs}), nil
		}
	}
	for _, b := range c.blobs {
		if f, ok := h.run.Definition().Field(w.Field); ok && f.Type == "blob" && !st.Blob(b) {
			return nil, refusal.New(refusal.UnknownBlob, string(b), "there is no blob %s", b).
				WithFix("put it with putBlob first, and write the digest that it answers")
		}
	}
	step, refused := h.run.Write(w, st.Head()+1, st.Stamp(turn.Now))
	if refused != nil {
		return nil, refused
	}
	if step.Repeated != nil {
		return c.updated(h.run, wire.Updated{Seq: step.Repeated.Seq, Repeated: true}), nil
	}
	seq := step.Records[0].Seq
	if err := c.take(turn, st, h, step); err != nil {
		return nil, err
	}
	return c.updated(h.run, wire.Updated{Seq: seq}), nil
}

// updated fills in how the run stands now.
func (c update) updated(run *machine.Run, u wire.Updated) wire.Updated {
	s := run.Standing(c.write.Agent, c.write.Entry, c.write.Attempt, c.write.Generation)
	u.State, u.Live, u.Position, u.Context = s.State, s.Live, s.Position, s.Context
	return u
}

// sameValue compares what a first write put on the record with what a repeat of it
// carries: the value itself, or the value of a map's entry.
func sameValue(recorded, value json.RawMessage) bool {
	var entry struct {
		Key   *string         `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if len(recorded) > 0 && recorded[0] == '{' && json.Unmarshal(recorded, &entry) == nil && entry.Key != nil {
		recorded = entry.Value
	}
	return bytes.Equal(compact(recorded), compact(value))
}

func compact(v json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return v
	}
	return b.Bytes()
}

// claim takes the summonses that are due for the agents that the caller runs.
type claim struct {
	target
	holder string
	// timeouts says how long each agent may take.
	timeouts map[string]time.Duration
}

// settleGrace is how much longer than its agent may take a summons is held, so that
// whoever holds it can end the agent and settle.
const settleGrace = 15 * time.Second

// Claimed is what a claim came to.
type Claimed struct {
	Summons []wire.Summons
	// Next is when a summons falls due that is not yet; zero when none waits.
	Next time.Time
	// Closes is when a limit of the board's run passes, as it stands; zero for never.
	Closes time.Time
	// Now is the store's clock when the claim was made.
	Now time.Time
	// Ended is set when the machine has ended, be it by this claim; Outcome when the
	// board's run has closed.
	Ended   *machine.End
	Outcome *wire.Outcome
}

func (c claim) Decide(turn *control.Turn) (any, error) {
	st, h, closed := c.running(turn)
	out := Claimed{Now: turn.Now}
	if closed != nil && h == nil {
		return nil, closed
	}
	if closed != nil {
		out.Ended, out.Outcome = h.run.Ended(), st.Outcome()
		return out, nil
	}
	now := st.Stamp(turn.Now)
	for _, due := range h.run.Due(now) {
		timeout, ours := c.timeouts[due.Agent]
		if !ours {
			continue
		}
		step, s, refused := h.run.Claim(due.Agent, now, timeout+settleGrace, c.holder, st.Head()+1)
		if refused != nil {
			return nil, fmt.Errorf("machines: a summons that is due was refused: %w", refused)
		}
		if err := c.take(turn, st, h, step); err != nil {
			return nil, err
		}
		if step.Ended != nil {
			out.Ended, out.Outcome = step.Ended, st.Outcome()
			// Whatever was claimed before this one is void now.
			out.Summons = nil
			return out, nil
		}
		body := h.run.Summons(s.Agent)
		body.Board, body.Deadline = c.ref.Board, now.Add(timeout)
		out.Summons = append(out.Summons, *body)
	}
	if next, ok := h.run.NextDue(); ok {
		out.Next = next
	}
	if run := st.Row().Run; run != nil {
		out.Closes = run.WallAt
		if idle := run.IdleAt(); !idle.IsZero() && (run.WallAt.IsZero() || idle.Before(run.WallAt)) {
			out.Closes = idle
		}
	}
	return out, nil
}

// settle says that an agent stopped working on a summons.
type settle struct {
	target
	settlement machine.Settlement
}

func (c settle) Decide(turn *control.Turn) (any, error) {
	st, h, closed := c.running(turn)
	if closed != nil {
		return nil, closed
	}
	step, refused := h.run.Settle(c.settlement, st.Head()+1, st.Stamp(turn.Now))
	if refused != nil {
		return nil, refused
	}
	return nil, c.take(turn, st, h, step)
}

// release makes the summonses of a dead holder claimable at once: all that are
// sent, or with agent set that agent's generation.
type release struct {
	target
	agent      string
	generation int64
}

func (c release) Decide(turn *control.Turn) (any, error) {
	st, h, closed := c.running(turn)
	if closed != nil {
		return 0, closed
	}
	released := 0
	for _, s := range h.run.SummonsRows() {
		if s.Status != machine.Sent || (c.agent != "" && (s.Agent != c.agent || s.Generation != c.generation)) {
			continue
		}
		if refused := h.run.Release(s.Agent, s.Generation, st.Stamp(turn.Now)); refused != nil {
			return 0, fmt.Errorf("machines: releasing a summons that is sent: %w", refused)
		}
		released++
		st.Touch()
	}
	return released, nil
}

// migrate moves a run to another definition (decision 14).
type migrate struct {
	target
	to *machine.Definition
}

func (c migrate) Decide(turn *control.Turn) (any, error) {
	st, h, closed := c.running(turn)
	if closed != nil {
		return nil, closed
	}
	if h.run.Definition().Digest() == c.to.Digest() {
		return wire.Standing{State: h.run.State(), Position: h.run.Position()}, nil
	}
	// Checked before anything of it is done, because the regions come first.
	if err := machine.CanMigrate(h.run, c.to); err != nil {
		return nil, err
	}
	for _, r := range c.to.Regions() {
		have := st.Region(r.Name)
		switch {
		case have == nil:
			if err := st.Declare(wire.RegionDecl{Name: r.Name, Kind: r.Kind, Window: r.Window, Owner: r.Owner}); err != nil {
				return nil, fmt.Errorf("machines: %w", err)
			}
		case have.Kind != r.Kind:
			return nil, refusal.New(refusal.CannotMigrate, r.Name, "field %q is a %s on the board and a %s in the new document", r.Name, have.Kind, r.Kind).
				WithFix("give the field another name")
		}
	}
	for _, a := range c.to.Agents {
		if !slices.ContainsFunc(h.run.Definition().Agents, func(b machine.Agent) bool { return a.Name == b.Name }) {
			if _, err := st.Register(turn.Env, wire.AgentDecl{Name: a.Name, WritesTo: wire.Only(), SubscribesTo: wire.Only()}); err != nil {
				return nil, fmt.Errorf("machines: registering agent %q: %v", a.Name, err)
			}
		}
	}
	step, refused := h.run.Migrate(c.to, st.Head()+1, st.Stamp(turn.Now))
	if refused != nil {
		return nil, fmt.Errorf("machines: a migration that was checked was refused: %v", refused)
	}
	turn.PutBlob(c.ref.Tenant, board.Blob{Digest: c.to.Digest(), Content: c.to.Source()})
	h.change.Digest = c.to.Digest()
	pin(step, c.to.Digest())
	// A migration is always a checkpoint, so that what is folded later needs only one
	// definition.
	step.Checkpoint = true
	if err := c.take(turn, st, h, step); err != nil {
		return nil, err
	}
	return wire.Standing{State: h.run.State(), Position: h.run.Position()}, nil
}

// inspect answers a question about the run as it stands, changing nothing.
type inspect struct {
	target
	ask func(*machine.Run) (any, error)
}

func (c inspect) Decide(turn *control.Turn) (any, error) {
	st, h := c.begin(turn)
	if !st.Found() {
		return nil, st.Open(turn.Env)
	}
	if h.run == nil {
		return nil, refusal.New(refusal.NoMachine, string(c.ref.Board), "no machine runs on board %q", c.ref.Board)
	}
	return c.ask(h.run)
}
