// Command kubectl of an older minor version, to prove that people who have not updated theirs are served.
//
// All of kubectl is a library; upstream's own main, which lies in the far larger module of the servers, is
// no longer than this one.
package main

import (
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
