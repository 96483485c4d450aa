// Reads schedules as csi-addons and Longhorn do, and tells whether passes overlap in a year, for many UIDs of the jobs.
package main

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

type pass struct{ from, to int64 }

func main() {
	file, err := os.Open("schedules")
	if err != nil {
		panic(err)
	}
	plans := map[string][]cron.Schedule{}
	passS := map[string]int64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		schedule, err := cron.ParseStandard(fields[2])
		if err != nil {
			panic(err)
		}
		plans[fields[0]] = append(plans[fields[0]], schedule)
		passS[fields[0]], _ = strconv.ParseInt(fields[1], 10, 64)
	}
	for _, of := range []struct {
		name     string
		staggerS int64
		draws    int
	}{{"staggered.yaml", 7200, 1000}, {"exact.yaml", 0, 1}, {"longhorn.yaml", 0, 1}} {
		overlaps, passes := 0, 0
		for draw := 0; draw < of.draws; draw++ {
			var all []pass
			for _, schedule := range plans[of.name] {
				var shiftS int64
				if of.staggerS > 0 {
					hash := fnv.New32a()
					fmt.Fprintf(hash, "%08x-0000-4000-8000-%012x", rand.Uint32(), rand.Uint64()>>16)
					shiftS = int64(hash.Sum32()) % of.staggerS
				}
				at := time.Date(2026, 11, 29, 5, 0, 0, 0, time.UTC)
				for end := at.AddDate(1, 0, 0); ; {
					at = schedule.Next(at)
					if at.After(end) {
						break
					}
					from := at.Unix() + shiftS
					all = append(all, pass{from, from + passS[of.name]})
				}
			}
			sort.Slice(all, func(a, b int) bool { return all[a].from < all[b].from })
			for i := 1; i < len(all); i++ {
				if all[i].from < all[i-1].to {
					overlaps++
				}
			}
			passes += len(all)
		}
		if overlaps > 0 || passes == 0 {
			fmt.Printf("%s: %d of %d passes overlap\n", of.name, overlaps, passes)
			os.Exit(1)
		}
		fmt.Printf("  ok   %d volumes, %d passes that end %d s after their slot begins, shifts of up to %d s: two at once: 0\n",
			len(plans[of.name]), passes, passS[of.name], of.staggerS)
	}
}
