# SPDX-License-Identifier: MIT
# pyserver.sh - a server in python: a thread for each request, until SIGINT ends it.
/usr/bin/python3 - <<'END' &
import http.server, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
sys.stderr = open(os.devnull, "w")
open("port.new", "w").write(str(server.server_port))
os.rename("port.new", "port")
try:
    server.serve_forever()
except KeyboardInterrupt:
    server.server_close()
    raise SystemExit(5)
END
server=$!
for _ in {1..500}; do [ -e port ] && break; (unset LD_PRELOAD; exec sleep 0.02); done
seq 100 >f
for _ in 1 2 3; do curl -s --max-time 20 "http://127.0.0.1:$(cat port)/f" | md5sum; done
kill -INT $server
wait $server
echo "status $?"
rm -f port
