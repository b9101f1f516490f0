package poller

import (
	"net"

	"evenkeel.dev/aio/internal/proactor"
)

// Release implements [proactor.Backend].
func (p *Poller) Release(d *proactor.Desc) {
	p.Unlinger(int(d.Num))
	p.drop(d)
}

// Detach implements [proactor.Backend].
func (p *Poller) Detach(d *proactor.Desc) (net.Conn, error) {
	conn, err := p.FileConn(int(d.Num))
	if err == nil {
		p.drop(d)
	}
	return conn, err
}

// drop ends what was registered, and closes d.
func (p *Poller) drop(d *proactor.Desc) {
	if d.Gen != 0 {
		p.remove(d)
	}
	p.table[d.Num] = nil // before the number can be given out again
	p.held.Remove(d.Num)
	p.kernel.release(d)
}

// Control implements [proactor.Backend].
func (p *Poller) Control(d *proactor.Desc, f func(fd uintptr)) bool {
	f(uintptr(d.Num))
	return true
}
