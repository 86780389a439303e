// Command log_analyst is the log analyst: it reads the server's log.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/body"
)

func main() { agent.Main(body.LogAnalyst) }
