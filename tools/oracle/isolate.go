package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// Go cannot recover from a stack overflow, and a template can cause one by printing a dict that
// contains itself. Cases nobody has looked at therefore run in a process of their own.

// answer is one line of a worker: the result as it was, however invalid its UTF-8.
type answer struct {
	Text   []byte `json:"text"`
	Failed bool   `json:"failed"`
	Broken bool   `json:"broken"`
}

// runWorker answers cases until its input ends.
func runWorker(in io.Reader, out io.Writer) error {
	d := json.NewDecoder(in)
	for {
		var r Record
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		res := evaluate(&r)
		b, err := line(answer{[]byte(res.text), res.failed, res.broken})
		if err != nil {
			return err
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
}

// A pool is one worker that is replaced when it dies.
type pool struct {
	timeless bool

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (p *pool) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.cmd = exec.Command(self, "worker")
	if p.timeless {
		p.cmd.Args = append(p.cmd.Args, "timeless")
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	return p.cmd.Start()
}

func (p *pool) stop() {
	if p.cmd == nil {
		return
	}
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// evaluate is the isolated form of the function of that name.
func (p *pool) evaluate(r *Record) result {
	if p.cmd == nil {
		if err := p.start(); err != nil {
			return result{text: err.Error(), failed: true, broken: true}
		}
	}
	bare := Record{ID: r.ID, Template: r.Template, Data: r.Data, Options: r.Options}
	b, err := line(bare)
	if err != nil {
		return result{text: err.Error(), failed: true, broken: true}
	}
	// The worker has its own timeout; this one is for what even that cannot stop.
	timer := time.AfterFunc(2*caseTimeout, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	if _, err := p.in.Write(b); err == nil {
		var raw []byte
		if raw, err = p.out.ReadBytes('\n'); err == nil {
			var a answer
			if err = json.Unmarshal(raw, &a); err == nil {
				if a.Broken {
					// A goroutine may still be busy in there.
					p.stop()
				}
				return result{string(a.Text), a.Failed, a.Broken}
			}
		}
	}
	p.stop()
	return result{text: "Go crashed", failed: true, broken: true}
}
