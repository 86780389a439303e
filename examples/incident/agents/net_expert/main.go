// Command net_expert is the network expert: it reads network samples.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/body"
)

func main() { agent.Main(body.NetExpert) }
