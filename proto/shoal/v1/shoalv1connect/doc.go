// Package shoalv1connect has the clients and handlers of the daemon's services over Connect,
// gRPC and gRPC-Web, generated from the .proto files of package shoalv1.
package shoalv1connect
