// A franz-go producer and group consumers, checked: every record once, in order per key, offsets committed.
//
//	franz-go check BOOTSTRAP UNIQUE     prints "N passed, N failed"
//	franz-go produce BOOTSTRAP TOPIC    for compat/kill9: numbers what it sends until SIGTERM
//	franz-go front LISTEN BROKER        for restarts: a listener that stays while the broker comes and goes
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var passed, failed int

func check(what string, good bool, detail ...any) {
	if good {
		passed++
		fmt.Println("ok    " + what)
		return
	}
	failed++
	fmt.Println("FAIL  "+what, detail)
}

func must(err error) {
	if err != nil {
		fmt.Println("FAIL ", err)
		fmt.Printf("%d passed, %d failed\n", passed, failed+1)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "franz-go check BOOTSTRAP UNIQUE | produce BOOTSTRAP TOPIC | front LISTEN BROKER")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "check":
		checks(os.Args[2], os.Args[3])
	case "produce":
		produceUntilTerm(os.Args[2], os.Args[3])
	case "front":
		front(os.Args[2], os.Args[3])
	}
}

func client(bootstrap string, options ...kgo.Opt) *kgo.Client {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
	must(err)
	return c
}

func checks(bootstrap, unique string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	topic, group := "tests-franz-"+unique, "tests-franz-group-"+unique
	admin := kadm.NewClient(client(bootstrap))
	defer admin.Close()
	_, err := admin.CreateTopic(ctx, 4, 1, nil, topic)
	must(err)

	const records, keys = 1000, 17
	producer := client(bootstrap, kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(records))
	var failure kgo.FirstErrPromise
	for i := range records {
		record := &kgo.Record{
			Key:     []byte("key-" + strconv.Itoa(i%keys)),
			Value:   []byte(strconv.Itoa(i)),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: []byte("2")}},
		}
		producer.Produce(ctx, record, failure.Promise())
	}
	must(failure.Err())
	producer.Close()
	check("an idempotent producer", true)

	seen := consume(ctx, bootstrap, topic, group, 2, records)
	order, last := true, map[string]int{}
	numbers := make([]int, 0, len(seen))
	headers := true
	for _, record := range seen {
		number, err := strconv.Atoi(string(record.Value))
		must(err)
		if previous, ok := last[string(record.Key)]; ok && previous >= number {
			order = false
		}
		last[string(record.Key)] = number
		numbers = append(numbers, number)
		headers = headers && len(record.Headers) == 2 && string(record.Headers[1].Value) == "2"
	}
	sort.Ints(numbers)
	once := len(numbers) == records
	for i, number := range numbers {
		once = once && i == number
	}
	check("two group members see every record once", once, len(numbers))
	check("in order per key", order)
	check("duplicate header keys are kept", headers)

	ends, err := admin.ListEndOffsets(ctx, topic)
	must(err)
	committed, err := admin.FetchOffsets(ctx, group)
	must(err)
	equal := true
	ends.Each(func(end kadm.ListedOffset) {
		offset, ok := committed.Lookup(topic, end.Partition)
		equal = equal && (end.Offset == 0 || ok && offset.At == end.Offset)
	})
	check("committed offsets are the log ends", equal, committed)

	middle, err := admin.ListOffsetsAfterMilli(ctx, time.Now().Add(-time.Hour).UnixMilli(), topic)
	must(err)
	starts := true
	middle.Each(func(at kadm.ListedOffset) { starts = starts && at.Err == nil && at.Offset == 0 })
	check("offsets by time", starts, middle)
	described, err := admin.DescribeGroups(ctx, group)
	must(err)
	check("the group is empty at the end", described[group].State == "Empty", described[group].State)
	deleted, err := admin.DeleteGroup(ctx, group)
	must(err)
	check("the group is deleted", deleted.Err == nil, deleted.Err)
	_, err = admin.DeleteTopic(ctx, topic)
	check("the topic is deleted", err == nil, err)
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

// consume reads with so many members of one group until all records have come, and commits.
func consume(ctx context.Context, bootstrap, topic, group string, members, records int) []*kgo.Record {
	ctx, done := context.WithCancel(ctx)
	defer done()
	var lock sync.Mutex
	var seen []*kgo.Record
	var running sync.WaitGroup
	for range members {
		member := client(bootstrap, kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll())
		running.Add(1)
		go func() {
			defer running.Done()
			defer member.Close()
			for ctx.Err() == nil {
				fetches := member.PollFetches(ctx)
				batch := fetches.Records()
				if len(batch) > 0 {
					must(member.CommitRecords(context.Background(), batch...))
				}
				lock.Lock()
				seen = append(seen, batch...)
				all := len(seen) >= records
				lock.Unlock()
				member.AllowRebalance()
				if all {
					done()
				}
			}
		}()
	}
	running.Wait()
	return seen
}

// produceUntilTerm sends 0, 1, 2, ... to partition 0, acks=all and idempotent, and prints each number when it is
// acknowledged. At SIGTERM it waits for what is in flight and ends.
func produceUntilTerm(bootstrap, topic string) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	producer := client(bootstrap, kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordRetries(1<<30), kgo.MaxBufferedRecords(500),
		kgo.RetryTimeout(2*time.Minute), kgo.ProducerLinger(0), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	ctx := context.Background()
	output := make(chan int, 1000)
	var printed sync.WaitGroup
	printed.Add(1)
	go func() {
		defer printed.Done()
		for number := range output {
			fmt.Println(number)
		}
	}()
	for number := 0; ; number++ {
		select {
		case <-ended:
			must(producer.Flush(ctx))
			close(output)
			printed.Wait()
			producer.Close()
			return
		default:
		}
		record := &kgo.Record{Value: []byte(strconv.Itoa(number)), Partition: 0}
		producer.Produce(ctx, record, func(record *kgo.Record, err error) {
			must(err)
			n, _ := strconv.Atoi(string(record.Value))
			output <- n
		})
	}
}
