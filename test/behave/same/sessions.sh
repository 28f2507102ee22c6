# SPDX-License-Identifier: MIT
# sessions.sh WHAT - a piece of a user's working day, with the library in its environment. Its output is
# steady: no times, no numbers of processes.
set -u
export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} HOME=$PWD
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_DATE='@1 +0000' GIT_COMMITTER_DATE='@1 +0000'
# Actions of a program that is not examined: how often it is called depends on the machine.
quietly() { (unset LD_PRELOAD; exec "$@"); }
# until_so COMMAND... - the command, until it succeeds; 10 s.
until_so()
{
	for _ in {1..500}; do
		quietly "$@" >/dev/null 2>&1 && return
		quietly sleep 0.02
	done
	echo "never so: $*"
}
free_port() { quietly /usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

login()
{
	printf 'export GREETING=hello\nalias l=ls\nset -o pipefail\n' >.bash_profile
	bash -lc 'echo $GREETING; shopt -q login_shell && echo login; echo {a..e} | tr a-z A-Z; false | true; echo $?; exit 4'
	echo $?
	printf 'echo $((6 * 7))\nsleep 100 &\njobs\nkill %%1\nwait\nhistory -c\nexit 5\n' | bash --norc -i 2>&1 |
		sed -e 's/[0-9]\{3,\}/N/g' -e /tcsetattr/d	# reported, or not
	script -qec 'tty -s && stty size; echo $?' /dev/null | tr -d '\r'
	rm -f .bash_profile .bash_history
}

repository()
{
	git init -q -b main --bare o.git
	git clone -q o.git a 2>/dev/null
	cd a && git config user.email a@b && git config user.name a
	for i in {1..30}; do seq "$i" $((i * 7)) >"f$((i % 5))"; git add . && git commit -qm "c$i"; done
	git push -q origin main
	git checkout -qb side HEAD~9 && seq 9 >g && git add g && git commit -qm side && git rebase -q main && git log --format=%s -3
	git checkout -q main && git merge -q --no-ff -m merged side && git worktree add -q ../w side 2>/dev/null
	git stash -q 2>/dev/null; echo x >>f1; git stash -q; git stash pop -q; git diff --stat; git checkout -q f1
	git bisect start HEAD HEAD~20 >/dev/null && git bisect run sh -c '! grep -q 120 f0' | tail -n 2; git bisect reset 2>/dev/null
	git -c gc.auto=0 -c gc.pruneExpire=now gc -q && git repack -adq --threads=2 && git fsck --strict 2>&1 | tail -n 1
	git push -q origin main && git log --format=%H -1 && git show --stat HEAD | tail -n 1
	cd .. && git clone -q --depth 3 "file://$PWD/o.git" d && git -C d log --oneline | wc -l
	rm -rf a d w o.git
}

# A separate package, with scripts, in a file system over this one.
packages()
{
	mkdir -p p/DEBIAN p/opt/same u
	printf 'Package: same-own\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n' >p/DEBIAN/control
	printf '#!/bin/sh\necho "script $1"\n' | tee p/DEBIAN/postinst p/DEBIAN/prerm >p/DEBIAN/postrm
	chmod 755 p/DEBIAN/p*
	seq 9 >p/opt/same/file
	dpkg-deb -b p same.deb
	unshare --mount sh -c 'mount -t tmpfs none u && mkdir u/up u/work u/root &&
		mount -t overlay -o lowerdir=/,upperdir=u/up,workdir=u/work none u/root && mount --rbind /dev u/root/dev &&
		mount -t proc none u/root/proc && mkdir -p u/root/opt && cp same.deb u/root/opt && exec chroot u/root sh -c "
		export DEBIAN_FRONTEND=noninteractive; cd /
		apt-get -q -y install /opt/same.deb </dev/null; echo \$?; cat /opt/same/file | tail -n 1
		dpkg -s same-own | grep Status; apt-get -q -y purge same-own; echo \$?; ls /opt/same
		apt-cache show bash | head -n 1; dpkg -l bash | tail -n 1 | cut -c1-10; apt-get -q install no-such-package; echo \$?"'
	rm -rf p u same.deb
}

# A server that drops its own rights, its clients, a terminal.
secure_shell()
{
	port=$(free_port)
	mkdir -p keys && chmod 700 keys
	ssh-keygen -q -t ed25519 -N '' -f keys/host && ssh-keygen -q -t ed25519 -N '' -f keys/me
	cp keys/me.pub keys/authorized
	printf '%s\n' "Port $port" "ListenAddress 127.0.0.1" "HostKey $PWD/keys/host" "PidFile none" \
		"AuthorizedKeysFile $PWD/keys/authorized" "StrictModes no" "UsePAM no" "Subsystem sftp internal-sftp" \
		"PermitRootLogin yes" >keys/conf
	unshare --mount sh -c 'mount -t tmpfs none /run && mkdir -p /run/sshd && exec /usr/sbin/sshd -D -e -f "$1"' sh \
		"$PWD/keys/conf" >keys/log 2>&1 &
	server=$!
	to=(-F /dev/null -i keys/me -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=keys/known -o LogLevel=ERROR)
	until_so bash -c ": </dev/tcp/127.0.0.1/$port"
	ssh "${to[@]}" -p "$port" root@127.0.0.1 'echo there; id -u; env | grep -c -e HOTPATH -e LD_PRELOAD; exit 6' </dev/null; echo $?
	seq 20000 | ssh "${to[@]}" -p "$port" root@127.0.0.1 'sort -rn | head -n 2'
	ssh -tt "${to[@]}" -p "$port" root@127.0.0.1 'tty >/dev/null && stty size; exit 3' </dev/null 2>/dev/null; echo $?
	seq 1000 >f && scp -q -P "$port" "${to[@]}" f "root@127.0.0.1:$PWD/g" && sha256sum g
	ssh "${to[@]}" -p "$port" -o ControlMaster=auto -o ControlPath="$PWD/m" -o ControlPersist=yes root@127.0.0.1 echo first </dev/null
	ssh "${to[@]}" -p "$port" -o ControlPath="$PWD/m" root@127.0.0.1 echo second </dev/null
	ssh "${to[@]}" -o ControlPath="$PWD/m" -O exit x 2>/dev/null; echo $?
	ssh-agent sh -c 'ssh-add -q keys/me; ssh-add -l | wc -l'
	kill $server; wait $server; echo $?
	grep -c Accepted keys/log
	rm -rf keys f g .ssh
}

terminal()
{
	t() { tmux -S "$PWD/s" -f /dev/null "$@"; }
	t new-session -d -x 60 -y 12 'PS1="> " exec sh'
	t send-keys 'seq 5 | paste -sd+ | bc; tmux -S s wait-for -S done' Enter
	t wait-for done
	t split-window -h 'exec cat'
	t list-panes | wc -l
	t capture-pane -p -t 0.0 | grep -c 15
	t set-option -g status off
	t kill-server
	until_so sh -c "! tmux -S '$PWD/s' ls"
	rm -f s
}

# Detached programs: cron, at, daemons.
apart()
{
	printf '@reboot root echo "from $LOGNAME in $PWD" >>%s/out; env | grep -c -e HOTPATH -e PRELOAD >>%s/out; echo end >>%s/out\n' \
		"$PWD" "$PWD" "$PWD" >tab
	unshare --mount sh -c 'mount -t tmpfs none /run && mount --bind tab /etc/crontab && mount -t tmpfs none /etc/cron.d &&
		mount -t tmpfs none /var/spool/cron && mkdir /var/spool/cron/crontabs && exec cron -f' &
	until_so grep -q end out
	kill $!; wait $!; echo $?
	cat out; rm out
	start-stop-daemon --start --background --make-pidfile --pidfile "$PWD/pid" --exec /bin/sleep -- 100
	until_so test -s pid
	start-stop-daemon --stop --retry 5 --pidfile "$PWD/pid"; echo $?
	setsid -f sh -c 'nohup sh -c "echo apart >o2" >/dev/null 2>&1'
	until_so test -s o2
	batch_says=$(echo 'echo x' | timeout 5 sh); echo "$batch_says"
	rm -f o2 pid tab
}

# pip, npm and cargo, each with a package from here.
installers()
{
	mkdir -p py/own js rs/src
	printf 'from setuptools import setup, Extension\nsetup(name="own", version="1", ext_modules=[Extension("own.c", ["c.c"])])\n' >py/setup.py
	echo 'def f(): return 42' >py/own/__init__.py
	printf '#include <Python.h>\nstatic struct PyModuleDef m = { PyModuleDef_HEAD_INIT, "c", 0, -1, 0 };\nPyMODINIT_FUNC PyInit_c(void) { return PyModule_Create(&m); }\n' >py/c.c
	(cd py && python3 setup.py -q build_ext --inplace 2>/dev/null; echo $?
		mkdir own-1.dist-info && echo own-1.dist-info/RECORD, >own-1.dist-info/RECORD
		printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n' >own-1.dist-info/WHEEL
		printf 'Metadata-Version: 2.1\nName: own\nVersion: 1\n' >own-1.dist-info/METADATA
		python3 -m zipfile -c ../own-1-py3-none-any.whl own own-1.dist-info)
	python3 -m venv v && v/bin/pip install -q --no-index --disable-pip-version-check ./own-1-py3-none-any.whl; echo $?
	v/bin/python -c 'import own, own.c; print(own.f(), own.c.__name__)'
	v/bin/pip uninstall -qy own; echo $?; ls v/bin | wc -l
	printf '{"name": "own", "version": "1.0.0", "scripts": {"test": "node -e \\"console.log(6*7)\\"", "postinstall": "echo post"}}\n' >js/package.json
	npm pack -s ./js; mkdir n; cd n; echo '{"name": "user", "version": "1.0.0"}' >package.json
	npm install -s --offline --no-audit --no-fund ../own-1.0.0.tgz; echo $?; ls node_modules; cd node_modules/own && npm -s test; cd ../../..
	printf '[package]\nname = "own"\nversion = "0.1.0"\nedition = "2021"\n' >rs/Cargo.toml
	printf 'fn main() { println!("{}", std::thread::spawn(|| 6 * 7).join().unwrap()); }\n#[test]\nfn t() { assert_eq!(1, 1); }\n' >rs/src/main.rs
	(cd rs && cargo run -q --offline && cargo test -q --offline 2>&1 | grep -c 'test result: ok')
	rm -rf py v js n rs own-1* .npm .cache .cargo .node-gyp
}

many()
{
	mkdir t && (cd t && seq 400 | xargs -P 4 -n 20 sh -c 'for i; do echo $i >f$i; done' sh)
	find t -type f -print0 | xargs -0 -P 4 -n 7 cat | sort -n | sha256sum
	find t -name 'f*7' -exec rm {} + ; find t -type f | wc -l
	seq 40 | xargs -P 8 -I{} sh -c 'exit $(( {} % 7 == 0 ))'; echo $?
	tar cf - t | gzip -n | gzip -dc | tar tf - | wc -l
	rm -rf t
}

# A package with a configure script and a parallel make; then its own tests.
build()
{
	mkdir b && cd b
	"$1"/configure -q --disable-dependency-tracking >log 2>&1; echo $?
	grep -v -e '^/\* Define to the address' config.h src/config.h lib/config.h 2>/dev/null | sha256sum
	make -s -j4 MAKEINFO=: >>log 2>&1; echo $?
	ls -R . | grep -v -e log -e '^total' | sha256sum
	cd .. && rm -rf b
}

"$@"
