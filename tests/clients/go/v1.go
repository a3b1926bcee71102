// SPDX-License-Identifier: Apache-2.0
package main

import (
	"os"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/awserr"
	"github.com/aws/aws-sdk-go/aws/session"
	"github.com/aws/aws-sdk-go/service/sqs"
)

func main() {
	config := aws.NewConfig().WithEndpoint(os.Getenv("PAWL_ENDPOINT")).WithMaxRetries(0)
	client := sqs.New(session.Must(session.NewSession(config)))
	serve(client, 0, nil, func(err error) *refusal {
		if e, ok := err.(awserr.Error); ok {
			return &refusal{e.Code(), e.Message()}
		}
		return &refusal{"NoCode", err.Error()}
	})
}
