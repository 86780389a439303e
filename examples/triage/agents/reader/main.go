// Command reader is the reader: it says what came in shows.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/examples/triage/agents/body"
)

func main() { agent.Main(body.Reader) }
