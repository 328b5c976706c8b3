package wirejson_test

import (
	"context"
	"fmt"
	"strings"

	shoalv1 "github.com/shoalworks/shoal/proto/shoal/v1"
	"github.com/shoalworks/shoal/proto/wirejson"
)

// Documents stand in a message as they are, and every digit is kept.
func ExampleCodec() {
	var codec wirejson.Codec
	text, err := codec.Append(nil, &shoalv1.Profile{
		Set: "players", Key: "u_42", Epoch: 3, Revision: 1 << 60, Data: `{"coins":9007199254740993}`,
	})
	fmt.Println(string(text), err)

	err = codec.UnmarshalRead(context.Background(), strings.NewReader(`{"set":"players","kee":"u_42"}`), &shoalv1.ProfileGetRequest{})
	fmt.Println(err)
	// Output:
	// {"set":"players","key":"u_42","epoch":3,"revision":"1152921504606846976","data":{"coins":9007199254740993}} <nil>
	// kee: is no field of ProfileGetRequest; it has set, key
}
