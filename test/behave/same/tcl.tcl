# SPDX-License-Identifier: MIT
# tcl.tcl - lists, children, events, coroutines.
set l {}
for {set i 0} {$i < 20000} {incr i} { lappend l [expr {$i * 7 % 1000}] }
puts [lindex [lsort -integer $l] 10000]
puts [exec sh -c {echo sub}]
proc gen {} { yield; for {set i 0} {$i < 3} {incr i} { yield $i } }
coroutine g gen
puts "[g] [g]"
after 20 { set done 1 }
vwait done
exit 6
