// SPDX-License-Identifier: MIT
// work.go - threads, signals, children and the garbage collector, with a result that is always the same.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

func main() {
	var wait sync.WaitGroup
	sums := make([]int, 50)
	for i := range sums {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			list := [][]byte{}
			for j := 0; j < 2000; j++ {
				list = append(list, make([]byte, j%512))
				sums[i] += len(list[j])
			}
		}(i)
	}
	wait.Wait()
	total := 0
	for _, s := range sums {
		total += s
	}
	out, err := exec.Command("sh", "-c", "echo sub; exit 3").Output()
	fmt.Println(total, string(out), err)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGPROF)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	fmt.Println(<-c)
	defer func() {
		fmt.Println("recovered:", recover() != nil)
		os.Exit(7)
	}()
	var p *int
	*p = 1
}
