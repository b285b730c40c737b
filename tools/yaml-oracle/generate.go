package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
)

// vector is a question and its answer on one line of a golden file.
type vector struct {
	ID        string          `json:"id"`
	Op        string          `json:"op"`
	Text      *string         `json:"text,omitempty"`
	JSON      json.RawMessage `json:"json,omitempty"`
	Documents []string        `json:"documents,omitempty"`
	Error     string          `json:"error,omitempty"`
}

// generate writes one file per topic; the topics and their order are fixed, so the files only change when Go does.
func generate(dir string) error {
	total := 0
	for _, topic := range topics() {
		file, err := os.Create(filepath.Join(dir, topic.name+".jsonl"))
		if err != nil {
			return err
		}
		out := bufio.NewWriter(file)
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		for i, q := range topic.questions {
			q.ID = fmt.Sprintf("%s/%d", topic.name, i)
			a, settled := settle(q)
			if !settled {
				continue
			}
			if err := encoder.Encode(toVector(q, a)); err != nil {
				return err
			}
			total++
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	fmt.Println(total, "vectors")
	return nil
}

// settle asks often enough to notice when the answer depends on the random order in which Go walks maps.
func settle(q Question) (Answer, bool) {
	first := answer(q)
	for range 30 {
		if !reflect.DeepEqual(first, answer(q)) {
			return first, false
		}
	}
	return first, true
}

func toVector(q Question, a Answer) vector {
	v := vector{ID: q.ID, Op: q.Op, JSON: a.JSON, Documents: a.Documents, Error: a.Error}
	if q.JSON != nil {
		v.JSON, v.Text = q.JSON, a.Text
	} else {
		v.Text = &q.Text
	}
	return v
}

type topic struct {
	name      string
	questions []Question
}

func topics() []topic {
	return []topic{
		{"scalars", reads(scalarTexts())},
		{"structures", both(structureTexts())},
		{"blocks", reads(blockTexts())},
		{"quotes", reads(quoteTexts())},
		{"aliases", both(aliasTexts())},
		{"tags", reads(tagTexts())},
		{"malformed", reads(malformedTexts())},
		{"whitespace", reads(whitespaceTexts())},
		{"keys", both(keyTexts())},
		{"documents", split(documentTexts())},
		{"write", writes(valuesToWrite())},
		{"numbers", rawWrites([]string{
			"0.0", "-0.0", "1.0", "100.0", "1e5", "1e6", "1000000.0", "1234567.0", "1e15", "1e18", "9223372036854775807.0",
			"9223372036854775808.0", "1e19", "1.5e19", "18446744073709551615.0", "18446744073709551616", "1e20", "1e21",
			"-1e6", "-1e18", "-9223372036854775808.0", "-1e19", "1e-5", "1e-7", "-0", "123456789.0", "0.1", "100000.5",
			"21000000000000000000.0", "12345678901234567890", "5e-324", "1.7976931348623157e308",
		})},
	}
}

func reads(texts []string) []Question {
	var questions []Question
	for _, text := range texts {
		questions = append(questions, Question{Op: "read", Text: text})
	}
	return questions
}

func both(texts []string) []Question {
	questions := reads(texts)
	for _, text := range texts {
		questions = append(questions, Question{Op: "strict", Text: text})
	}
	return questions
}

func split(texts []string) []Question {
	var questions []Question
	for _, text := range texts {
		questions = append(questions, Question{Op: "documents", Text: text}, Question{Op: "read", Text: text})
	}
	return questions
}

func writes(values []any) []Question {
	var questions []Question
	for _, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		questions = append(questions, Question{Op: "write", JSON: text}, Question{Op: "pretty", JSON: text})
	}
	return questions
}

// rawWrites asks about numbers in a notation that tells floats from integers.
func rawWrites(numbers []string) []Question {
	var questions []Question
	for _, number := range numbers {
		for _, text := range []string{number, `{"k":` + number + `}`} {
			questions = append(questions, Question{Op: "write", JSON: []byte(text)}, Question{Op: "pretty", JSON: []byte(text)})
		}
	}
	return questions
}
