// Answers what Go's regexp makes of patterns. It reads questions from the standard input and writes answers to the
// standard output, one JSON value a line.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"unicode"
)

type question struct {
	Pattern string   `json:"pattern"`
	Texts   []string `json:"texts"`
}

type answer struct {
	Error string `json:"error,omitempty"`
	// The groups of the matches in each text, as pairs of offsets.
	Matches [][][]int `json:"matches,omitempty"`
	Unicode string    `json:"unicode,omitempty"`
}

func main() {
	questions := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	output := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(output)
	give(answers, output, answer{Unicode: unicode.Version})
	for {
		var asked question
		if questions.Decode(&asked) != nil {
			return
		}
		give(answers, output, asked.answer())
	}
}

func (q question) answer() answer {
	pattern, err := regexp.Compile(q.Pattern)
	if err != nil {
		return answer{Error: err.Error()}
	}
	matches := [][][]int{}
	for _, text := range q.Texts {
		matches = append(matches, pattern.FindAllStringSubmatchIndex(text, -1))
	}
	return answer{Matches: matches}
}

func give(answers *json.Encoder, output *bufio.Writer, a answer) {
	if err := answers.Encode(a); err != nil {
		panic(err)
	}
	if err := output.Flush(); err != nil {
		panic(err)
	}
}
