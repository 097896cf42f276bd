// The extension hello-go has two slash commands. With /hello the model greets; /hi greets without the model.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// incoming has the members of the host's frames that are used here. The decoder ignores others.
type incoming struct {
	Type string `json:"type"`
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

// frame is sent to the host. Its members are written in the order of their names; any order is allowed.
type frame map[string]any

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hello-go:", err)
		os.Exit(1)
	}
}

// serve answers frames until the host says shutdown or closes the pipe.
func serve(stdin io.Reader, stdout io.Writer) error {
	out := json.NewEncoder(stdout) // ends each frame with a line feed
	out.SetEscapeHTML(false)
	for _, said := range greeting() {
		if err := out.Encode(said); err != nil {
			return err
		}
	}
	lines := bufio.NewScanner(stdin)
	lines.Buffer(make([]byte, 0, 64*1024), 17*1024*1024) // more than the longest frame
	for lines.Scan() {
		var heard incoming
		if err := json.Unmarshal(lines.Bytes(), &heard); err != nil {
			fmt.Fprintln(os.Stderr, "ignored a line that is not a frame:", err)
			continue
		}
		for _, said := range answersTo(heard) {
			if err := out.Encode(said); err != nil {
				return err
			}
		}
		if heard.Type == "shutdown" {
			return nil
		}
	}
	return lines.Err()
}

func greeting() []frame {
	return []frame{
		{"type": "hello", "name": "hello-go", "version": "1.0.0", "capabilities": []string{"commands"}},
		{"type": "register_command", "name": "hello", "description": "Have the model greet somebody: /hello Ada"},
		{"type": "register_command", "name": "hi", "description": "Greet somebody without the model: /hi Ada"},
		{"type": "ready"},
	}
}

// answersTo returns nothing for unknown frames: new types may be added.
func answersTo(heard incoming) []frame {
	switch heard.Type {
	case "command_invoked":
		return run(heard)
	case "shutdown":
		return []frame{{"type": "shutdown_ack"}}
	}
	return nil
}

func run(heard incoming) []frame {
	who := strings.TrimSpace(heard.Args)
	if who == "" {
		who = "world"
	}
	response := frame{"type": "command_response", "id": heard.ID}
	switch heard.Name {
	case "hello":
		response["action"] = "prompt"
		response["prompt"] = fmt.Sprintf("Greet %s in one cheerful sentence.", who)
	case "hi":
		response["action"] = "display"
		response["display"] = fmt.Sprintf("Hello, %s!", who)
		return []frame{response, {"type": "notify", "level": "success", "message": "greeted " + who}}
	default:
		response["error"] = "hello-go has no command /" + heard.Name
	}
	return []frame{response}
}
