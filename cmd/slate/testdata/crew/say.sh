read -r summons
say() {
  printf '{"call":"updateContext","with":{"field":"%s","value":"%s"}}\n' "$1" "$2"
  read -r result || exit 1
}
