# SPDX-License-Identifier: MIT
# python.sh - those of Python's own tests that are about processes, threads, signals, memory and descriptors: how
# many tests each module ran, and which failed. PYTHON_TESTS="test_os test_io" are only these.
for module in ${PYTHON_TESTS:-test_subprocess test_signal test_threading test_thread test_threadsignals test_threading_local \
	test_fork1 test_wait3 test_wait4 test_posix test_os test_select test_selectors test_epoll \
	test_mmap test_gc test_weakref test_faulthandler test_sys test_pty test_popen test_queue test_sched \
	test_concurrent_futures test_multiprocessing_fork test_atexit test_io test_resource \
	test_tracemalloc test_ctypes test_asyncio test_zlib test_socket test_socketserver test_contextlib test_context \
	test_coroutines test_builtin test_bytes test_dict test_list test_str test_tempfile test_shutil test_pathlib test_glob \
	test_fcntl test_array test_pickle test_json test_re test_struct \
	test_tarfile test_gzip test_bz2 test_lzma test_fileio test_memoryio test_bufio test_mailbox test_uuid test_random \
	test_sqlite3 test_ssl test_time test_exceptions test_generators}; do
	for _ in 1 2 3; do	# sporadic failures happen on a busy machine
		timeout -k 5 600 /usr/bin/python3 -m unittest -v "test.$module" >out 2>&1
		status=$?
		[ $status != 0 ] || break
	done
	echo "$module $status"
	sed -nE 's/^(ERROR|FAIL): /  &/p' out | sed -E 's/ \(.*//' | sort
	rm -rf out @test* __pycache__
done
