// SPDX-License-Identifier: Apache-2.0
// The bridge of client.py: one JSON request per line on stdin, answers in any order.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"sync"
)

type request struct {
	Id int             `json:"id"`
	Op string          `json:"op"`
	In json.RawMessage `json:"in"`
}

type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type reply struct {
	Id    int         `json:"id"`
	Out   interface{} `json:"out,omitempty"`
	Error *refusal    `json:"error,omitempty"`
}

// serve calls the method of `client` that is named like the action, with `before` and the input as its
// arguments. The SDKs' structures have the model's member names, which is all that encoding/json needs.
func serve(client interface{}, input int, before []reflect.Value, refused func(error) *refusal) {
	var lock sync.Mutex
	var running sync.WaitGroup
	out := json.NewEncoder(os.Stdout)
	answer := func(r request) {
		defer running.Done()
		got := reply{Id: r.Id}
		method := reflect.ValueOf(client).MethodByName(r.Op)
		if !method.IsValid() {
			got.Error = &refusal{"NoSuchMethod", r.Op}
		} else {
			in := reflect.New(method.Type().In(input).Elem())
			if err := json.Unmarshal(r.In, in.Interface()); err != nil {
				got.Error = &refusal{"BadInput", err.Error()}
			} else {
				results := method.Call(append(append([]reflect.Value{}, before...), in))
				if err, _ := results[1].Interface().(error); err != nil {
					got.Error = refused(err)
				} else {
					got.Out = results[0].Interface()
				}
			}
		}
		lock.Lock()
		defer lock.Unlock()
		out.Encode(got)
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var r request
		if json.Unmarshal(line, &r) != nil {
			break
		}
		running.Add(1)
		go answer(r)
	}
	running.Wait()
}
