// SPDX-License-Identifier: BSL-1.0
// A Kubernetes control plane as one program: control-plane etcd | kube-apiserver | kube-controller-manager | kube-scheduler OPTION...
package main

import (
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// One member that only local clients reach. What it holds need not outlive the machine, so it does not wait for the disk.
func etcd(directory, client, peer string) error {
	config := embed.NewConfig()
	config.Dir = directory
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	clients, peers := url.URL{Scheme: "http", Host: client}, url.URL{Scheme: "http", Host: peer}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	return <-server.Err()
}

func main() {
	commands := map[string]func() int{
		"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"kube-controller-manager": func() int { return cli.Run(manager.NewControllerManagerCommand()) },
		"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	}
	arguments := os.Args
	if len(arguments) == 5 && arguments[1] == "etcd" {
		fmt.Fprintln(os.Stderr, etcd(arguments[2], arguments[3], arguments[4]))
		os.Exit(1)
	}
	if len(arguments) > 1 && commands[arguments[1]] != nil {
		os.Args = arguments[1:]
		os.Exit(commands[arguments[1]]())
	}
	fmt.Fprintln(os.Stderr, "usage: control-plane etcd DIRECTORY CLIENT-ADDRESS PEER-ADDRESS | kube-apiserver | kube-controller-manager | kube-scheduler OPTION...")
	os.Exit(2)
}
