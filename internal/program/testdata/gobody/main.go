// Command gobody is the suite's body as a Go program.
package main

import (
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/internal/program/testdata/analyst"
)

func main() { agent.Main(analyst.Body) }
