package main

import (
	"io"
	"net"
	"time"
)

// front listens for a broker that comes and goes. A client's connections are cut when the broker ends, and those that are
// opened meanwhile wait for it: kgo's classic groups hand a refused connection to their user, who is a test that does not
// expect it. What is sent to nobody is lost, as on any network.
func front(listen, broker string) {
	listener, err := net.Listen("tcp", listen)
	must(err)
	for {
		client, err := listener.Accept()
		must(err)
		go func() {
			defer client.Close()
			server := dialPatiently(broker)
			if server == nil {
				return
			}
			defer server.Close()
			ended := make(chan struct{}, 2)
			pipe := func(to, from net.Conn) {
				io.Copy(to, from)
				ended <- struct{}{}
			}
			go pipe(server, client)
			go pipe(client, server)
			<-ended
		}()
	}
}

func dialPatiently(broker string) net.Conn {
	for range 3000 {
		if c, err := net.Dial("tcp", broker); err == nil {
			return c
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}
