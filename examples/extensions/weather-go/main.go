// The extension weather-go has a tool for the weather of a city. It is made up from the city's name, so always the same.
package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var skies = []string{"sunny", "partly cloudy", "cloudy", "rain", "snow", "fog"}

// incoming has the members of the host's frames that are used here. Args stays undecoded: its type depends on the frame.
type incoming struct {
	Type string          `json:"type"`
	ID   string          `json:"id"`
	Args json.RawMessage `json:"args"`
}

// frame is sent to the host. Its members are written in the order of their names; any order is allowed.
type frame map[string]any

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "weather-go:", err)
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
		switch heard.Type {
		case "tool_call":
			if err := out.Encode(answer(heard)); err != nil {
				return err
			}
		case "shutdown":
			return out.Encode(frame{"type": "shutdown_ack"})
		}
	}
	return lines.Err()
}

func greeting() []frame {
	city := frame{"type": "string", "description": "For example Berlin."}
	return []frame{
		{"type": "hello", "name": "weather-go", "version": "1.0.0", "capabilities": []string{"tools"}},
		{
			"type":        "register_tool",
			"name":        "weather",
			"description": "Tell the current weather of a city.",
			"schema": frame{
				"type":       "object",
				"properties": frame{"city": city},
				"required":   []string{"city"},
			},
			"read_only":  true, // calls may run at the same time
			"idempotent": true, // the host may repeat a call that a crash has cut short
		},
		{"type": "ready"},
	}
}

func answer(call incoming) frame {
	city, err := cityOf(call.Args)
	if err != nil {
		return frame{"type": "tool_result", "id": call.ID, "content": text(err.Error()), "is_error": true}
	}
	return frame{"type": "tool_result", "id": call.ID, "content": text(forecast(city))}
}

func text(said string) []frame {
	return []frame{{"type": "text", "text": said}}
}

// cityOf reads the arguments. This host has checked them against the schema; zot's own host does not.
func cityOf(args json.RawMessage) (string, error) {
	var given struct {
		City string `json:"city"`
	}
	err := json.Unmarshal(args, &given)
	city := strings.TrimSpace(given.City)
	if err != nil || city == "" {
		return "", errors.New(`weather needs "city", the name of a city`)
	}
	return city, nil
}

// forecast returns -10 to 24 degrees and a sky.
func forecast(city string) string {
	digest := sha1.Sum([]byte(strings.ToLower(city)))
	degrees := int(digest[0])%35 - 10
	sky := skies[int(digest[1])%len(skies)]
	return fmt.Sprintf("%s: %d°C, %s (made up from the name)", city, degrees, sky)
}
