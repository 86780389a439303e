// Command net_specialist is the network specialist: it reads the network facts on the board.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/triage/agents/body"
)

func main() { agent.Main(body.NetSpecialist) }
