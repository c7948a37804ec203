// Starts kfake, franz-go's broker in memory, on one port and says when it serves. Ends with SIGTERM.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if len(os.Args) != 2 {
		fail("usage: kfake PORT")
	}
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fail("%q is no port", os.Args[1])
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(port))
	if err != nil {
		fail("%v", err)
	}
	fmt.Println("kfake ready", cluster.ListenAddrs()[0])
	<-ended
	cluster.Close()
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "kfake: "+format+"\n", values...)
	os.Exit(1)
}
