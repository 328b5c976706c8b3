// Package proto holds the service definitions of the daemon: shoal/v1/*.proto, and beside
// them the Go code generated from them.
//
// "go generate ./proto/..." makes that code anew. It needs nothing but the go command: the
// compiler runs at the version named here, the plugins at the versions in go.mod.
package proto

//go:generate go -C .. run github.com/bufbuild/buf/cmd/buf@v1.75.0 lint
//go:generate go -C .. run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate
