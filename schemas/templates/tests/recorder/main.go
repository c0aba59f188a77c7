// Records what Go's text/template with sprig's functions gives: go.json beside this folder is read, and written again to the standard output.
//
// A template that is new may stand in any of its lists.
package main

import (
	"encoding/json"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type recordings struct {
	Note      string            `json:"note"`
	Variables json.RawMessage   `json:"variables"`
	Values    map[string]string `json:"values"`
	Refused   []string          `json:"refused"`
	Fail      []string          `json:"fail"`
}

func main() {
	var known recordings
	check(json.NewDecoder(os.Stdin).Decode(&known))
	recorded := recordings{Note: known.Note, Variables: known.Variables, Values: map[string]string{}}
	for _, text := range known.templates() {
		parsed, err := template.New("tpl").Funcs(sprig.HermeticTxtFuncMap()).Parse(text)
		if err != nil {
			recorded.Refused = append(recorded.Refused, text)
			continue
		}
		// Templates can change maps, so each gets its own variables.
		var variables any
		check(json.Unmarshal(known.Variables, &variables))
		var output strings.Builder
		if err := parsed.Execute(&output, variables); err != nil {
			recorded.Fail = append(recorded.Fail, text)
			continue
		}
		recorded.Values[text] = output.String()
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	check(encoder.Encode(recorded))
}

func (known recordings) templates() []string {
	texts := append(append([]string{}, known.Refused...), known.Fail...)
	for text := range known.Values {
		texts = append(texts, text)
	}
	return texts
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
