. ./say.sh
reach "$SLATE_BOARD"
held "$SLATE_BOARD"
say greeting '"Good day."'
