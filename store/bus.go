package store

import "context"

// Limits of the bus contract.
const (
	MaxTopic   = 256      // bytes of a topic
	MaxPayload = 64 << 10 // bytes of a message
)

// Bus carries best-effort messages. It may lose, delay, duplicate and reorder; everything
// works without it, only slower.
type Bus interface {
	// Publish sends payload to every subscriber of the topic, in every process. A nil error
	// promises nothing.
	Publish(ctx context.Context, topic string, payload []byte) error

	// Subscribe calls receive for each message until the subscription is closed. Calls for
	// one subscription come one at a time; receive must not block: a subscriber that falls
	// behind loses messages. ctx bounds the call only.
	Subscribe(ctx context.Context, topic string, receive func(payload []byte)) (Subscription, error)

	// Close ends every subscription and waits for running receivers.
	Close(ctx context.Context) error
}

// Subscription is a standing order for messages.
type Subscription interface {
	// Close ends it and waits for a running receiver, unless it is called from within it.
	// Again does nothing.
	Close()
}
