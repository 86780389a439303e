#!/bin/sh
# need.sh THING... : makes sure that what the tests stand on is here. What is missing
# is installed as a Debian package where that is possible (as root, or with sudo that
# asks for no password); otherwise this fails and says what to install.
set -eu

# A C compiler that can link, not just a file of that name: the race detector needs
# the C library's headers too.
have_cc() {
	dir=$(mktemp -d)
	printf '#include <pthread.h>\nint main(void) { return 0; }\n' >"$dir/try.c"
	if "${CC:-cc}" "$dir/try.c" -o "$dir/try" >/dev/null 2>&1; then ok=0; else ok=1; fi
	rm -rf "$dir"
	return "$ok"
}

have() {
	case $1 in
	cc) have_cc ;;
	postgres) command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
	python3) python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' >/dev/null 2>&1 ;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

# packages and why say of each thing where it comes from and what stands on it.
packages() {
	case $1 in
	cc) echo gcc libc6-dev ;;
	postgres) echo postgresql ;;
	*) echo "$1" ;;
	esac
}

why() {
	case $1 in
	cc) echo "the race detector links with a C compiler (gcc and the headers of the C library)" ;;
	python3) echo "the suite of agent bodies runs one in Python 3.8 or later" ;;
	postgres) echo "the tests start a PostgreSQL server of their own" ;;
	git) echo "the build stamps its version with it" ;;
	*) echo "the tests run it" ;;
	esac
}

install() {
	as=
	if [ "$(id -u)" -ne 0 ]; then
		sudo -n true 2>/dev/null || return 1
		as="sudo -n"
	fi
	command -v apt-get >/dev/null 2>&1 || return 1
	# shellcheck disable=SC2086 # words on purpose
	$as env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2 && return 0
	# The lists may be missing or old.
	# shellcheck disable=SC2086
	$as apt-get update >&2 &&
		$as env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >&2
}

for thing in "$@"; do
	have "$thing" && continue
	# shellcheck disable=SC2046 # a list of packages
	set -- $(packages "$thing")
	echo "need: $thing is missing; installing: $*" >&2
	install "$@" || :
	if ! have "$thing"; then
		echo "need: $thing is missing and could not be installed: $(why "$thing")." >&2
		echo "need: install $* (on Debian: apt-get install $*) and run the same command again." >&2
		exit 1
	fi
done
