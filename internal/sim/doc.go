// Package sim runs a whole system in one process under seeded faults and a simulated
// clock: several processes over one store, writers with and without keys, readers,
// agents that are told and answer late or never, sweeps, clock jumps, erasures,
// machine runs whose agents crash, and processes that are killed and started again.
// Everything that happens follows from the seed, so that what went wrong once goes
// wrong again.
//
// Every call runs on a goroutine of its own and stops before every operation on its
// store and after every lock it got. One goroutine, the scheduler, draws which of
// those that wait goes on, and with what fault; it goes on itself when all others
// stand still. After each step the rows of the boards that changed are held against
// the rules of the board, retold here from its record.
//
// Nobody may import this package. It must not know how a driver keeps rows.
package sim
