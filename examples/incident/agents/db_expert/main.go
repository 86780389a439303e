// Command db_expert is the database expert: it reads sampled activity and the settings.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/incident/agents/body"
)

func main() { agent.Main(body.DBExpert) }
