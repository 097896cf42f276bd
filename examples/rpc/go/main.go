// Sends one prompt to `zot rpc` and prints the answer as it comes. Go's standard library only.
//
//	go build && ./rpc-client "what does this project do?" [FLAG...]
//
// The flags go to `zot rpc`. Ctrl-C aborts the prompt. A token in ZOTCORE_RPC_TOKEN is said first. The exit status is
// that of the prompt.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const promptID = 2

// line has the members by which a line of the server is recognized. The decoder ignores others.
type line struct {
	Type   string          `json:"type"`
	ID     json.RawMessage `json:"id"`
	Prompt string          `json:"prompt"`
}

// response is the answer to a request.
type response struct {
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Data    struct {
		Prompt string `json:"prompt"`
	} `json:"data"`
}

// record has the members of the records of a prompt that are used here.
type record struct {
	Delta    string `json:"delta"`
	Status   string `json:"status"`
	Reason   string `json:"reason"`
	ExitCode int    `json:"exit_code"`
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: rpc-client PROMPT [FLAG...]")
		os.Exit(2)
	}
	status, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rpc-client:", err)
	}
	os.Exit(status)
}

// run starts a server, sends the prompt, and ends the server. It returns the exit status of the prompt.
func run(message string, flags []string) (int, error) {
	agent := exec.Command("zot", append([]string{"rpc"}, flags...)...)
	agent.Stderr = os.Stderr
	agent.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is for this client only
	stdin, err := agent.StdinPipe()
	if err != nil {
		return 1, err
	}
	stdout, err := agent.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := agent.Start(); err != nil {
		return 1, err
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	go func() {
		for range interrupts {
			send(stdin, map[string]any{"type": "abort"})
		}
	}()
	send(stdin, map[string]any{"id": 1, "type": "hello", "token": os.Getenv("ZOTCORE_RPC_TOKEN")})
	send(stdin, map[string]any{"id": promptID, "type": "prompt", "message": message})
	status, failure := follow(bufio.NewReader(stdout), os.Stdout)
	stdin.Close() // the end of stdin ends the process
	io.Copy(io.Discard, stdout)
	agent.Wait() // how it ended matters only if it was too early
	if errors.Is(failure, io.ErrUnexpectedEOF) {
		failure = fmt.Errorf("zot rpc has ended: %v", agent.ProcessState)
	}
	return status, failure
}

// send writes a request. A server that has ended shows at its stdout.
func send(stdin io.Writer, request map[string]any) {
	text, _ := json.Marshal(request) // these values can always be written
	stdin.Write(append(text, '\n'))
}

// follow prints the answer, up to the end of the prompt, and returns its exit status.
func follow(lines *bufio.Reader, out io.Writer) (int, error) {
	started, status := "", 1
	for {
		text, err := lines.ReadBytes('\n') // a line may have many megabytes
		if err != nil {
			return 1, io.ErrUnexpectedEOF
		}
		var heard line
		if err := json.Unmarshal(text, &heard); err != nil {
			return 1, err
		}
		if heard.Type == "response" {
			var answer response
			if err := json.Unmarshal(text, &answer); err != nil {
				return 1, err
			}
			if !answer.Success {
				return 1, errors.New(answer.Error)
			}
			if string(heard.ID) == fmt.Sprint(promptID) {
				started = answer.Data.Prompt
			}
			continue
		}
		if started == "" || heard.Prompt != started {
			continue // a record of the session or of an extension
		}
		var said record
		switch heard.Type {
		case "text_delta", "result":
			if err := json.Unmarshal(text, &said); err != nil {
				return 1, err
			}
		}
		switch heard.Type {
		case "text_delta":
			fmt.Fprint(out, said.Delta)
		case "result":
			status = said.ExitCode
			if said.Status == "ok" {
				fmt.Fprintln(out)
			} else {
				fmt.Fprintf(out, "\n%s: %s\n", said.Status, said.Reason)
			}
		case "done":
			return status, nil
		}
	}
}
