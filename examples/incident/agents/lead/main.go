// Command lead is the lead: it stages the incident, judges the board and composes the end.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/body"
)

func main() { agent.Main(body.Lead) }
