# SPDX-License-Identifier: MIT
# postgres.sh - a cluster is made, used by several at once, crashed, recovered and shut down. It does not run as root.
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as=''
place=$(mktemp -d /tmp/same-pg.XXXXXX)
trap 'rm -rf "$place"' EXIT
if [ "$(id -u)" = 0 ]; then
	chown nobody "$place"
	as='setpriv --reuid nobody --clear-groups'
fi
cd "$place" || exit
export PGHOST=$place PGUSER=me PGDATABASE=postgres
$as "$bin/initdb" -D "$place/data" -U me -A trust -N >init.log 2>&1 || { tail init.log; exit 1; }
conf=(-o "-k $place -c listen_addresses='' -c shared_buffers=16MB -c fsync=off")
$as "$bin/pg_ctl" -D "$place/data" "${conf[@]}" -l "$place/data/log" -w start >/dev/null; echo "start $?"
"$bin/pgbench" -i -s 1 -q >/dev/null 2>&1; echo "init $?"
"$bin/pgbench" -c 4 -j 2 -t 50 -n 2>/dev/null | grep -E 'processed|failed'
psql -Atc 'select count(*), sum(abalance) is not null from pgbench_accounts'
psql -Atc "set max_parallel_workers_per_gather=2; set parallel_setup_cost=0; set parallel_tuple_cost=0; set min_parallel_table_scan_size=0; select count(*) from pgbench_accounts a where aid % 3 = 0"
psql -Atc 'do $$ begin raise exception $q$wanted$q$; end $$' 2>&1 | head -n 1
$as "$bin/pg_ctl" -D "$place/data" -m immediate stop >/dev/null; echo "crash $?"
$as "$bin/pg_ctl" -D "$place/data" "${conf[@]}" -l "$place/data/log" -w start >/dev/null; echo "again $?"
psql -Atc 'select count(*) from pgbench_accounts'
$as "$bin/pg_ctl" -D "$place/data" -m fast stop >/dev/null; echo "stop $?"
grep -c -e PANIC -e 'terminated by signal' "$place/data/log"
