// Package slate is a governed blackboard and control plane for AI agents. Agents
// share a durable record instead of calling each other; Slate decides what becomes
// state, orders it, says whose it is, tells the agents that are out of date, and
// keeps what is owed when a process dies.
//
// Open a system on a folder, or Memory for one that lives and dies with the process:
//
//	sys, err := slate.Open(ctx, slate.Options{Data: "slate-data"})
//	b, _, err := sys.Create(ctx, wire.CreateBoard{
//		Board:   "outage-14",
//		Regions: []wire.RegionDecl{{Name: "facts", Kind: wire.Level}, {Name: "window", Kind: wire.Premise}},
//		Agents:  []wire.AgentDecl{{Name: "analyst"}},
//	}, board.Callables{})
//	res, err := b.As("analyst").WriteLevel(ctx, wire.LevelWrite{Region: "facts", Content: []byte(`"pool exhausted"`)})
//
// A board takes contributions in regions under one total order (package board). A
// machine (package machine) is a document that drives a board: it says which fields
// the board has, whom it asks for what, and when it moves on. RunMachine drives one
// with agents of this process or with other people's programs.
//
// A *Board is a stateless handle: it can be made, used and dropped by any process
// that opened the store. What was answered is durable: on SQLite, after the
// write-ahead log was synced to disk.
package slate
