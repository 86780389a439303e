#!/bin/sh
# The suite's body as a shell script: POSIX sh, sed and grep. Slate writes members in
# a fixed order and without white space, and a quote inside a string is always
# escaped, so a pattern with bare quotes finds structure and never text.
set -eu

IFS= read -r summons
id=0

# call NAME ARGUMENTS: makes one call and leaves its result line in $line.
call() {
	id=$((id + 1))
	printf '{"id":%d,"call":"%s","with":%s}\n' "$id" "$1" "$2"
	IFS= read -r line
}

# need: ends the program when the last call was refused.
need() {
	case $line in
	'{"id":'*',"ok":true,'*) ;;
	*)
		printf 'refused: %s\n' "$line" >&2
		exit 1
		;;
	esac
}

call updateContext '{"field":"notes","value":"hello"}'
case $line in
*'"ok":false,"refusal":{"code":"UNDECLARED_FIELD"'*) echo "refused: UNDECLARED_FIELD" >&2 ;;
*) exit 1 ;;
esac

agent=$(printf '%s\n' "$summons" | sed 's/.*"agent":"\([^"]*\)".*/\1/')

# One requirement a line, then the fields of the lists that are not met.
lists=$(printf '%s\n' "$summons" | sed 's/{"field":"/\
@/g' | sed -n 's/^@\([^"]*\)","type":"list",.*"met":false.*/\1/p')
for field in $lists; do
	call updateContext "{\"field\":\"$field\",\"value\":\"$agent looked at $field\"}"
	need
done

call readContext '{"field":"facts"}'
need
count=$(printf '%s\n' "$line" | sed 's/{"seq":/\
@/g' | grep -c '^@') || {
	echo "there are no facts" >&2
	exit 1
}
# The text stays as JSON has it, so it goes back into JSON as it is.
last=$(printf '%s\n' "$line" | sed 's/.*,"value":"\(.*\)"}\],"position":.*/\1/')
call updateContext "{\"field\":\"hypotheses\",\"value\":\"$count facts, the last: $last\"}"
need
