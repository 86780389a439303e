package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
)

// Proxy stands between clients and a server and can fail in ways that a network
// does. It copies until it is told otherwise.
type Proxy struct {
	listener net.Listener
	server   string

	mu     sync.Mutex
	links  map[*link]bool
	rule   rule
	what   []byte
	struck chan struct{}
	wg     sync.WaitGroup
}

// rule is what happens to the next connection on which a client sends certain bytes.
type rule int

const (
	none rule = iota
	// lose delivers what the client sent, waits for the server's answer, and cuts
	// the connection instead of passing it on.
	lose
	// refuse cuts the connection instead of delivering.
	refuse
	// stall delivers what the client sent and passes nothing on from then on.
	stall
)

// link is one client's connection.
type link struct {
	p              *Proxy
	client, server net.Conn
	mu             sync.Mutex
	rule           rule
}

// Proxy returns a proxy before the server, closed at the end of the test.
func (s *Server) Proxy(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: fmt.Sprintf("127.0.0.1:%d", s.Port), links: map[*link]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// URL is Server.URL through the proxy.
func (p *Proxy) URL(schema string) string {
	return address(p.listener.Addr().(*net.TCPAddr).Port, schema)
}

// Lose has the next connection on which a client sends what cut once the server
// answered, and the answer lost. The channel is closed when that has happened.
func (p *Proxy) Lose(what string) <-chan struct{} { return p.set(lose, what) }

// Refuse has the next connection on which a client sends what cut before the
// server sees it.
func (p *Proxy) Refuse(what string) <-chan struct{} { return p.set(refuse, what) }

// Stall has the next connection on which a client sends what fall silent: the
// server gets it and answers, and the client waits.
func (p *Proxy) Stall(what string) <-chan struct{} { return p.set(stall, what) }

func (p *Proxy) set(r rule, what string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule, p.what, p.struck = r, []byte(what), make(chan struct{})
	return p.struck
}

// Cut cuts every connection there is.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		l := &link{p: p, client: client, server: server}
		p.mu.Lock()
		p.links[l] = true
		p.mu.Unlock()
		p.wg.Go(l.requests)
		p.wg.Go(l.answers)
	}
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

func (l *link) done() {
	l.close()
	l.p.mu.Lock()
	delete(l.p.links, l)
	l.p.mu.Unlock()
}

// strike decides what becomes of a connection whose client sent data.
func (p *Proxy) strike(data []byte) (rule, chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rule == none || !bytes.Contains(data, p.what) {
		return none, nil
	}
	r := p.rule
	p.rule = none
	return r, p.struck
}

func (l *link) requests() {
	defer l.done()
	buf := make([]byte, 1<<16)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		r, struck := l.p.strike(buf[:n])
		if r == refuse {
			close(struck)
			return
		}
		if r != none {
			l.mu.Lock()
			l.rule = r
			l.mu.Unlock()
			if r == lose {
				defer close(struck)
			}
		}
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
		if r == stall {
			close(struck)
		}
	}
}

func (l *link) answers() {
	defer l.done()
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			return
		}
		l.mu.Lock()
		r := l.rule
		l.mu.Unlock()
		switch r {
		case lose:
			return
		case stall:
			continue
		}
		if _, err := l.client.Write(buf[:n]); err != nil {
			return
		}
	}
}
