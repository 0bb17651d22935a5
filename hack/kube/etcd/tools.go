//go:build tools

// Package tools pins the etcd server that hack/kube/build compiles.
package tools

import _ "go.etcd.io/etcd/server/v3"
