package botixtest

import (
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// write sends the answer, or as much of it as the script lets through.
func (s *Server) write(w http.ResponseWriter, x *exchange, answer *Answer) {
	if answer.Header == nil { // a Change took it away
		answer.Header = http.Header{}
	}
	for name, values := range x.header {
		if _, taken := answer.Header[name]; !taken {
			answer.Header[name] = values
		}
	}
	setDefault(answer.Header, "X-Request-Id", x.call.RequestID)
	setDefault(answer.Header, "Date", s.clock.Now().Format(http.TimeFormat))
	if answer.Status != http.StatusNoContent {
		setDefault(answer.Header, "Content-Length", strconv.Itoa(len(answer.Body)))
	}
	plan := deliveryOf(x.faults)
	maps.Copy(answer.Header, plan.set) // nil values too: they keep net/http from making its own Date or Content-Type
	x.renameHeaders(answer.Header)
	status := answer.Status
	if plan.cut != cutNone && plan.keep < 0 {
		status = 0
	}
	s.finish(x, answer, status, plan.name)

	if plan.plain() {
		maps.Copy(w.Header(), answer.Header)
		w.WriteHeader(answer.Status)
		if length, set := plan.set["Content-Length"]; set && length == nil {
			_ = http.NewResponseController(w).Flush() // before the body is known, so it goes out chunked
		}
		_, _ = w.Write(answer.Body) // the client may have gone; the journal says what was decided
		return
	}
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.writeRaw(conn, buf.Writer, plan, answer)
}

// delivery is how an answer travels, merged from all faults of a request.
type delivery struct {
	name string
	cut  cut
	keep int           // bytes of the body that leave before the cut; -1: not even the headers
	slow time.Duration // the body takes this long
	lie  bool          // Content-Length is wrong, so net/http must not see it
	set  http.Header   // headers put in at the end; a nil value removes one
}

func (d *delivery) plain() bool { return d.cut == cutNone && d.slow == 0 && !d.lie }

func deliveryOf(faults []Fault) *delivery {
	if len(faults) == 0 {
		return new(delivery)
	}
	d := &delivery{keep: -1, set: http.Header{}}
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.name
		if f.cut != cutNone {
			d.cut, d.keep = f.cut, f.keep
		}
		d.slow += f.slow
		d.lie = d.lie || f.lie
		maps.Copy(d.set, f.set)
	}
	d.name = strings.Join(names, " + ")
	return d
}

const bodyPieces = 10 // a slow body comes in this many writes

// writeRaw speaks HTTP by hand, for answers that net/http would refuse to send. The connection always ends with it.
func (s *Server) writeRaw(conn net.Conn, w *bufio.Writer, d *delivery, answer *Answer) {
	body := answer.Body
	if d.cut == cutNone || d.keep >= 0 {
		fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n", answer.Status, http.StatusText(answer.Status))
		_ = answer.Header.Write(w)
		_, _ = w.WriteString("Connection: close\r\n\r\n")
		_ = w.Flush()
		if d.cut != cutNone {
			body = body[:min(d.keep, len(body))]
		}
		for piece := range bodyPieces {
			if d.slow > 0 {
				s.sleep(d.slow / bodyPieces)
			}
			_, _ = w.Write(body[len(body)*piece/bodyPieces : len(body)*(piece+1)/bodyPieces])
			_ = w.Flush()
		}
	}
	if d.cut == cutReset {
		hardClose(conn)
		return
	}
	_ = conn.Close()
}

func setDefault(h http.Header, name, value string) {
	if _, ok := h[name]; !ok {
		h.Set(name, value)
	}
}

// uuid makes a version 4 UUID from the server's seed. It is called with Server.mu held.
func (s *Server) uuid() string { return uuid(s.random) }

func uuid(random *rand.Rand) string {
	hi, lo := random.Uint64(), random.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0xc000<<48) | 0x8000<<48
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&(1<<48-1))
}
