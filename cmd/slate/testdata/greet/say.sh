# say FIELD JSON writes a context field and waits for the answer.
read -r summons
say() {
  printf '{"call":"updateContext","with":{"field":"%s","value":%s}}\n' "$1" "$2"
  read -r result
}
# reach says that this agent got here; held waits until somebody writes to the pipe.
reach() { : >"$GATE/$1.reached"; }
held() { read -r word <"$GATE/$1.pipe"; }
