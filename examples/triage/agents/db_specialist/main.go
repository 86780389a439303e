// Command db_specialist is the database specialist: it adds what the activity and the settings say.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/triage/agents/body"
)

func main() { agent.Main(body.DBSpecialist) }
