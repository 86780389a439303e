package draw

import "github.com/slate-agents/slate/wire"

// incident is the example machine as its definition draws it.
func incident() wire.Graph {
	return wire.Graph{
		Title: "incident-blackboard",
		Nodes: []wire.Node{
			{ID: "open", Label: "open", Role: "start", Lines: []string{"incident from agent"}},
			{ID: "investigate", Label: "investigate", Lines: []string{
				"facts from log_analyst (optional)", "hypotheses from log_analyst",
				"facts from db_expert (optional)", "hypotheses from db_expert",
				"facts from net_expert (optional)", "hypotheses from net_expert"}},
			{ID: "assess", Label: "assess", Lines: []string{"status from lead"}},
			{ID: "resolve", Label: "resolve", Lines: []string{"resolution from lead"}},
			{ID: "escalate", Label: "escalate", Lines: []string{"resolution from lead"}},
			{ID: "done", Label: "done", Role: "end"},
		},
		Edges: []wire.Edge{
			{From: "open", To: "investigate"},
			{From: "investigate", To: "assess"},
			{From: "assess", To: "resolve", Label: "context.status == 'solved'"},
			{From: "assess", To: "investigate", Label: "context.status == 'continue'",
				Lines: []string{"remove hypotheses[*]", `status = ""`}},
			{From: "assess", To: "escalate", Label: "context.status == 'escalate'"},
			{From: "resolve", To: "done"},
			{From: "escalate", To: "done"},
		},
	}
}

// incidentRun is the same machine after a round that led back.
func incidentRun() wire.Graph {
	g := incident()
	g.Nodes[2].Role = "current"
	for i, n := range []int{1, 2, 0, 1, 0, 0, 0} {
		g.Edges[i].Count = n
	}
	return g
}

// tangle has everything that is hard to draw: loops, parallel edges, edges over many
// layers, edges that lead back past each other, a refused node, texts that are long,
// foreign or hostile, and an edge to a node nobody declared.
func tangle() wire.Graph {
	return wire.Graph{
		Title: `A graph with <everything> & "more"`,
		Nodes: []wire.Node{
			{ID: "draft", Label: "draft", Role: "start"},
			{ID: "review", Label: "review by someone with a name that is much too long for a single line in a box"},
			{ID: "legal", Label: "legal", Lines: []string{"contract from counsel", "averyveryverylongidentifier_without_any_spaces_in_it.that.goes.on"}},
			{ID: "legal", Label: "a second one with the same ID"},
			{ID: "price", Label: "価格を決める"},
			{ID: "refuse", Label: "refused", Role: "refused", Lines: []string{"amount > limit"}},
			{ID: "sign", Label: "sign"},
			{ID: "end", Label: "end", Role: "end"},
		},
		Edges: []wire.Edge{
			{From: "draft", To: "review", Label: "first"},
			{From: "draft", To: "review", Label: "second"},
			{From: "draft", To: "end", Label: "abandon"},
			{From: "review", To: "review", Label: "count < 3"},
			{From: "review", To: "legal", Label: "kind == 'contract' && amount > 10000 && region in ['eu', 'us', 'apac']"},
			{From: "review", To: "price", Label: "kind == \"offer\""},
			{From: "review", To: "refuse"},
			{From: "legal", To: "sign"},
			{From: "price", To: "sign"},
			{From: "price", To: "price", Label: "again"},
			{From: "price", To: "price"},
			{From: "price", To: "draft", Label: "too low"},
			{From: "legal", To: "review", Label: "unclear"},
			{From: "sign", To: "draft", Label: "start over"},
			{From: "sign", To: "review"},
			{From: "sign", To: "end"},
			{From: "end", To: "archive"},
			{From: "refuse", To: "end"},
		},
	}
}
