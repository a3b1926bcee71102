// SPDX-License-Identifier: Apache-2.0
package main

import (
	"context"
	"errors"
	"os"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
)

func main() {
	ctx := context.Background()
	settings, err := config.LoadDefaultConfig(ctx, config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }))
	if err != nil {
		panic(err)
	}
	endpoint := sqs.EndpointResolverFromURL(os.Getenv("PAWL_ENDPOINT"))
	client := sqs.NewFromConfig(settings, sqs.WithEndpointResolver(endpoint))
	serve(client, 1, []reflect.Value{reflect.ValueOf(ctx)}, func(err error) *refusal {
		var e smithy.APIError
		if errors.As(err, &e) {
			return &refusal{e.ErrorCode(), e.ErrorMessage()}
		}
		return &refusal{"NoCode", err.Error()}
	})
}
